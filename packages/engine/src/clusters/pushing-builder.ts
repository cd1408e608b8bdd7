import { DriverError, type CallContext, type ImageBuilder, type SourceDriver } from '@davit/drivers';
import type { DriverSet } from '../shared/parts.ts';
import { credentialsOf } from '../workload/registry-credentials.ts';
import type { ImageRegistry } from '../shared/cluster-drivers.ts';
import { digestOf, nameThere, type NamedThere, type RegistryHooks } from './registry-names.ts';

/** The engine that builds images for clusters which build none, and the drivers that exist once per installation. */
export interface Workshop {
  /** Key of the engine that builds. */
  readonly driver: string;
  readonly set: Pick<DriverSet, 'builder' | 'carrier'>;
  readonly source: SourceDriver;
  readonly hooks: RegistryHooks;
}

/**
 * Creates a builder that builds on the workshop's engine and pushes to a registry. Images are identified there by name
 * and digest, `…/davit/<service>@sha256:…`. An image that the registry already has is neither built nor pushed again.
 * An image that the engine still has is only pushed.
 */
export function createPushingBuilder({ set, hooks }: Workshop, registry: ImageRegistry): ImageBuilder {
  const builder = (): ImageBuilder => {
    if (set.builder !== null) return set.builder;
    throw new DriverError({ cause: 'BUILD_UNAVAILABLE', message: 'this process has no container engine to build images with' });
  };
  return {
    declaredArguments: (source) => builder().declaredArguments(source),
    find: async (image) => {
      const { name, tag } = await nameThere(hooks, registry, image);
      const digest = await digestOf(hooks, registry, { name, tag });
      return digest === null ? null : { id: `${name}@${digest}`, sizeBytes: 0 };
    },
    build: async (request, context) => {
      const there = await nameThere(hooks, registry, request.image);
      const known = request.withoutCache === true ? null : await builder().find(request.image, context.signal);
      if (known !== null) context.log('The image was built before and is only pushed.');
      const built = known ?? (await builder().build(request, context));
      const digest = await push(request.image, there, context);
      return { id: `${there.name}@${digest}`, sizeBytes: built.sizeBytes };
    },
    // Registries have their own rules for old images, and few allow others to remove them.
    removeImages: () => Promise.resolve(),
  };

  async function push(image: string, { name, tag }: NamedThere, context: CallContext): Promise<string> {
    const { carrier } = set;
    if (carrier === null)
      throw new DriverError({ cause: 'BUILD_UNAVAILABLE', message: 'this process has no container engine to push images with' });
    const reference = `${name}:${tag}`;
    context.log(`Pushing the image to ${reference}.`);
    const wanted = { registryId: registry.id, serviceName: 'the cluster', reference };
    const { digest } = await carrier.push({ image, reference, credentials: await credentialsOf(hooks, wanted) }, context);
    return digest;
  }
}
