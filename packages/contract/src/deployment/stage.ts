import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Name, Nullable, Reference, Text, Uuid, Named } from '../shape.ts';

export const DeploymentStage = Named(
  'DeploymentStage',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    environment: Reference,
    name: Type.String(),
    description: Type.Optional(Type.String()),
    deployment_order: Type.Integer(),
    services: Type.Array(
      Named(
        'DeploymentStageService',
        Type.Object({
          id: Uuid,
          created_at: DateTime,
          updated_at: Type.Optional(DateTime),
          service_id: Uuid,
          service_type: Type.String(),
          is_skipped: Type.Boolean(),
        }),
      ),
    ),
  }),
);

const tag = 'Deployment stage';
const at = '/deploymentStage/{deploymentStageId}' as const;
const body = Type.Object({ name: Name, description: Type.Optional(Nullable(Text)) });

export const listEnvironmentDeploymentStage = operation({
  id: 'listEnvironmentDeploymentStage',
  method: 'GET',
  path: '/environment/{environmentId}/deploymentStage',
  tag,
  summary: 'List the deployment stages of an environment in their order',
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
  summary: 'Add a deployment stage at the end',
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
  summary: 'Rename a deployment stage or change its description',
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
  summary: 'Delete a deployment stage that holds no services',
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
  summary: 'Move a deployment stage right before another one',
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
  summary: 'Move a deployment stage right after another one',
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
  summary: 'Move a service to a deployment stage; without `is_skipped` it is deployed with the environment again',
  scope: 'WRITE',
  target: 'deploymentStage',
  body: Named(
    'AttachServiceToDeploymentStageRequest',
    Type.Object({ is_skipped: Type.Optional(Type.Boolean({ default: false })) }),
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
  summary: 'Read the deployment stage that holds a service',
  scope: 'READ',
  target: 'service',
  status: 200,
  response: DeploymentStage,
  errors: [],
});
