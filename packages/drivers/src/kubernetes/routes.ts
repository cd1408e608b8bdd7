import type { Service } from 'kubernetes-types/core/v1.js';
import { DriverError } from '../errors.ts';
import type { ClusterRoutes, ServedRoutes } from '../driver.ts';
import { ApiRefusal, type KubernetesObject } from './api.ts';
import { list } from './follow.ts';
import { namespaceName } from './names.ts';
import { toHttpRoutes } from './manifests/http-route.ts';
import { toIngress } from './manifests/ingress.ts';
import { apply, pathOf } from './objects.ts';
import { translated } from './refusals.ts';
import { serveRollout } from './retirement.ts';
import { removeRoutes } from './route-objects.ts';
import type { ClusterScope } from './start.ts';

/** The optional power "routes": an Ingress for each service, or HTTPRoutes, served by the cluster's own controller. */
export function clusterRoutes(scope: ClusterScope): ClusterRoutes {
  return {
    apply: async (served, signal) => {
      const { owner, rollout } = served;
      try {
        const wanted = objectsFor(scope, await withNames(scope, served, signal));
        await serveRollout(scope, { service: owner.service, rollout }, signal);
        for (const object of wanted) await apply(scope, object, signal);
        await removeRoutes(scope, owner, { except: wanted }, signal);
      } catch (error) {
        throw hasNoGateways(scope, error) ? withoutGateways(error) : translated(error, 'The routes could not be made');
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

/** Routes to Services that are known by what they select, by the names of these. */
async function withNames({ api }: ClusterScope, served: ServedRoutes, signal: AbortSignal): Promise<ServedRoutes> {
  if (served.routes.every(({ to }) => to === undefined || 'name' in to)) return served;
  const namespace = namespaceName(served.owner.installation, served.owner.environment);
  const { items } = await list<Service>(api, { path: pathOf('Service', { namespace }), query: {} }, signal);
  const routes = served.routes.map((route) => {
    const { to } = route;
    if (to === undefined || 'name' in to) return route;
    const wanted = Object.entries(to.selectors);
    const found = items.find(({ spec }) => wanted.every(([key, value]) => spec?.selector?.[key] === value));
    if (found !== undefined) return { ...route, to: { name: found.metadata?.name ?? '' } };
    const words = wanted.map(([key, value]) => `${key}=${value}`).join(',');
    throw new DriverError({
      cause: 'ENGINE_FAILED',
      message: `The environment has no Service that selects ${words}, to which port ${route.internalPort} would lead.`,
      hint: 'Correct service_selectors of the port, or name the Service in service_name; GET …/listServices lists them.',
    });
  });
  return { ...served, routes };
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
    message: 'The cluster has no Gateway API (gateway.networking.k8s.io/v1), and its settings name a Gateway.',
    hint: 'Have the operator install the Gateway API on the cluster, or take gateway out of its settings.',
    error,
  });
}
