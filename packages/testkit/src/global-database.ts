import { constants } from 'node:fs';
import { access, chmod, mkdtemp, readdir, readFile, rm, statfs, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startEmbedded, type EmbeddedDatabase } from '@davit/db';

/** Where tests find the PostgreSQL of this run: the address of a database whose user may create others. */
export const testDatabaseVariable = 'DAVIT_TEST_DATABASE';

const prefix = 'davit-test-';
const runnerFile = 'runner.pid';
const removerFile = 'remover.pid';

/**
 * Starts one embedded PostgreSQL for the test run, in a folder of its own, and removes both at the end. With
 * `DAVIT_TEST_DATABASE_SERVER` that server is used instead. vitest calls this once per project that names it; the workers
 * inherit the environment.
 */
export default async function setup(): Promise<() => Promise<void>> {
  if (process.env[testDatabaseVariable] !== undefined) return nothingToStop;
  const existing = process.env['DAVIT_TEST_DATABASE_SERVER'];
  if (existing !== undefined) {
    process.env[testDatabaseVariable] = existing;
    return nothingToStop;
  }
  await removeLeftovers();
  const folder = await mkdtemp(path.join(await parentFolder(), prefix));
  // PostgreSQL runs as nobody when the tests run as root, and must be able to walk here.
  await chmod(folder, 0o711);
  await writeFile(path.join(folder, runnerFile), String(process.pid));
  const server = await startTestServer(folder);
  process.env[testDatabaseVariable] = server.connectionString;
  return async () => {
    await removeServer(server, folder);
  };
}

/** Linux keeps this folder in memory, where copying the template takes a sixth of the time. */
const inMemory = '/dev/shm';
const neededBytes = 4 * 1024 ** 3;

/** The folder for the server's own: in memory where there is room. */
async function parentFolder(): Promise<string> {
  try {
    const { bavail, bsize } = await statfs(inMemory);
    await access(inMemory, constants.W_OK);
    return bavail * bsize >= neededBytes ? inMemory : tmpdir();
  } catch {
    return tmpdir();
  }
}

async function nothingToStop(): Promise<void> {}

// Losing the last seconds of a test's data after a power cut is no loss; everything else is as in operation.
function startTestServer(folder: string): Promise<EmbeddedDatabase> {
  return startEmbedded({
    stateFolder: folder,
    settings: {
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
      wal_level: 'minimal',
      max_wal_senders: '0',
      max_connections: '300',
    },
  });
}

async function removeServer(server: EmbeddedDatabase, folder: string): Promise<void> {
  await server.stop();
  await rm(server.folder, { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
}

// A run that was killed could not clean up behind itself.
async function removeLeftovers(): Promise<void> {
  const parent = await parentFolder();
  for (const name of await readdir(parent)) {
    if (!name.startsWith(prefix)) continue;
    const folder = path.join(parent, name);
    const runner = Number(await readFile(path.join(folder, runnerFile), 'utf8').catch(() => ''));
    if (!(runner > 0) || isAlive(runner) || !(await claim(folder))) continue;
    try {
      await removeServer(await startTestServer(folder), folder);
    } catch {
      // Killed before it was made whole, or another run removes it just now. A server whose files are gone ends by itself.
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/** Whether this run is the one that removes the folder: runs that begin side by side find the same leftovers. */
async function claim(folder: string): Promise<boolean> {
  const file = path.join(folder, removerFile);
  try {
    await writeFile(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    const remover = Number(await readFile(file, 'utf8').catch(() => ''));
    if (!(remover > 0) || isAlive(remover)) return false;
    // It was killed too. Whoever takes the file away may try.
    return unlink(file).then(
      () => claim(folder),
      () => false,
    );
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
