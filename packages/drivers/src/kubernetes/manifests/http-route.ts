import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import type { ClusterRoute, ServedRoutes } from '../../driver.ts';
import { serviceLabels } from '../names/labels.ts';
import { namespaceName, serviceObjectName } from '../names/names.ts';
import { backendName } from './ingress.ts';
import { withWanted } from './metadata.ts';
import type { GatewayName } from './settings.ts';

/** The fields of an HTTPRoute of the Gateway API (gateway.networking.k8s.io/v1) that Davit writes. */
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

/** Most hosts that the Gateway API accepts in an HTTPRoute (`maxItems` of `hostnames`, v1). */
const maxHosts = 16;

/**
 * Returns the routes of a service at a Gateway. All ports with the same hosts share a route, because the hosts of an
 * HTTPRoute apply to all its rules. If the hosts are too many for one route, there are several. The first route has the
 * service's name. Pure.
 */
export function toHttpRoutes({ owner, routes, metadata }: ServedRoutes, gateway: GatewayName): HttpRoute[] {
  const name = serviceObjectName(owner);
  const namespace = namespaceName(owner.installation, owner.environment);
  const byHosts = Map.groupBy(
    routes.filter(({ hosts }) => hosts.length > 0),
    ({ hosts }) => hosts.toSorted().join(' '),
  );
  const parts = [...byHosts.values()].flatMap((same) => inParts(same[0]?.hosts ?? []).map((hostnames) => ({ same, hostnames })));
  return parts.map(({ same, hostnames }, index) => ({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: withWanted(
      { name: index === 0 ? name : `${name}-${index}`, namespace, labels: serviceLabels(owner, 'route') },
      'HTTPRoute',
      metadata,
    ),
    spec: { parentRefs: [gateway], hostnames, rules: same.map((route) => toRule(route, name)) },
  }));
}

function inParts(hosts: readonly string[]): (readonly string[])[] {
  const count = Math.ceil(hosts.length / maxHosts);
  return Array.from({ length: count }, (_, index) => hosts.slice(index * maxHosts, (index + 1) * maxHosts));
}

function toRule({ pathPrefix, internalPort, to }: ClusterRoute, name: string): HttpRoute['spec']['rules'][number] {
  return {
    matches: [{ path: { type: 'PathPrefix', value: pathPrefix } }],
    backendRefs: [{ name: backendName(to, name), port: internalPort }],
  };
}
