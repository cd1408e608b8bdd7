import { canonicalJson } from '@davit/base';
import type { ClusterRoute, ClusterRoutes, ServedRoutes } from '../../driver.ts';
import { DriverError } from '../../errors.ts';
import type { ChartService } from '../../helm-driver.ts';
import { readServices, readServicesAround } from '../charts/state.ts';
import { ApiRefusal, type KubernetesObject } from '../client/api.ts';
import type { ClusterScope } from '../client/cluster-scope.ts';
import { apply } from '../client/objects.ts';
import { translated } from '../client/refusals.ts';
import { serveRollout } from '../lifecycle/serve.ts';
import { toHttpRoutes } from '../manifests/http-route.ts';
import { toIngress } from '../manifests/ingress.ts';
import { removeRoutes } from './route-objects.ts';

/** The capability "routes": an Ingress for each service, or HTTPRoutes, served by the cluster's own controller. */
export function clusterRoutes(scope: ClusterScope): ClusterRoutes {
  return {
    apply: async (served, signal) => {
      const { owner, rollout } = served;
      try {
        const wanted = objectsFor(scope, await withNames(scope, served, signal));
        await serveRollout(scope, { service: owner.service, rollout }, signal);
        for (const object of wanted) await apply(scope, object, signal);
        await removeRoutes(scope, owner, { except: wanted }, signal);
        return wanted.length > 0 && letsNobodyIn(scope) ? [nobodyIsLetIn] : [];
      } catch (error) {
        throw hasNoGateways(scope, error) ? withoutGateways(error) : translated(error, 'The routes could not be created');
      }
    },
    remove: async (owner, signal) => {
      try {
        await removeRoutes(scope, owner, { except: [] }, signal);
      } catch (error) {
        throw translated(error, 'The routes could not be removed');
      }
    },
  };
}

const nobodyIsLetIn =
  'If this cluster enforces network policies, pods of this environment accept connections from each other only: if these addresses do not ' +
  'answer, have the operator add the namespace of the ingress controller to source_namespaces in the settings of the cluster.';

function letsNobodyIn({ settings: { sources } }: ClusterScope): boolean {
  return sources.namespaces.length + sources.networks.length === 0;
}

/**
 * Resolves each route to a Service of a chart to the name of that Service. The Services of the release are searched
 * first, then all Services of the environment: a Service with the same selector elsewhere belongs to another owner, and
 * a Service that an operator created for the chart carries no other mark. Fails for a Service that does not exist or
 * lacks the port, because that Service would answer every request with an error.
 */
async function withNames(scope: ClusterScope, served: ServedRoutes, signal: AbortSignal): Promise<ServedRoutes> {
  const release = served.routes.find(({ to }) => to !== undefined)?.to?.release;
  if (release === undefined) return served;
  const ids = { owner: served.owner, release };
  const services = await readServices(scope, ids, signal);
  const isIn = (route: ClusterRoute, within: readonly ChartService[]): boolean =>
    route.to === undefined || meant(route.to, within).length > 0;
  const around = served.routes.every((route) => isIn(route, services)) ? [] : await readServicesAround(scope, ids, signal);
  return { ...served, routes: served.routes.map((route) => withName(route, isIn(route, services) ? services : around)) };
}

type RouteTarget = NonNullable<ClusterRoute['to']>;

function meant(to: RouteTarget, services: readonly ChartService[]): readonly ChartService[] {
  return 'name' in to ? services.filter(({ name }) => name === to.name) : selected(services, Object.entries(to.selectors));
}

/** Returns the route with the name of the one Service that matches it. Pure. */
export function withName(route: ClusterRoute, services: readonly ChartService[]): ClusterRoute {
  const { to, internalPort } = route;
  if (to === undefined) return route;
  const named = meant(to, services);
  const found = named.filter(({ ports }) => ports.some(({ port }) => port === internalPort));
  const [one] = found;
  // A headless Service beside another one leads to the same pods.
  const ways = new Set(found.map(({ selectors }) => canonicalJson(selectors)));
  if (one !== undefined && ways.size === 1) return { ...route, to: { release: to.release, name: one.name } };
  const wanted = 'name' in to ? [] : Object.entries(to.selectors);
  const words = 'name' in to ? `called ${to.name}` : `that selects ${wanted.map(([key, value]) => `${key}=${value}`).join(',')}`;
  throw new DriverError({
    cause: 'ENGINE_FAILED',
    message:
      found.length > 1
        ? `The chart has several Services ${words.replace('selects', 'select')} with port ${internalPort}: ${found.map(({ name }) => name).join(', ')}.`
        : named.length > 0
          ? `The Service ${words} has no port ${internalPort}; it has ${portsOf(named)}.`
          : `The chart has no Service ${words} for port ${internalPort}.`,
    hint: 'Correct service_name, service_selectors or internal_port of the port; GET …/listServices lists what the chart has.',
  });
}

function selected(services: readonly ChartService[], wanted: readonly (readonly [string, string])[]): readonly ChartService[] {
  return services.filter(({ selectors }) => wanted.every(([key, value]) => selectors[key] === value));
}

function portsOf(services: readonly ChartService[]): string {
  return [...new Set(services.flatMap(({ ports }) => ports.map(({ port }) => port)))].join(', ') || 'none';
}

function objectsFor({ settings }: ClusterScope, served: ServedRoutes): KubernetesObject[] {
  if (settings.gateway !== null) return toHttpRoutes(served, settings.gateway);
  const ingress = toIngress(served, settings);
  return ingress === null ? [] : [ingress];
}

function hasNoGateways({ settings }: ClusterScope, error: unknown): boolean {
  return settings.gateway !== null && error instanceof ApiRefusal && error.status === 404;
}

function withoutGateways(error: unknown): DriverError {
  return new DriverError({
    cause: 'ENGINE_FAILED',
    message: 'The cluster has no Gateway API (gateway.networking.k8s.io/v1), but its settings name a Gateway.',
    hint: 'Have the operator install the Gateway API on the cluster, or remove gateway from its settings.',
    error,
  });
}
