import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import type { ClusterRoute, ServedRoutes } from '../../driver.ts';
import { serviceLabels } from '../labels.ts';
import { namespaceName, serviceObjectName } from '../names.ts';
import { backendName } from './ingress.ts';
import { withWanted } from './metadata.ts';
import type { GatewayName } from './settings.ts';

/** What Davit says of an HTTPRoute of the Gateway API (gateway.networking.k8s.io/v1). */
export interface HttpRoute {
  readonly apiVersion: 'gateway.networking.k8s.io/v1';
  readonly kind: 'HTTPRoute';
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly parentRefs: readonly GatewayName[];
    readonly hostnames: readonly string[];
    readonly rules: readonly {
      readonly matches: readonly { readonly path: { readonly type: 'PathPrefix'; readonly value: string } }[];
      readonly backendRefs: readonly { readonly name: string; readonly port: number }[];
    }[];
  };
}

/**
 * The routes of a service at a Gateway: one for all ports that have the same hosts, as the hosts of an HTTPRoute are those of all its rules.
 * The first has the service's name. Pure.
 */
export function toHttpRoutes({ owner, routes, metadata }: ServedRoutes, gateway: GatewayName): HttpRoute[] {
  const name = serviceObjectName(owner);
  const namespace = namespaceName(owner.installation, owner.environment);
  const byHosts = Map.groupBy(
    routes.filter(({ hosts }) => hosts.length > 0),
    ({ hosts }) => hosts.toSorted().join(' '),
  );
  return [...byHosts.values()].map((same, index) => ({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: withWanted(
      { name: index === 0 ? name : `${name}-${index}`, namespace, labels: serviceLabels(owner, 'route') },
      'HTTPRoute',
      metadata,
    ),
    spec: { parentRefs: [gateway], hostnames: same[0]?.hosts ?? [], rules: same.map((route) => toRule(route, name)) },
  }));
}

function toRule({ pathPrefix, internalPort, to }: ClusterRoute, name: string): HttpRoute['spec']['rules'][number] {
  return {
    matches: [{ path: { type: 'PathPrefix', value: pathPrefix } }],
    backendRefs: [{ name: backendName(to, name), port: internalPort }],
  };
}
