import { readdir, readFile, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import { Client, DatabaseError } from 'pg';

/** Content of `postmaster.pid`, which PostgreSQL writes to its data folder. */
export interface PidFile {
  readonly pid: number;
  readonly socketFolder: string;
  readonly port: number;
}

/** Reads `postmaster.pid`. Returns undefined if the file does not exist or is incomplete. */
export async function readPidFile(data: string): Promise<PidFile | undefined> {
  const lines = (await readFile(path.join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 1) return undefined;
  return { pid, port: Number(lines[3] ?? 0), socketFolder: lines[4] ?? '' };
}

/**
 * Returns whether this process belongs to the PostgreSQL server of this data folder. The process id alone does not
 * prove that: after a crash another program may have it. The working folder of a server and all its children is their
 * data folder.
 */
export async function worksIn(pid: number, data: string): Promise<boolean> {
  if (process.platform !== 'linux') return isAlive(pid);
  try {
    return (await readlink(`/proc/${pid}/cwd`)) === (await realpath(data));
  } catch {
    // The process has exited, or belongs to another user and therefore not to this server.
    return false;
  }
}

/** Returns whether any process works in the data folder. Children can outlive a killed server for a moment. */
export async function anyWorksIn(data: string): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 1);
  for (const pid of pids) if (await worksIn(pid, data)) return true;
  return false;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/**
 * Returns the address of a database of the server at this socket. Default: the database `postgres`, which always exists
 * and serves for queries about the server itself.
 */
export function serverAddress(socketFolder: string, database = 'postgres'): string {
  const query = new URLSearchParams({ host: socketFolder, port: '5432' });
  return `postgresql://davit@localhost/${database}?${query.toString()}`;
}

export type Answer = 'ready' | 'starting' | 'none';

/**
 * Checks the state of the server at this socket. A server that recovers from a crash or shuts down is also reported as
 * `starting`.
 */
export async function askServer(socketFolder: string): Promise<Answer> {
  const client = new Client({ connectionString: serverAddress(socketFolder), connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return 'ready';
  } catch (error) {
    return error instanceof DatabaseError && error.code === '57P03' ? 'starting' : 'none';
  } finally {
    await client.end();
  }
}
