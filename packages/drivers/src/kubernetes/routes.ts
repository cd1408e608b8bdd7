import type { ClusterRoutes } from '../driver.ts';
import { toIngress } from './manifests/ingress.ts';
import { namespaceName, serviceObjectName } from './names.ts';
import { apply, pathOf, remove } from './objects.ts';
import { translated } from './refusals.ts';
import { serveRollout } from './removal.ts';
import type { ClusterScope } from './start.ts';

/** The optional power "routes": an Ingress for each service, served by the cluster's own controller. */
export function clusterRoutes(scope: ClusterScope): ClusterRoutes {
  return {
    apply: async (served, signal) => {
      const { owner, rollout } = served;
      const ingress = toIngress(served, scope.settings);
      const place = { namespace: namespaceName(owner.installation, owner.environment), name: serviceObjectName(owner) };
      try {
        await serveRollout(scope, { service: owner.service, rollout }, signal);
        if (ingress === null) await remove(scope.api, pathOf('Ingress', place), signal);
        else await apply(scope, ingress, signal);
      } catch (error) {
        throw translated(error, 'The routes could not be made');
      }
    },
    remove: async ({ environment, service }, signal) => {
      const { api, installation } = scope;
      const name = serviceObjectName({ installation, service });
      try {
        await remove(api, pathOf('Ingress', { namespace: namespaceName(installation, environment), name }), signal);
      } catch (error) {
        throw translated(error, 'The routes could not be removed');
      }
    },
  };
}
