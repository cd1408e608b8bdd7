import Type from 'typebox';
import { Named } from '../shape.ts';
import { operation } from '../operation.ts';
import { HelmSourceRequest } from '../service/helm.ts';

export const createHelmDefaultValues = operation({
  id: 'createHelmDefaultValues',
  method: 'POST',
  path: '/environment/{environmentId}/helmDefaultValues',
  tag: 'Helm',
  summary: 'Read the default values of a chart',
  description: `
    Fetches the chart and returns its \`values.yaml\` as text. Nothing is created, although it is a POST that answers
    201.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`SOURCE_NOT_USABLE\` (400) | The chart is not usable; the message has the cause. | Correct the field in \`errors\`. |
    | \`REMOTE_UNREACHABLE\` (424) | The Helm repository does not answer. | Check its url. |
  `,
  scope: 'WRITE',
  target: 'environment',
  body: Named('HelmDefaultValuesRequest', Type.Object({ source: HelmSourceRequest }), 'The Helm chart to read.'),
  status: 201,
  response: Type.String(),
  answerType: 'text/plain',
  errors: [400, 424],
});
