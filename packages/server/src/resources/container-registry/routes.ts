import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as registry from './container-registry.ts';
import { listImages } from './images.ts';

export function mountContainerRegistry(
  mounting: Mounting,
  deps: Needs<'database' | 'vault', 'allowHttpRegistries' | 'allowPrivateTargets' | 'vendorRegistries'>,
): void {
  mounting
    .on(operations.listAvailableContainerRegistry, async () => registry.listAvailable())
    .on(operations.listContainerRegistry, ({ caller, params }) =>
      registry.listContainerRegistries(deps, caller, params.organizationId),
    )
    .on(operations.createContainerRegistry, ({ caller, params, body }) =>
      registry.createContainerRegistry(deps, caller, params.organizationId, body),
    )
    .on(operations.getContainerRegistry, ({ caller, params }) => registry.readContainerRegistry(deps, caller, params))
    .on(operations.editContainerRegistry, ({ caller, params, body }) =>
      registry.editContainerRegistry(deps, caller, params, body),
    )
    .on(operations.deleteContainerRegistry, ({ caller, params }) => registry.deleteContainerRegistry(deps, caller, params))
    .on(operations.getContainerRegistryAssociatedServices, ({ caller, params }) =>
      registry.listAssociatedServices(deps, caller, params),
    )
    .on(operations.getContainerVersions, ({ caller, params, query }) => listImages(deps, caller, params, query));
}
