import { operation } from '../operation.ts';
import { List } from '../shape.ts';
import { ServiceQueueEntry } from '../shared/deployment.ts';

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
