import { operation } from '../operation.ts';
import { List } from '../shape.ts';
import { ServiceQueueEntry } from '../shared/deployment.ts';

export const listDeploymentRequestByServiceId = operation({
  id: 'listDeploymentRequestByServiceId',
  method: 'GET',
  path: '/service/{serviceId}/deploymentQueue',
  tag: 'Deployment queue',
  summary: 'List the waiting deployment requests that concern a service, in the order of the queue',
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
  summary: 'Withdraw a deployment request that still waits',
  scope: 'DEPLOY',
  target: 'deploymentRequest',
  status: 202,
  response: null,
  errors: [409],
});
