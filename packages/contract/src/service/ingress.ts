import { operation } from '../operation.ts';
import { about, Named, Optionals, Uuid, Words } from '../shape.ts';
import { serviceStates } from '../shared/deployment-words.ts';

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
    - DEPLOYING: a certificate is missing
    - DEPLOYMENT_ERROR: a certificate cannot be obtained, or has expired
    - UNAVAILABLE: a port leads nowhere
    - STOPPED: the service is stopped
    - READY: the service has no public port, or only UDP

    While an action waits or runs, it is the state of the service.
  `,
  scope: 'READ',
  target: 'service',
  status: 200,
  response: Named(
    'IngressDeploymentStatus',
    Optionals({
      routerId: about('Identifies its routes. Absent: it has none.', Uuid),
      status: Words(serviceStates),
    }),
    'Whether the gateway serves a service.',
  ),
  errors: [],
});
