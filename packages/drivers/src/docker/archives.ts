import type { Readable } from 'node:stream';
import type { EngineConnection } from './connection.ts';
import { DriverError } from '../errors.ts';
import { call, EngineRefusal, stream } from './engine-api.ts';
import { translated } from './refusals.ts';

/** See `ClusterDriver.takeOut`. */
export async function download(
  docker: EngineConnection,
  container: string,
  path: string,
  signal: AbortSignal,
): Promise<Readable> {
  try {
    return await stream(docker, { method: 'GET', path: `/containers/${container}/archive`, query: { path }, signal });
  } catch (error) {
    signal.throwIfAborted();
    throw missing(error, path) ?? translated(error, `${path} of the instance could not be read`);
  }
}

/** See `ClusterDriver.putInto`. */
export async function upload(
  docker: EngineConnection,
  container: string,
  { folder, archive }: { readonly folder: string; readonly archive: Readable },
  signal: AbortSignal,
): Promise<void> {
  const path = `/containers/${container}/archive`;
  try {
    // The call has no timeout of its own, because an archive may take long. The caller's deadline ends a stalled
    // transfer.
    await call(docker, { method: 'PUT', path, query: { path: folder }, archive, signal, timeoutMilliseconds: 0 });
  } catch (error) {
    signal.throwIfAborted();
    throw missing(error, folder) ?? translated(error, `${folder} of the instance could not be written`);
  } finally {
    archive.destroy();
  }
}

function missing(error: unknown, path: string): DriverError | null {
  if (!(error instanceof EngineRefusal && error.status === 404)) return null;
  return new DriverError({
    cause: 'ENGINE_FAILED',
    message: `The instance or its ${path} does not exist: ${error.words}.`,
    error,
  });
}
