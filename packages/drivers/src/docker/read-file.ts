import { text } from 'node:stream/consumers';
import type { EngineConnection } from './connection.ts';
import { extract } from 'tar-stream';
import { EngineRefusal, stream } from './engine-api.ts';
import { translated } from './refusals.ts';

/** See `ClusterDriver.readFile`. */
export async function readFile(
  docker: EngineConnection,
  container: string,
  { path, maxBytes }: { readonly path: string; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const response = await stream(docker, { method: 'GET', path: `/containers/${container}/archive`, query: { path }, signal });
    try {
      for await (const entry of response.pipe(extract())) {
        const { type, size } = entry.header;
        return type === 'file' && size <= maxBytes ? await text(entry) : null;
      }
      return null;
    } finally {
      response.destroy();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof EngineRefusal && error.status === 404) return null;
    throw translated(error, `${path} of the instance could not be read`);
  }
}
