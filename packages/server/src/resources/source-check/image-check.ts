import type { Body, operations } from '@davit/contract';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { imagePlatforms } from '../container-registry/index.ts';
import { openEnvironment } from '../environment/index.ts';
import { checkImage } from '../shared/image-name.ts';
import { Problems } from '../shared/problems.ts';
import { notUsable } from './source-check.ts';

type ImageRequest = Body<(typeof operations)['checkContainerImage']>;

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64', arm: 'arm', ia32: '386' };
/** The platform of this machine, whose container engine runs deployed images. */
const ownPlatform = `linux/${architectures[process.arch] ?? process.arch}`;

/**
 * Fails with:
 * - SOURCE_NOT_USABLE: the registry has no such image, or none for this machine's processor.
 * - REMOTE_UNREACHABLE, REMOTE_REFUSED or REMOTE_NOT_UNDERSTOOD: the registry returned no usable response.
 */
export async function checkContainerImage(
  deps: Needs<'database' | 'vault', 'allowHttpRegistries' | 'allowPrivateTargets' | 'vendorRegistries'>,
  caller: Caller,
  environmentId: string,
  { registry_id, image_name: imageName, tag }: ImageRequest,
): Promise<Record<string, never>> {
  const { organizationId } = await openEnvironment(deps.database, caller, environmentId, 'read');
  const problems = new Problems();
  checkImage({ image_name: imageName, tag }, problems);
  problems.throwIfAny();
  const platforms = await imagePlatforms(deps, organizationId, { registryId: registry_id ?? null, imageName, tag });
  if (platforms === null) {
    throw notUsable(
      'tag',
      'IMAGE_NOT_FOUND',
      `The registry has no image ${imageName}:${tag}, or does not show it without credentials.`,
    );
  }
  // Some registries do not report the platforms of an image.
  if (platforms.length === 0 || platforms.includes(ownPlatform)) return {};
  const message = `The image is for ${platforms.join(', ')}, and this machine is ${ownPlatform}.`;
  throw notUsable('tag', 'IMAGE_NOT_FOUND', message);
}
