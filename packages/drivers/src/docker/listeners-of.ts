import { readFile } from 'node:fs/promises';
import type Dockerode from 'dockerode';
import { runInside } from './exec.ts';
import type { Inspection } from './instances.ts';
import { parseListeners, type Listener } from '../shared/listening.ts';

/**
 * On what an instance listens, or null when it cannot be told. Read from `/proc/<pid>/net` where this process may (the engine
 * runs on this machine, Davit as root), otherwise with the image's own `cat`, where it has one.
 */
export async function listenersOf(
  docker: Dockerode,
  inspection: Inspection,
  isLocal: boolean,
  signal: AbortSignal,
): Promise<Listener[] | null> {
  const readHere = await listenersHere(inspection, isLocal);
  if (readHere !== null) return readHere;
  try {
    const { code, output } = await runInside(docker, inspection.Id, ['cat', '/proc/net/tcp', '/proc/net/tcp6'], signal);
    // 1 as well: a machine without IPv6 has no tcp6, and the other file was printed.
    return code === 0 || (code === 1 && output.includes('local_address')) ? ownListeners(output) : null;
  } catch {
    signal.throwIfAborted();
    // The instance ended meanwhile, or its image has no cat: not known.
    return null;
  }
}

/** The same as far as this process can read it without a call of the engine; null where it cannot, or when the instance has ended. */
export async function listenersHere({ State: { Pid: pid } }: Inspection, isLocal: boolean): Promise<Listener[] | null> {
  if (!isLocal || pid <= 0) return null;
  const texts = await Promise.all(['tcp', 'tcp6'].map((file) => readOrNull(`/proc/${pid}/net/${file}`)));
  return texts[0] === null ? null : ownListeners(texts.join('\n'));
}

// Docker's name server listens in the network of every instance, at this address.
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
