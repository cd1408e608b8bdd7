import { statfs } from 'node:fs/promises';
import type Dockerode from 'dockerode';
import type { CallContext } from '../driver.ts';
import type { DiskSpace, ImageStore, Release, StoredImage } from '../stored-images.ts';
import { call, type EngineAnswer } from './engine-api.ts';
import { label } from './labels.ts';
import { translated } from './refusals.ts';

export interface ImageStoreInput {
  readonly docker: Dockerode;
  readonly installation: string;
  /** Whether the engine's disk is one of this machine. */
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

/** The images of Docker Engine or Podman. */
export function createImageStore({ docker, installation, isLocal }: ImageStoreInput): ImageStore {
  return {
    list: async (signal) => {
      try {
        const { body } = await call<readonly Summary[]>(docker, { method: 'GET', path: '/images/json', signal });
        return body.map((summary) => toStored(summary, installation));
      } catch (error) {
        throw translated(error, 'The images of the engine could not be listed');
      }
    },
    space: (signal) => (isLocal ? readSpace(docker, signal) : Promise.resolve(null)),
    release: (image, context) => releaseImage(docker, image, context),
  };
}

// The dashes are how engines write that there is no name.
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

async function readSpace(docker: Dockerode, signal: AbortSignal): Promise<DiskSpace | null> {
  const { body } = await call<{ readonly DockerRootDir?: string }>(docker, { method: 'GET', path: '/info', signal });
  const folder = body.DockerRootDir;
  if (folder === undefined || folder === '') return null;
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return { folder, freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch {
    // An engine in a virtual machine of its own names a folder of that.
    return null;
  }
}

async function releaseImage(
  docker: Dockerode,
  { id, names }: { readonly id: string; readonly names: readonly string[] },
  { signal }: CallContext,
): Promise<Release> {
  const inspect = async (): Promise<readonly string[] | null> => {
    const answer = await call<Summary>(docker, { method: 'GET', path: `/images/${id}/json`, signal, accept: [404] });
    return answer.status === 404 ? null : [...(answer.body.RepoTags ?? []), ...(answer.body.RepoDigests ?? [])].filter(isName);
  };
  // 409: a container uses it.
  const remove = (name: string): Promise<EngineAnswer> =>
    call(docker, { method: 'DELETE', path: `/images/${name}`, signal, accept: [404, 409] });
  try {
    for (const name of (await inspect()) ?? []) if (names.includes(name)) await remove(name);
    const left = await inspect();
    if (left === null) return 'GONE';
    if (left.length > 0) return left.every((name) => names.includes(name)) ? 'IN_USE' : 'NAMED';
    await remove(id);
    return (await inspect()) === null ? 'GONE' : 'IN_USE';
  } catch (error) {
    throw translated(error, 'An image could not be removed');
  }
}
