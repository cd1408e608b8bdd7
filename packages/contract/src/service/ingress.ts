import { operation } from '../operation.ts';
import { about, Named, Optionals, Uuid, Words } from '../shape.ts';
import { serviceStates } from '../shared/words.ts';

/** Service types whose ports the gateway serves. The type is the first segment of the path. */
export const ingressTypes = ['CONTAINER', 'APPLICATION', 'HELM'] as const;

export const getIngressDeploymentStatus = operation({
  id: 'getIngressDeploymentStatus',
  method: 'GET',
  path: '/{serviceType}/{serviceId}/ingressDeploymentStatus',
  tag: 'Custom domain',
  summary: 'Read whether the gateway serves a service',
  description: `
    Summarizes routes and certificates of an application, container or Helm chart. \`serviceType\` of the path is
    APPLICATION, CONTAINER or HELM.

    - DEPLOYED: each public port leads to an instance, and all domains have certificates
    - DEPLOYING: a certificate is missing, or a deployment runs
    - DEPLOYMENT_ERROR: a certificate cannot be obtained
    - UNAVAILABLE: a port leads nowhere
    - STOPPED: the service is stopped
    - READY: the service has no public port
  `,
  scope: 'READ',
  target: 'service',
  status: 200,
  // `routerId` is never set: the gateway has no routers.
  response: Named(
    'IngressDeploymentStatus',
    Optionals({
      routerId: about('Never set: the gateway has no routers.', Uuid),
      status: Words(serviceStates),
    }),
    'Whether the gateway serves a service.',
  ),
  errors: [],
});
