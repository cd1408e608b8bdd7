import { isAppError } from '@davit/base';
import { DriverError, type CallContext, type PulledImage, type Workload } from '@davit/drivers';
import type { ImageReleaseSource, ReleaseConfig, ReleaseSource } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { isDatabaseUnreachable } from '../shared/retry-policy.ts';
import { imageSourceOf } from './image-source.ts';
import { credentialsOf, type RegistryUse } from './registry-credentials.ts';
import { keepPulled, notePulled } from '../store/images.ts';

export interface RegistryImage extends RegistryUse {
  readonly driver: string;
}

/** Returns the name under which a registry delivers exactly this image; null if there is none. */
export function pinnedName(name: string | null): string | null {
  return name !== null && /@sha256:[0-9a-f]{64}$/.test(name) ? name : null;
}

/** Pulls an image, and records which names Davit created. An image that existed before belongs to somebody else. */
export async function pullImage(parts: EngineParts, wanted: RegistryImage, call: CallContext): Promise<PulledImage> {
  const { carrier, imageStore } = driversOf(parts, wanted.driver);
  const credentials = await credentialsOf(parts.hooks, wanted, (line) => call.log(line));
  if (carrier === null) return resolveImage(parts, wanted, call);
  const before = await imageStore?.list(call.signal);
  const image = await carrier.pull({ reference: wanted.reference, credentials }, call);
  if (imageStore === undefined || before === undefined) return image;
  const former = before.find(({ id }) => id === image.id);
  const now = (await imageStore.list(call.signal)).find(({ id }) => id === image.id);
  const made = (now?.names ?? []).filter((name) => former?.names.includes(name) !== true);
  await parts.database.run(former === undefined ? notePulled : keepPulled, [wanted.driver, image.id, made]);
  return image;
}

/**
 * Resolves the digest of an image for a cluster that pulls by itself, so that the image is fixed now and not at each
 * start.
 */
async function resolveImage(
  { hooks }: EngineParts,
  { registryId, reference }: RegistryImage,
  call: CallContext,
): Promise<PulledImage> {
  const asItIs = { id: reference, sizeBytes: 0, digest: null };
  if (pinnedName(reference) !== null || hooks.imageDigest === undefined) return asItIs;
  const colon = reference.lastIndexOf(':');
  const [name, tag] = [reference.slice(0, colon), reference.slice(colon + 1)];
  try {
    const digest = await hooks.imageDigest(registryId, { name, tag });
    if (digest === null)
      throw new DriverError({
        cause: 'IMAGE_NOT_FOUND',
        message: `the registry has no image ${reference}, or hides it without credentials`,
      });
    return { id: `${name}@${digest}`, sizeBytes: 0, digest };
  } catch (error) {
    if (!isAppError(error) || error instanceof DriverError || isDatabaseUnreachable(error)) throw error;
    // The nodes may reach a registry that Davit cannot reach.
    call.log(
      `The digest of ${reference} could not be read from the registry (${error.message}). The cluster pulls the image by its tag: ` +
        'Davit does not notice if the tag moves, and a rollback runs the image that the tag then refers to.',
    );
    return asItIs;
  }
}

interface Started {
  readonly driver: string;
  readonly serviceName: string;
  readonly source: ReleaseSource;
  /** Image name of the release; see `pinnedName`. */
  readonly imageName: string | null;
}

/**
 * Starts an instance. If its image is missing on the engine, because others removed it, and a registry has exactly the
 * same image, pulls the image and starts again.
 */
export async function startWithImage(
  parts: EngineParts,
  { driver, serviceName, source, imageName }: Started,
  call: CallContext,
  start: () => Promise<void>,
): Promise<void> {
  try {
    await start();
  } catch (error) {
    const reference = pinnedName(imageName);
    if (!(error instanceof DriverError && error.code === 'IMAGE_MISSING')) throw error;
    const pulled = imageSourceOf({ source });
    if (pulled === null || reference === null) throw error;
    call.log(`The image is no longer on the engine. Pulling ${reference} again.`);
    await pullImage(parts, { driver, serviceName, registryId: pulled.registryId, reference }, call);
    await start();
  }
}

/** Returns the image name of a release whose image is selected by its tag. */
export function taggedName({ image, tag }: ImageReleaseSource): string {
  return tag.startsWith('sha256:') ? `${image}@${tag}` : `${image}:${tag}`;
}

/**
 * Adds the registry credentials to a workload, if its cluster pulls images by itself: when it starts an instance, and
 * whenever it moves an instance to another node.
 */
export async function withRegistry(
  parts: EngineParts,
  driver: string,
  { name, source }: Pick<ReleaseConfig, 'name' | 'source'>,
  workload: Workload,
): Promise<Workload> {
  const { carrier, pullRegistryId } = driversOf(parts, driver);
  if (carrier !== null) return workload;
  const pulled = imageSourceOf({ source });
  const registryId = pulled === null ? (pullRegistryId ?? null) : pulled.registryId;
  const credentials = await credentialsOf(parts.hooks, { registryId, serviceName: name, reference: workload.image });
  return credentials === null ? workload : { ...workload, registry: { host: registryHost(workload.image), credentials } };
}

/**
 * Returns the host under which credentials for an image are looked up: its registry, or the name that Docker Hub has
 * for this purpose. Pure.
 */
export function registryHost(image: string): string {
  const [first = '', ...rest] = image.split('/');
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  return !isHost || first === 'docker.io' || first === 'index.docker.io' ? 'https://index.docker.io/v1/' : first;
}
