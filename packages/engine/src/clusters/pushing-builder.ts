import { DriverError, type CallContext, type ImageBuilder, type SourceDriver } from '@davit/drivers';
import type { DriverSet } from '../shared/parts.ts';
import { credentialsOf } from '../workload/registry-credentials.ts';
import type { ImageRegistry } from '../shared/cluster-drivers.ts';
import { digestOf, nameThere, type NamedThere, type RegistryHooks } from './registry-names.ts';

/** Where images are built for clusters that build none, and what the installation has once. */
export interface Workshop {
  /** Of the engine that builds. */
  readonly driver: string;
  readonly set: Pick<DriverSet, 'builder' | 'carrier'>;
  readonly source: SourceDriver;
  readonly hooks: RegistryHooks;
}

/**
 * Builds on the workshop's engine and pushes to a registry: images are known by name and digest there, `…/davit/<service>@sha256:…`.
 * What the registry has already is neither built nor pushed again; what the engine still has is pushed only.
 */
export function createPushingBuilder({ set, hooks }: Workshop, registry: ImageRegistry): ImageBuilder {
  const builder = (): ImageBuilder => {
    if (set.builder !== null) return set.builder;
    throw new DriverError({ cause: 'BUILD_UNAVAILABLE', message: 'nothing builds images beside this process' });
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
      if (known !== null) context.log('The image was built before: it is pushed only.');
      const built = known ?? (await builder().build(request, context));
      const digest = await push(request.image, there, context);
      return { id: `${there.name}@${digest}`, sizeBytes: built.sizeBytes };
    },
    // Registries have rules of their own for what is old, and few let others remove.
    removeImages: () => Promise.resolve(),
  };

  async function push(image: string, { name, tag }: NamedThere, context: CallContext): Promise<string> {
    const { carrier } = set;
    if (carrier === null)
      throw new DriverError({ cause: 'BUILD_UNAVAILABLE', message: 'nothing pushes images beside this process' });
    const reference = `${name}:${tag}`;
    context.log(`Pushing the image to ${reference}.`);
    const wanted = { registryId: registry.id, serviceName: 'the cluster' };
    const { digest } = await carrier.push({ image, reference, credentials: await credentialsOf(hooks, wanted) }, context);
    return digest;
  }
}
