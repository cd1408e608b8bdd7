import type { Ingress } from 'kubernetes-types/networking/v1.js';
import type { ServedRoutes } from '../../driver.ts';
import { serviceLabels } from '../labels.ts';
import { namespaceName, serviceObjectName } from '../names.ts';
import { withWanted } from './metadata.ts';
import type { ClusterSettings } from './settings.ts';

/** The Ingress of a service with all its routes; null: it has none. Pure. */
export function toIngress({ owner, routes, metadata }: ServedRoutes, { ingressClass }: ClusterSettings): Ingress | null {
  const name = serviceObjectName(owner);
  const rules = routes.flatMap(({ hosts, pathPrefix, internalPort }) =>
    hosts.map((host) => ({
      host,
      http: {
        paths: [
          { path: pathPrefix, pathType: 'Prefix' as const, backend: { service: { name, port: { number: internalPort } } } },
        ],
      },
    })),
  );
  if (rules.length === 0) return null;
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: withWanted(
      { name, namespace: namespaceName(owner.installation, owner.environment), labels: serviceLabels(owner, 'route') },
      'Ingress',
      metadata,
    ),
    spec: { ...(ingressClass !== null && { ingressClassName: ingressClass }), rules },
  };
}
