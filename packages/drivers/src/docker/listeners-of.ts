import { readFile } from 'node:fs/promises';
import type { EngineConnection } from './connection.ts';
import { runInside } from './exec.ts';
import type { Inspection } from './instances.ts';
import { parseListeners, type Listener } from '../shared/listening.ts';

/**
 * Returns the sockets on which an instance listens, or null if they cannot be determined. They are read from
 * `/proc/<pid>/net` if this process may (the engine runs on this machine and Davit runs as root), otherwise with the
 * image's own `cat`, if it has one.
 */
export async function listenersOf(
  docker: EngineConnection,
  inspection: Inspection,
  isLocal: boolean,
  signal: AbortSignal,
): Promise<Listener[] | null> {
  const readHere = await listenersHere(inspection, isLocal);
  if (readHere !== null) return readHere;
  try {
    const { code, output } = await runInside(docker, inspection.Id, ['cat', '/proc/net/tcp', '/proc/net/tcp6'], signal);
    // Exit code 1 is accepted too: a machine without IPv6 has no tcp6, but the other file was printed.
    return code === 0 || (code === 1 && output.includes('local_address')) ? ownListeners(output) : null;
  } catch {
    signal.throwIfAborted();
    // The instance has exited meanwhile, or its image has no `cat`.
    return null;
  }
}

/**
 * Returns the sockets on which an instance listens, without calling the engine. Returns null if this process cannot
 * read them, or if the instance has exited.
 */
export async function listenersHere({ State: { Pid: pid } }: Inspection, isLocal: boolean): Promise<Listener[] | null> {
  if (!isLocal || pid <= 0) return null;
  const texts = await Promise.all(['tcp', 'tcp6'].map((file) => readOrNull(`/proc/${pid}/net/${file}`)));
  return texts[0] === null ? null : ownListeners(texts.join('\n'));
}

// Docker's DNS server listens at this address in the network namespace of every instance.
function ownListeners(text: string): Listener[] {
  return parseListeners(text).filter(({ address }) => address !== '127.0.0.11');
}

async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return null;
  }
}
