import Type from 'typebox';
import { Named } from '../shape.ts';
import { operation } from '../operation.ts';
import { HelmSourceRequest } from '../service/helm.ts';

export const createHelmDefaultValues = operation({
  id: 'createHelmDefaultValues',
  method: 'POST',
  path: '/environment/{environmentId}/helmDefaultValues',
  tag: 'Helm',
  summary: 'Read the values.yaml of a chart from a git repository or a Helm repository; creates nothing',
  scope: 'WRITE',
  target: 'environment',
  body: Named('HelmDefaultValuesRequest', Type.Object({ source: HelmSourceRequest })),
  status: 201,
  response: Type.String(),
  answerType: 'text/plain',
  errors: [400, 424],
});
