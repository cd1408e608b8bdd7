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
    Copies the environment with stages, services, variables, secrets and deployment rule. Data and custom domains are
    not copied, taken public ports become the next free ones, and nothing is deployed. Copies of databases have
    the same credentials, and other hosts.

    Services keep \`auto_deploy\`: once the copy is deployed, a push deploys both.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | An environment of the project has the name; case does not matter. | Choose another name. |
    | \`INVALID_REFERENCE\` (400) | An alias or override needs a variable that the other project lacks. | Create it there. |
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
        about('true: its rule is the matching one of the project instead.', Nullable(Type.Boolean({ default: false }))),
      ),
      project_id: Type.Optional(about('Its project; by default that of the original.', Nullable(Uuid))),
    }),
    'How the copy differs from the original.',
  ),
  status: 202,
  response: Environment,
  errors: [400, 409],
});
