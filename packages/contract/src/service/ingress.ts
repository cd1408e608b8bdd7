import { operation } from '../operation.ts';
import { Optionals, Uuid, Words, Named } from '../shape.ts';
import { serviceStates } from '../shared/words.ts';

/** Service types whose ports the gateway serves. The type is the first segment of the path. */
export const ingressTypes = ['CONTAINER', 'APPLICATION', 'HELM'] as const;

export const getIngressDeploymentStatus = operation({
  id: 'getIngressDeploymentStatus',
  method: 'GET',
  path: '/{serviceType}/{serviceId}/ingressDeploymentStatus',
  tag: 'Custom domain',
  summary:
    'Read whether the gateway serves a service: DEPLOYED when all its routes lead to instances and its certificates exist. `serviceType`: CONTAINER, APPLICATION or HELM',
  scope: 'READ',
  target: 'service',
  status: 200,
  // `routerId` is never set: the gateway has no routers.
  response: Named('IngressDeploymentStatus', Optionals({ routerId: Uuid, status: Words(serviceStates) })),
  errors: [],
});
