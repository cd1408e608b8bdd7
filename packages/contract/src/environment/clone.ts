import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, Name, Named, Nullable, Uuid, Words } from '../shape.ts';
import { environmentModes } from '../shared/words.ts';
import { Environment } from './environment.ts';

export const cloneEnvironment = operation({
  id: 'cloneEnvironment',
  event: 'CLONE',
  method: 'POST',
  path: '/environment/{environmentId}/clone',
  tag: 'Environment',
  summary: 'Clone an environment',
  description: `
    Copies the environment with stages, services, variables and secrets. Data and custom domains are not copied, and
    nothing is deployed. Copies of databases have the same credentials, and other hosts.

    Services keep \`auto_deploy\`: once the copy is deployed, a push deploys both. Switch it off before, if that is
    not what you want.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | An environment of the project has the name. | Choose another name. |
  `,
  scope: 'WRITE',
  target: 'environment',
  body: Named(
    'CloneEnvironmentRequest',
    Type.Object({
      name: about('The name of the copy, unique in its project.', Name),
      cluster_id: Type.Optional(about('Its cluster; by default that of the original.', Nullable(Uuid))),
      mode: Type.Optional(about('Its mode; by default that of the original.', Nullable(Words(environmentModes)))),
      apply_deployment_rule: Type.Optional(
        about('Whether it copies a matching rule of the project.', Nullable(Type.Boolean({ default: false }))),
      ),
      project_id: Type.Optional(about('Its project; by default that of the original.', Nullable(Uuid))),
    }),
    'How the copy differs from the original.',
  ),
  status: 202,
  response: Environment,
  errors: [400, 409],
});
