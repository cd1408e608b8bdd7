import type { Ingress } from 'kubernetes-types/networking/v1.js';
import type { ClusterRoute, ServedRoutes } from '../../driver.ts';
import { serviceLabels } from '../names/labels.ts';
import { namespaceName, serviceObjectName } from '../names/names.ts';
import { digest } from '../../shared/digest.ts';
import { withWanted } from './metadata.ts';
import type { CertificateSettings, ClusterSettings } from './settings.ts';

/** Returns the Ingress of a service with all its routes, or null if the service has no routes. Pure. */
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
      // Each host has its own certificate. With one certificate for all hosts, a single host without one (no DNS yet, a
      // wildcard with HTTP-01) would block the issuance and renewal for the others. The secrets belong to cert-manager:
      // it creates them, and keeps them when the host or the Ingress is removed.
      ...(issued && { tls: certified.map((host) => ({ hosts: [host], secretName: `${name}-tls-${digest(8, host)}` })) }),
      rules,
    },
  };
}

/** Returns the name of the Service that a route leads to. `own` is the Service that Davit created. Pure. */
export function backendName(to: ClusterRoute['to'], own: string): string {
  return to !== undefined && 'name' in to ? to.name : own;
}

function hostsToCertify(rules: readonly { readonly host: string }[], { wildcardDomain }: CertificateSettings): string[] {
  const hosts = new Set(rules.map(({ host }) => host));
  return [...hosts].filter((host) => wildcardDomain === null || !host.endsWith(`.${wildcardDomain}`));
}
