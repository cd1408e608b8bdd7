import type { Ingress } from 'kubernetes-types/networking/v1.js';
import type { ClusterRoute, ServedRoutes } from '../../driver.ts';
import { serviceLabels } from '../names/labels.ts';
import { digest, namespaceName, serviceObjectName } from '../names/names.ts';
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
      // A certificate for each host: of one for all a single host that cannot be had (no DNS yet, a wildcard with HTTP-01) would keep the
      // others from being made and renewed. The secrets are cert-manager's: it makes them, and keeps them when host or Ingress go.
      ...(issued && { tls: certified.map((host) => ({ hosts: [host], secretName: `${name}-tls-${digest(8, host)}` })) }),
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
