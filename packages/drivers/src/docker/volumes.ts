import { Readable } from 'node:stream';
import { chunksOf, SeveredResponse } from '@davit/base-node';
import type { EngineConnection } from './connection.ts';
import { DriverError } from '../errors.ts';
import { call, stream, unreachable, type EngineRequest } from './engine-api.ts';
import { label } from './labels.ts';
import type { Labels } from '../shared/labels.ts';
import { translated } from './refusals.ts';

/** A volume that belongs to a service of this installation. */
export interface StoredVolume {
  readonly name: string;
  readonly labels: Labels;
}

/**
 * Reads and writes the data of volumes, to move them to another engine. Docker only: Podman's archives (seen with 4.3)
 * assign all files to root, and cannot read the volumes of a container that does not run.
 */
export interface VolumeStore {
  /** Returns the volumes of this installation. Fails with ENGINE_UNREACHABLE. */
  list(installation: string, signal: AbortSignal): Promise<readonly StoredVolume[]>;
  /**
   * Returns the names of running containers that use the volume. Files that they write during a read may be read
   * incompletely.
   */
  users(name: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Reads the whole content of the volume as a tar archive, with owners and modes. */
  read(name: string, signal: AbortSignal): AsyncIterable<Buffer>;
  /** Creates the volume and writes the content into it. If the volume exists, the content is added to it. */
  write(volume: StoredVolume, content: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void>;
  /** Removes the volume with its content. Succeeds if the volume does not exist. */
  remove(name: string, signal: AbortSignal): Promise<void>;
}

const mount = '/volume';
/** An empty image. Its containers never run; they only mount a volume for the engine to read and write. */
const image = 'localhost/davit-volume-mover:1';

export function createVolumeStore(docker: EngineConnection): VolumeStore {
  return {
    list: async (installation, signal) => {
      const filters = JSON.stringify({ label: [`${label.installation}=${installation}`] });
      const request: EngineRequest = { method: 'GET', path: '/volumes', query: { filters }, signal };
      const { body } = await call<{ readonly Volumes: readonly { Name: string; Labels: Labels | null }[] | null }>(
        docker,
        request,
      );
      const isOurs = (labels: Labels | null): labels is Labels =>
        labels?.[label.installation] === installation && labels[label.object] === 'volume';
      return (body.Volumes ?? []).flatMap(({ Name, Labels }) => (isOurs(Labels) ? [{ name: Name, labels: Labels }] : []));
    },
    users: async (name, signal) => {
      const filters = JSON.stringify({ volume: [name], status: ['running', 'paused'] });
      const { body } = await call<
        readonly { readonly Names: readonly string[]; readonly Mounts?: readonly { Name?: string }[] }[]
      >(docker, { method: 'GET', path: '/containers/json', query: { filters }, signal });
      return body
        .filter(({ Mounts }) => Mounts === undefined || Mounts.some((one) => one.Name === name))
        .map(({ Names }) => (Names[0] ?? '').replace(/^\//, ''));
    },
    read: (name, signal) => readVolume(docker, name, signal),
    write: async ({ name, labels }, content, signal) => {
      await call(docker, {
        method: 'POST',
        path: '/volumes/create',
        body: { Name: name, Driver: 'local', Labels: labels },
        signal,
      });
      const id = await mover(docker, name, signal);
      try {
        const archive = Readable.from(content);
        const query = { path: '/' };
        await call(docker, { method: 'PUT', path: `/containers/${id}/archive`, query, archive, signal, timeoutMilliseconds: 0 });
      } catch (error) {
        throw translated(error, `The volume ${name} could not be filled`);
      } finally {
        await removeMover(docker, id, signal);
      }
    },
    remove: async (name, signal) => {
      await call(docker, { method: 'DELETE', path: `/volumes/${encodeURIComponent(name)}`, signal, accept: [404] });
    },
  };
}

async function* readVolume(docker: EngineConnection, name: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  const id = await mover(docker, name, signal);
  try {
    const query = { path: mount };
    const response = await stream(docker, { method: 'GET', path: `/containers/${id}/archive`, query, signal });
    yield* chunksOf(response);
  } catch (error) {
    if (error instanceof SeveredResponse) throw unreachable('disconnected while it read a volume', error);
    throw translated(error, `The volume ${name} could not be read`);
  } finally {
    await removeMover(docker, id, signal);
  }
}

/** Creates a container that is never started, with the volume mounted at `mount`. Returns its id. */
async function mover(docker: EngineConnection, name: string, signal: AbortSignal): Promise<string> {
  const there = await call(docker, { method: 'GET', path: `/images/${image}/json`, signal, accept: [404] });
  if (there.status === 404) await makeImage(docker, signal);
  const body = {
    Image: image,
    Cmd: ['/none'],
    NetworkDisabled: true,
    HostConfig: { Mounts: [{ Type: 'volume', Source: name, Target: mount }] },
  };
  const made = await call<{ readonly Id: string }>(docker, { method: 'POST', path: '/containers/create', body, signal });
  return made.body.Id;
}

async function makeImage(docker: EngineConnection, signal: AbortSignal): Promise<void> {
  const [repo = '', tag = ''] = image.split(':');
  // Two zero blocks form an empty tar archive.
  const archive = Buffer.alloc(1024);
  const { body } = await call(docker, {
    method: 'POST',
    path: '/images/create',
    query: { fromSrc: '-', repo, tag },
    archive,
    signal,
  });
  const words = typeof body === 'string' ? body : JSON.stringify(body);
  if (/"error"/.test(words)) {
    throw new DriverError({ cause: 'ENGINE_FAILED', message: `The image for volumes could not be created: ${words}.` });
  }
}

async function removeMover(docker: EngineConnection, id: string, signal: AbortSignal): Promise<void> {
  await call(docker, { method: 'DELETE', path: `/containers/${id}`, query: { force: 'true' }, signal, accept: [404, 409] });
}
