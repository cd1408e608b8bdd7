import { isAppError } from '@davit/base';
import { DriverError } from '@davit/drivers';
import { isDatabaseUnreachable } from '../shared/retry-policy.ts';
import type { EngineHooks } from '../port/hooks.ts';
import type { ImageRegistry } from '../shared/cluster-drivers.ts';

/** The hooks for the container registry to which images for a cluster are pushed. */
export type RegistryHooks = Pick<EngineHooks, 'imageDigest' | 'imageName' | 'isPlainRegistry' | 'registryCredentials'>;

export interface NamedThere {
  /** Complete name: `registry.example.org:5000/folder/davit/<service>`. */
  readonly name: string;
  readonly tag: string;
}

/** Returns the name in the registry of an image that the engine calls `davit/<service>:<key>`. */
export async function nameThere(hooks: RegistryHooks, registry: ImageRegistry, image: string): Promise<NamedThere> {
  const [path = '', tag = ''] = image.split(':');
  return { name: `${await folderThere(hooks, registry)}/${path.slice(path.indexOf('/') + 1)}`, tag };
}

/**
 * Returns the folder that contains all images in the registry: `registry.example.org:5000/folder/davit`. Fails with
 * BUILD_UNAVAILABLE.
 */
export async function folderThere(hooks: RegistryHooks, { id, folder }: ImageRegistry): Promise<string> {
  const name = await hooks.imageName?.(id, folder);
  if (name !== undefined) return name;
  throw new DriverError({
    cause: 'BUILD_UNAVAILABLE',
    message: `the container registry ${id}, to which images for this cluster are pushed, does not exist`,
    hint: 'Have the operator name an existing container registry as image_registry in the settings of the cluster.',
  });
}

/**
 * Returns the digest of an image; null also if Davit cannot query the registry. The engine may reach a registry that
 * Davit cannot, and then finds existing images there itself.
 */
export async function digestOf(hooks: RegistryHooks, { id }: ImageRegistry, image: NamedThere): Promise<string | null> {
  try {
    return (await hooks.imageDigest?.(id, image)) ?? null;
  } catch (error) {
    if (!isAppError(error) || isDatabaseUnreachable(error)) throw error;
    return null;
  }
}
