import type { ClusterBuilder, ImageBuilder } from '@davit/drivers';
import { credentialsOf } from '../workload/registry-credentials.ts';
import { registryHost } from '../workload/registry-image.ts';
import type { ImageRegistry } from '../shared/cluster-drivers.ts';
import { digestOf, folderThere, nameThere, type RegistryHooks } from './registry-names.ts';

/**
 * Creates a builder that builds inside the cluster, which pushes to its registry itself. As with the builder that
 * pushes from this machine, images are identified by name and digest, and an image that the registry already has is not
 * built again.
 */
export function createInsideBuilder(hooks: RegistryHooks, registry: ImageRegistry, builder: ClusterBuilder): ImageBuilder {
  return {
    declaredArguments: (source) => builder.declaredArguments(source),
    find: async (image) => {
      const there = await nameThere(hooks, registry, image);
      const digest = await digestOf(hooks, registry, there);
      return digest === null ? null : { id: `${there.name}@${digest}`, sizeBytes: 0 };
    },
    build: async (request, context) => {
      const { name, tag } = await nameThere(hooks, registry, request.image);
      const wanted = { registryId: registry.id, serviceName: 'the cluster', reference: name };
      const location = {
        host: registryHost(name),
        credentials: await credentialsOf(hooks, wanted),
        isPlain: (await hooks.isPlainRegistry?.(registry.id)) ?? false,
        folder: await folderThere(hooks, registry),
      };
      const { digest } = await builder.build({ ...request, reference: `${name}:${tag}`, registry: location }, context);
      return { id: `${name}@${digest}`, sizeBytes: 0 };
    },
    // Registries have their own rules for old images, and few allow others to remove them.
    removeImages: () => Promise.resolve(),
  };
}
