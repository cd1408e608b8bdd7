import type { Ingress } from 'kubernetes-types/networking/v1.js';
import type { ClusterRoute, ServedRoutes } from '../../driver.ts';
import { serviceLabels } from '../labels.ts';
import { namespaceName, serviceObjectName } from '../names.ts';
import { withWanted } from './metadata.ts';
import type { CertificateSettings, ClusterSettings } from './settings.ts';

/** The Ingress of a service with all its routes; null: it has none. Pure. */
export function toIngress(
  { owner, routes, metadata }: ServedRoutes,
  { ingressClass, certificates }: ClusterSettings,
): Ingress | null {
  const name = serviceObjectName(owner);
  const rules = routes.flatMap(({ hosts, pathPrefix, internalPort, to }) =>
    hosts.map((host) => ({
      host,
      http: {
        paths: [
          {
            path: pathPrefix,
            pathType: 'Prefix' as const,
            backend: { service: { name: backendName(to, name), port: { number: internalPort } } },
          },
        ],
      },
    })),
  );
  if (rules.length === 0) return null;
  const certified = certificates === null ? [] : hostsToCertify(rules, certificates);
  const issued = certificates !== null && certified.length > 0;
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: withWanted(
      {
        name,
        namespace: namespaceName(owner.installation, owner.environment),
        labels: serviceLabels(owner, 'route'),
        ...(issued && { annotations: { 'cert-manager.io/cluster-issuer': certificates.issuer } }),
      },
      'Ingress',
      metadata,
    ),
    spec: {
      ...(ingressClass !== null && { ingressClassName: ingressClass }),
      // The secret is cert-manager's: it makes it, and keeps it when the Ingress goes.
      ...(issued && { tls: [{ hosts: certified, secretName: `${name}-tls` }] }),
      rules,
    },
  };
}

/** The Service that a route leads to; `own`: the one that Davit made. Pure. */
export function backendName(to: ClusterRoute['to'], own: string): string {
  return to !== undefined && 'name' in to ? to.name : own;
}

function hostsToCertify(rules: readonly { readonly host: string }[], { wildcardDomain }: CertificateSettings): string[] {
  const hosts = new Set(rules.map(({ host }) => host));
  return [...hosts].filter((host) => wildcardDomain === null || !host.endsWith(`.${wildcardDomain}`));
}
