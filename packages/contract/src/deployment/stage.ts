import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Name, Named, Nullable, Reference, Text, Uuid } from '../shape.ts';

export const DeploymentStage = Named(
  'DeploymentStage',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    environment: about('The environment it belongs to.', Reference),
    name: about('Its name, unique in the environment without regard to case.', Type.String()),
    description: Type.Optional(about('What it is for; may be empty.', Type.String())),
    deployment_order: about('Its place in the order, from 0.', Type.Integer()),
    services: about(
      'The services of the stage.',
      Type.Array(
        Named(
          'DeploymentStageService',
          Type.Object({
            id: about('Identifies it; it never changes.', Uuid),
            created_at: about('When it was created.', DateTime),
            updated_at: Type.Optional(about('When it was last changed.', DateTime)),
            service_id: about('The `id` of the service.', Uuid),
            service_type: about('The type of the service.', Type.String()),
            is_skipped: about('Whether actions on the whole environment leave it out.', Type.Boolean()),
          }),
          'The place of a service in a stage.',
        ),
      ),
    ),
  }),
  'A group of services that are deployed together; stages run one after the other.',
);

const tag = 'Deployment stage';
const at = '/deploymentStage/{deploymentStageId}' as const;
const body = Type.Object({
  name: about('Its name, unique in the environment without regard to case.', Name),
  description: Type.Optional(about('What it is for; null: empty.', Nullable(Text))),
});

export const listEnvironmentDeploymentStage = operation({
  id: 'listEnvironmentDeploymentStage',
  method: 'GET',
  path: '/environment/{environmentId}/deploymentStage',
  tag,
  summary: 'List the deployment stages of an environment',
  description: `
    Returns the stages in the order in which they are deployed, each with its services. A new environment has four: for
    databases and Terraform, for jobs, for containers and Helm charts, for applications.
  `,
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: List(DeploymentStage),
  errors: [],
});

export const createEnvironmentDeploymentStage = operation({
  id: 'createEnvironmentDeploymentStage',
  method: 'POST',
  path: '/environment/{environmentId}/deploymentStage',
  tag,
  summary: 'Create a deployment stage',
  description: `
    Adds an empty stage at the end. Move it, then move services to it. The answer has the status 200.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A stage of the environment has the name. | Choose another name. |
  `,
  scope: 'WRITE',
  target: 'environment',
  body,
  status: 200,
  response: DeploymentStage,
  errors: [400, 409],
});

export const getDeploymentStage = operation({
  id: 'getDeploymentStage',
  method: 'GET',
  path: at,
  tag,
  summary: 'Read a deployment stage',
  description: `
    Returns one stage with its services and its place in the order. Read all stages of the environment to see the
    whole order.
  `,
  scope: 'READ',
  target: 'deploymentStage',
  status: 200,
  response: DeploymentStage,
  errors: [],
});

export const editDeploymentStage = operation({
  id: 'editDeploymentStage',
  method: 'PUT',
  path: at,
  tag,
  summary: 'Edit a deployment stage',
  description: `
    Changes name and description of the stage. Its services and its place in the order stay, and nothing is
    deployed.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A stage of the environment has the name. | Choose another name. |
  `,
  scope: 'WRITE',
  target: 'deploymentStage',
  body,
  status: 200,
  response: DeploymentStage,
  errors: [400, 409],
});

export const deleteDeploymentStage = operation({
  id: 'deleteDeploymentStage',
  method: 'DELETE',
  path: at,
  tag,
  summary: 'Delete a deployment stage',
  description: `
    Deletes a stage without services. The last stage of an environment stays.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`STAGE_NOT_EMPTY\` (400) | It holds services, or is the last one. | Move its services to another stage; keep the last. |
  `,
  scope: 'WRITE',
  target: 'deploymentStage',
  status: 204,
  response: null,
  errors: [400],
});

export const moveBeforeDeploymentStage = operation({
  id: 'moveBeforeDeploymentStage',
  record: 'deploymentStageId',
  method: 'PUT',
  path: `${at}/moveBefore/{stageId}`,
  tag,
  summary: 'Move a deployment stage before another',
  description: `
    Puts the stage right before the other one of the same environment, and returns all stages in their new order.
    Later deployments use it.
  `,
  scope: 'WRITE',
  target: 'deploymentStage',
  status: 200,
  response: List(DeploymentStage),
  errors: [400],
});

export const moveAfterDeploymentStage = operation({
  id: 'moveAfterDeploymentStage',
  record: 'deploymentStageId',
  method: 'PUT',
  path: `${at}/moveAfter/{stageId}`,
  tag,
  summary: 'Move a deployment stage after another',
  description: `
    Puts the stage right after the other one of the same environment, and returns all stages in their new order.
    Later deployments use it.
  `,
  scope: 'WRITE',
  target: 'deploymentStage',
  status: 200,
  response: List(DeploymentStage),
  errors: [400],
});

export const attachServiceToDeploymentStage = operation({
  id: 'attachServiceToDeploymentStage',
  method: 'PUT',
  path: `${at}/service/{serviceId}`,
  tag,
  summary: 'Move a service to a deployment stage',
  description: `
    Moves the service from its stage to this one of the same environment, and returns all stages. Without
    \`is_skipped\` it takes part in actions on the whole environment again.
  `,
  scope: 'WRITE',
  target: 'deploymentStage',
  body: Named(
    'AttachServiceToDeploymentStageRequest',
    Type.Object({
      is_skipped: Type.Optional(
        about('Whether actions on the whole environment leave it out.', Type.Boolean({ default: false })),
      ),
    }),
    'How the service takes part in the stage.',
  ),
  bodyRequired: false,
  status: 200,
  response: List(DeploymentStage),
  errors: [400],
});

export const getServiceDeploymentStage = operation({
  id: 'getServiceDeploymentStage',
  method: 'GET',
  path: '/service/{serviceId}/deploymentStage',
  tag,
  summary: 'Read the deployment stage of a service',
  description: `
    Returns the stage that holds the service, with the other services in it. Every service is in exactly one stage
    of its environment.
  `,
  scope: 'READ',
  target: 'service',
  status: 200,
  response: DeploymentStage,
  errors: [],
});
