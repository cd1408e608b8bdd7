import { DriverError } from '../errors.ts';
import type { ClusterRoutes, ServedRoutes } from '../driver.ts';
import { ApiRefusal, type KubernetesObject } from './api.ts';
import { toHttpRoutes } from './manifests/http-route.ts';
import { toIngress } from './manifests/ingress.ts';
import { apply } from './objects.ts';
import { translated } from './refusals.ts';
import { removeRoutes, serveRollout } from './removal.ts';
import type { ClusterScope } from './start.ts';

/** The optional power "routes": an Ingress for each service, or HTTPRoutes, served by the cluster's own controller. */
export function clusterRoutes(scope: ClusterScope): ClusterRoutes {
  return {
    apply: async (served, signal) => {
      const { owner, rollout } = served;
      const wanted = objectsFor(scope, served);
      try {
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
