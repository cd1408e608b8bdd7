import { statfs } from 'node:fs/promises';
import type { EngineConnection } from './connection.ts';
import type { CallContext } from '../driver.ts';
import type { DiskSpace, ImageStore, Release, StoredImage } from '../stored-images.ts';
import { call, type EngineAnswer } from './engine-api.ts';
import { label } from './labels.ts';
import { translated } from './refusals.ts';

export interface ImageStoreInput {
  readonly docker: EngineConnection;
  readonly installation: string;
  /** Whether the engine's disk is on this machine. */
  readonly isLocal: boolean;
}

interface Summary {
  readonly Id: string;
  readonly Created: number;
  readonly Size: number;
  readonly RepoTags?: readonly string[] | null;
  readonly RepoDigests?: readonly string[] | null;
  readonly Labels?: Readonly<Record<string, string>> | null;
}

/** Creates the image store of Docker Engine or Podman. */
export function createImageStore({ docker, installation, isLocal }: ImageStoreInput): ImageStore {
  // Requested once: /info costs Docker 20 ms and Podman 300 ms, and each build needs the space.
  let folder: string | null = null;
  return {
    list: async (signal) => {
      try {
        const { body } = await call<readonly Summary[]>(docker, { method: 'GET', path: '/images/json', signal });
        return body.map((summary) => toStored(summary, installation));
      } catch (error) {
        throw translated(error, 'The images of the engine could not be listed');
      }
    },
    space: async (signal) => {
      if (!isLocal) return null;
      folder ??= (await dataFolder(docker, signal)) ?? '';
      return spaceOf(folder);
    },
    pruneCache: (keepBytes, signal) => pruneCache(docker, keepBytes, signal),
    cacheBytes: (signal) => cacheBytes(docker, signal),
    release: (image, context) => releaseImage(docker, image, context),
  };
}

// Engines use `<none>` as the placeholder for a missing name.
function isName(name: string): boolean {
  return !name.includes('<none>');
}

function toStored(summary: Summary, installation: string): StoredImage {
  const { Id, Created, Size, RepoTags, RepoDigests, Labels } = summary;
  const isOurs = Labels?.[label.installation] === installation;
  return {
    id: Id.startsWith('sha256:') ? Id : `sha256:${Id}`,
    names: [...(RepoTags ?? []), ...(RepoDigests ?? [])].filter(isName),
    sizeBytes: Size,
    createdAt: new Date(Created * 1000).toISOString(),
    service: isOurs ? (Labels[label.service] ?? null) : null,
  };
}

async function dataFolder(docker: EngineConnection, signal: AbortSignal): Promise<string | undefined> {
  const { body } = await call<{ readonly DockerRootDir?: string }>(docker, { method: 'GET', path: '/info', signal });
  return body.DockerRootDir;
}

async function spaceOf(folder: string): Promise<DiskSpace | null> {
  if (folder === '') return null;
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return { folder, freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch {
    // An engine in a virtual machine reports a folder of that virtual machine.
    return null;
  }
}

interface CacheRecord {
  readonly Size: number;
  readonly Shared?: boolean;
}

// Podman lists no records. Its cache consists of images.
async function cacheBytes(docker: EngineConnection, signal: AbortSignal): Promise<number | null> {
  try {
    const request = { method: 'GET', path: '/system/df', signal, timeoutMilliseconds: 60_000 } as const;
    const { body } = await call<{ readonly BuildCache?: readonly CacheRecord[] | null }>(docker, request);
    const records = body.BuildCache ?? [];
    if (records.length === 0) return null;
    return records.filter(({ Shared }) => Shared !== true).reduce((sum, { Size }) => sum + Size, 0);
  } catch (error) {
    throw translated(error, 'The size of the build cache could not be read');
  }
}

// Podman answers 404. Its cache consists of images.
async function pruneCache(docker: EngineConnection, keepBytes: number, signal: AbortSignal): Promise<number> {
  try {
    const query = { 'keep-storage': String(keepBytes) };
    const request = { method: 'POST', path: '/build/prune', query, signal, accept: [404, 405] } as const;
    const { status, body } = await call<{ readonly SpaceReclaimed?: number }>(docker, request);
    return status === 200 ? (body.SpaceReclaimed ?? 0) : 0;
  } catch (error) {
    throw translated(error, 'The build cache of the engine could not be reduced');
  }
}

interface Names {
  readonly tags: readonly string[];
  readonly digests: readonly string[];
}

/** Returns the tags and digests of an image, or null if the image does not exist. */
async function namesOf(docker: EngineConnection, id: string, signal: AbortSignal): Promise<Names | null> {
  const { status, body } = await call<Summary>(docker, { method: 'GET', path: `/images/${id}/json`, signal, accept: [404] });
  if (status === 404) return null;
  return { tags: (body.RepoTags ?? []).filter(isName), digests: (body.RepoDigests ?? []).filter(isName) };
}

async function releaseImage(
  docker: EngineConnection,
  { id, names }: { readonly id: string; readonly names: readonly string[] },
  { signal }: CallContext,
): Promise<Release> {
  const isOurs = (name: string): boolean => names.includes(name);
  // 404: the image is already gone. 409: a container uses the image.
  const remove = (name: string): Promise<EngineAnswer> =>
    call(docker, { method: 'DELETE', path: `/images/${name}`, signal, accept: [404, 409] });
  try {
    const there = await namesOf(docker, id, signal);
    for (const tag of there?.tags.filter(isOurs) ?? []) await remove(tag);
    const left = await namesOf(docker, id, signal);
    if (left === null) return 'GONE';
    if (left.tags.some(isOurs)) return 'IN_USE';
    // Digests are removed only when no tag is left: for Podman, one digest stands for the image with all its names.
    if (left.tags.length > 0 || !left.digests.every(isOurs)) return 'NAMED';
    for (const name of [...left.digests, id]) await remove(name);
    return (await namesOf(docker, id, signal)) === null ? 'GONE' : 'IN_USE';
  } catch (error) {
    throw translated(error, 'An image could not be removed');
  }
}
