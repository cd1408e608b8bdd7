import { constants } from 'node:fs';
import { access, chmod, mkdtemp, readdir, readFile, rm, statfs, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startEmbedded, type EmbeddedDatabase } from '@davit/db';

/** Name of the variable with the address of this run's PostgreSQL: a database whose user may create others. */
export const testDatabaseVariable = 'DAVIT_TEST_DATABASE';

const prefix = 'davit-test-';
const runnerFile = 'runner.pid';
const removerFile = 'remover.pid';

/**
 * Starts one embedded PostgreSQL for the test run in a separate folder, and removes both at the end. If
 * `DAVIT_TEST_DATABASE_SERVER` is set, that server is used instead. vitest calls this function once per project that
 * names it. The workers inherit the environment.
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
  // If the tests run as root, PostgreSQL runs as nobody and must be able to traverse this folder.
  await chmod(folder, 0o711);
  await writeFile(path.join(folder, runnerFile), String(process.pid));
  const server = await startTestServer(folder);
  process.env[testDatabaseVariable] = server.connectionString;
  return async () => {
    await removeServer(server, folder);
  };
}

/** Folder that Linux keeps in memory. Copying the template there takes a sixth of the time. */
const inMemory = '/dev/shm';
const neededBytes = 4 * 1024 ** 3;

/** Returns the parent of the server's folder: in memory if there is enough space. */
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

// Losing the last seconds of a test's data after a power failure is harmless. All other settings are as in production.
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

// A killed run could not clean up after itself.
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
      // The run was killed before the folder was complete, or another run is removing the folder right now. A server
      // whose files are gone ends by itself.
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/** Returns whether this run is the one that removes the folder: concurrent runs find the same leftovers. */
async function claim(folder: string): Promise<boolean> {
  const file = path.join(folder, removerFile);
  try {
    await writeFile(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    const remover = Number(await readFile(file, 'utf8').catch(() => ''));
    if (!(remover > 0) || isAlive(remover)) return false;
    // The claiming run was killed too. The run that deletes its file may retry.
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
