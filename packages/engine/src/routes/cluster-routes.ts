import { DriverError, type ClusterRoute, type Ownership } from '@davit/drivers';
import type { KnownKinds } from '../kinds/traits.ts';
import type { ReleaseConfig } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { otherSettings, sourceSettings } from './route-settings.ts';

/*
 * Clusters that route requests from outside to services by themselves ("routes" of their drivers). All other clusters
 * have a gateway of Davit.
 */

/** Returns the routes of a release from outside, for a cluster. Pure. */
export function routesOf(
  kinds: KnownKinds,
  serviceId: string,
  config: Pick<ReleaseConfig, 'ports' | 'source' | 'job'>,
): readonly ClusterRoute[] {
  const kind = kinds.of(config);
  return config.ports.flatMap((port) => {
    const hosts = [...port.hosts, ...(port.customHosts ?? [])];
    if (!port.public || hosts.length === 0 || (port.protocol !== 'HTTP' && port.protocol !== 'GRPC')) return [];
    const to = kind.routeTarget?.(serviceId, port.id, config);
    return [
      { id: port.id, hosts, pathPrefix: port.pathPrefix, internalPort: port.internalPort, ...(to !== undefined && { to }) },
    ];
  });
}

/**
 * Makes a cluster route requests to a rollout. Returns lines for the deployment log; null if the gateway of Davit
 * routes the requests.
 */
export async function applyRoutes(
  parts: Pick<EngineParts, 'drivers' | 'kinds'>,
  driver: string,
  to: { readonly owner: Ownership; readonly rollout: string; readonly config: ReleaseConfig },
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  const { routes: routing } = driversOf(parts, driver).cluster;
  if (routing === undefined) return null;
  const routes = routesOf(parts.kinds, to.owner.service, to.config);
  const reported = await routing.apply({ owner: to.owner, rollout: to.rollout, routes, metadata: to.config.metadata }, signal);
  return [...routeRemarks(to.config, routes), ...reported];
}

/** Removes all routes from outside to a service from a cluster. */
export async function removeClusterRoutes(
  parts: Pick<EngineParts, 'drivers'>,
  driver: string,
  owner: Pick<Ownership, 'environment' | 'service'>,
  signal: AbortSignal,
): Promise<void> {
  await driversOf(parts, driver).cluster.routes?.remove(owner, signal);
}

/**
 * Fails with SOURCES_UNRESTRICTED if a release restricts who may use it and its cluster routes requests in by itself,
 * which would serve everybody. Called before anything is changed.
 */
export function assertRestricts(parts: Pick<EngineParts, 'drivers'>, driver: string, config: ReleaseConfig): void {
  const settings = sourceSettings(config);
  if (settings.length === 0 || driversOf(parts, driver).cluster.routes === undefined) return;
  throw new DriverError({
    cause: 'SOURCES_UNRESTRICTED',
    message: `${config.name} restricts client addresses (${settings.join(', ')}), but the cluster of its environment would serve everybody: requests enter through its own controller`,
  });
}

/**
 * Returns lines for the deployment log: where requests come in, which public ports are unreachable from outside, and
 * which settings have no effect.
 */
export function routeRemarks(
  { ports, options }: Pick<ReleaseConfig, 'ports' | 'options'>,
  routes: readonly ClusterRoute[],
): string[] {
  const led = new Set(routes.map(({ id }) => id));
  const hosts = [...new Set(routes.flatMap((route) => route.hosts))];
  const remarks = hosts.length === 0 ? [] : [`The cluster sends requests for ${hosts.join(', ')} to the new instances.`];
  const unheeded = otherSettings({ ports: ports.filter(({ id }) => led.has(id)), ...(options !== undefined && { options }) });
  if (unheeded.length > 0) {
    remarks.push(
      `Without effect on this cluster, where requests enter through its own controller: ${unheeded.join(', ')}. Configure that controller by annotation groups with the scope INGRESS or GATEWAY_API_ROUTES.`,
    );
  }
  const left = ports.filter((port) => port.public && !led.has(port.id));
  for (const { internalPort, protocol } of left) {
    const isNamed = protocol === 'HTTP' || protocol === 'GRPC';
    const why = isNamed ? 'no address is set for this cluster' : 'this cluster accepts only HTTP and gRPC from outside';
    remarks.push(`Port ${internalPort} (${protocol}) is public, but can be reached inside the cluster only: ${why}.`);
  }
  return remarks;
}
