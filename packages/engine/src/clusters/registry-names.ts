import { isAppError } from '@davit/base';
import { DriverError } from '@davit/drivers';
import { isDatabaseAway } from '../shared/retry-policy.ts';
import type { EngineHooks } from '../port/hooks.ts';
import type { ImageRegistry } from '../shared/cluster-drivers.ts';

/** What is asked of the container registry that images for a cluster are pushed to. */
export type RegistryHooks = Pick<EngineHooks, 'imageDigest' | 'imageName' | 'isPlainRegistry' | 'registryCredentials'>;

export interface NamedThere {
  /** Whole: `registry.example.org:5000/folder/davit/<service>`. */
  readonly name: string;
  readonly tag: string;
}

/** What the registry calls an image that the engine calls `davit/<service>:<key>`. */
export async function nameThere(hooks: RegistryHooks, registry: ImageRegistry, image: string): Promise<NamedThere> {
  const [path = '', tag = ''] = image.split(':');
  return { name: `${await folderThere(hooks, registry)}/${path.slice(path.indexOf('/') + 1)}`, tag };
}

/** Below which the registry has them all: `registry.example.org:5000/folder/davit`. Fails with BUILD_UNAVAILABLE. */
export async function folderThere(hooks: RegistryHooks, { id, folder }: ImageRegistry): Promise<string> {
  const name = await hooks.imageName?.(id, folder);
  if (name !== undefined) return name;
  throw new DriverError({
    cause: 'BUILD_UNAVAILABLE',
    message: `the container registry ${id}, to which images for this cluster are pushed, does not exist`,
    hint: 'Have the operator name an existing container registry as image_registry in the settings of the cluster.',
  });
}

/** null also where Davit cannot ask: the engine may reach what it does not, and finds then what is there already. */
export async function digestOf(hooks: RegistryHooks, { id }: ImageRegistry, image: NamedThere): Promise<string | null> {
  try {
    return (await hooks.imageDigest?.(id, image)) ?? null;
  } catch (error) {
    if (!isAppError(error) || isDatabaseAway(error)) throw error;
    return null;
  }
}
