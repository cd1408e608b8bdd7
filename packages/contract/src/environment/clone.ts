import Type from 'typebox';
import { operation } from '../operation.ts';
import { Name, Nullable, Uuid, Words, Named } from '../shape.ts';
import { environmentModes } from '../shared/words.ts';
import { Environment } from './environment.ts';

export const cloneEnvironment = operation({
  id: 'cloneEnvironment',
  event: 'CLONE',
  method: 'POST',
  path: '/environment/{environmentId}/clone',
  tag: 'Environment',
  summary:
    'Copy an environment with its stages, services, variables and secrets; copies no data and deploys nothing. Services keep `auto_deploy`: once the copy is deployed, a push deploys both',
  scope: 'WRITE',
  target: 'environment',
  body: Named(
    'CloneEnvironmentRequest',
    Type.Object({
      name: Name,
      cluster_id: Type.Optional(Nullable(Uuid)),
      mode: Type.Optional(Nullable(Words(environmentModes))),
      apply_deployment_rule: Type.Optional(Nullable(Type.Boolean({ default: false }))),
      project_id: Type.Optional(Nullable(Uuid)),
    }),
  ),
  status: 202,
  response: Environment,
  errors: [400, 409],
});
