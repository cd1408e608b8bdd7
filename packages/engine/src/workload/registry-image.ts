import { isAppError } from '@davit/base';
import { DriverError, type CallContext, type PulledImage, type Workload } from '@davit/drivers';
import { imageSourceOf } from '../kinds/image.ts';
import type { ImageReleaseSource, ReleaseConfig, ReleaseSource } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { isDatabaseAway } from '../shared/retry-policy.ts';
import { credentialsOf } from './registry-credentials.ts';
import { keepPulled, notePulled } from '../store/images.ts';

export interface RegistryImage {
  readonly driver: string;
  /** Of the service, for messages. */
  readonly serviceName: string;
  readonly registryId: string | null;
  readonly reference: string;
}

/** The name with which a registry gives exactly this image; null: there is none. */
export function pinnedName(name: string | null): string | null {
  return name !== null && /@sha256:[0-9a-f]{64}$/.test(name) ? name : null;
}

/** Pulls, and notes what of it is Davit's: an image that was there before is somebody else's. */
export async function pullImage(parts: EngineParts, wanted: RegistryImage, call: CallContext): Promise<PulledImage> {
  const { carrier, imageStore } = driversOf(parts, wanted.driver);
  const credentials = await credentialsOf(parts.hooks, wanted);
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

/** For a cluster that pulls by itself when it starts something: which image that is, is decided now. */
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
      throw new DriverError({ cause: 'IMAGE_NOT_FOUND', message: `the registry has no image ${reference}, or does not show it` });
    return { id: `${name}@${digest}`, sizeBytes: 0, digest };
  } catch (error) {
    if (!isAppError(error) || error instanceof DriverError || isDatabaseAway(error)) throw error;
    // The nodes may reach what Davit does not.
    call.log(
      `The registry does not tell Davit which image ${reference} is (${error.message}). The cluster pulls it by its tag: whether the tag ` +
        'moves is not noticed, and a rollback runs what it means then.',
    );
    return asItIs;
  }
}

interface Started {
  readonly driver: string;
  readonly serviceName: string;
  readonly source: ReleaseSource;
  /** Of the release; see `pinnedName`. */
  readonly imageName: string | null;
}

/**
 * Starts something; where its image is gone from the engine (others tidy up too) and a registry has the very same one, it is brought
 * again first.
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

/** What a release's image is called where its tag decides. */
export function taggedName({ image, tag }: ImageReleaseSource): string {
  return tag.startsWith('sha256:') ? `${image}@${tag}` : `${image}:${tag}`;
}

/**
 * A workload with what a cluster pulls its image with, where the cluster does so itself: when it starts something, and again whenever
 * it moves an instance to another node.
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
  const credentials = await credentialsOf(parts.hooks, { registryId, serviceName: name });
  return credentials === null ? workload : { ...workload, registry: { host: registryHost(workload.image), credentials } };
}

/** Under which credentials for an image are looked for: its registry, or Docker Hub by the name that it has for that. Pure. */
export function registryHost(image: string): string {
  const [first = '', ...rest] = image.split('/');
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  return !isHost || first === 'docker.io' || first === 'index.docker.io' ? 'https://index.docker.io/v1/' : first;
}
