import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, List, Named, Nullable, Uuid, Words } from '../shape.ts';
import { EnvironmentQueueEntry, ServiceQueueEntry } from '../shared/deployment-queue.ts';
import { serviceStates } from '../shared/deployment-words.ts';

export const listDeploymentRequestByEnvironmentId = operation({
  id: 'listDeploymentRequestByEnvironmentId',
  method: 'GET',
  path: '/environment/{environmentId}/deploymentQueue',
  tag: 'Deployment queue',
  summary: 'List the waiting requests of an environment',
  description: `
    Returns the requests in the order of the queue. One deployment runs at a time; a request that has begun is no
    longer listed.
  `,
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: List(EnvironmentQueueEntry),
  errors: [],
});

export const listDeploymentRequestByServiceId = operation({
  id: 'listDeploymentRequestByServiceId',
  method: 'GET',
  path: '/service/{serviceId}/deploymentQueue',
  tag: 'Deployment queue',
  summary: 'List the waiting requests for a service',
  description: `
    Returns the requests in the queue of the environment that concern the service, in the order of the queue. A
    request that has begun is a deployment, and no longer listed.
  `,
  scope: 'READ',
  target: 'service',
  status: 200,
  response: List(ServiceQueueEntry),
  errors: [],
});

export const cancelDeploymentRequest = operation({
  id: 'cancelDeploymentRequest',
  method: 'POST',
  path: '/deploymentQueue/{deploymentRequestId}/cancelDeployment',
  tag: 'Deployment queue',
  summary: 'Withdraw a waiting request',
  description: `
    Removes a request, with all that was merged into it, from the queue before it begins: nothing is deployed or deleted.
    A tag or version that the request has configured stays.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`ALREADY_STARTED\` (409) | The request has left the queue. | Cancel the running deployment. |
  `,
  scope: 'DEPLOY',
  target: 'deploymentRequest',
  status: 202,
  response: null,
  errors: [409],
});

export const getDeploymentStatusByDeploymentRequestId = operation({
  id: 'getDeploymentStatusByDeploymentRequestId',
  method: 'GET',
  path: '/environment/deploymentStatus',
  tag: 'Deployment queue',
  summary: 'Read the state of a deployment request',
  description: `
    Returns whether the request waits, runs or has ended, by the \`id\` that a deployment's answer or the queue has, and
    the deployment that it has become. An \`id\` that was withdrawn is unknown.
  `,
  scope: 'READ',
  target: 'instance',
  query: Type.Object({ deploymentRequestId: about('The `id` of the request.', Uuid) }),
  status: 200,
  response: Named(
    'DeploymentRequestStatus',
    Type.Object({
      deployment_request_id: about('The `id` of the request.', Uuid),
      environment_id: about('The environment of the request.', Uuid),
      status: about('The state of the deployment.', Words(serviceStates)),
      execution_id: about('The deployment; null while the request waits.', Nullable(Type.String())),
    }),
    'How far a deployment request is.',
  ),
  errors: [400],
});
