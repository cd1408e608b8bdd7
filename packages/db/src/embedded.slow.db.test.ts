import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { isAlive, readPidFile } from './embedded-process.ts';
import { openDatabase, startEmbedded, statement, type Database, type EmbeddedDatabase } from './index.ts';

const isRoot = process.getuid?.() === 0;
const create = statement('test_embedded_create', `create table kept (word text)`);
const insert = statement('test_embedded_insert', `insert into kept values ('still here')`);
const select = statement<{ word: string }>('test_embedded_select', `select word from kept`);
const settings = statement<{ name: string; setting: string }>(
  'test_embedded_settings',
  `select name, setting from pg_settings where name in ('fsync', 'jit', 'listen_addresses', 'data_checksums', 'server_encoding', 'TimeZone')`,
);

// Root in a container is often not allowed to do this.
function canMount(): boolean {
  const probe = mkdtempSync(path.join(tmpdir(), 'davit-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', probe], { stdio: 'ignore' });
    execFileSync('umount', [probe]);
    return true;
  } catch {
    return false;
  } finally {
    rmdirSync(probe);
  }
}

let stateFolder: string;
let started: EmbeddedDatabase[];
beforeEach(async () => {
  stateFolder = await mkdtemp(path.join(tmpdir(), 'davit-embedded-'));
  await chmod(stateFolder, 0o711);
  started = [];
});
afterEach(async () => {
  for (const server of started) await server.stop();
  for (const server of started) await rm(server.folder, { recursive: true, force: true });
  await rm(stateFolder, { recursive: true, force: true });
});

async function start(folder = stateFolder): Promise<EmbeddedDatabase> {
  const server = await startEmbedded({ stateFolder: folder });
  started.push(server);
  return server;
}

async function using<Result>(server: EmbeddedDatabase, action: (database: Database) => Promise<Result>): Promise<Result> {
  const { connectionString } = server;
  const database = openDatabase({ connectionString, applicationName: 'test', maximumConnections: 2 });
  try {
    return await action(database);
  } finally {
    await database.close();
  }
}

const dataOf = (server: EmbeddedDatabase): string => path.join(server.folder, 'cluster', 'data');

async function postmaster(server: EmbeddedDatabase): Promise<number> {
  return (await readPidFile(dataOf(server)))?.pid ?? 0;
}

async function startAndFill(): Promise<EmbeddedDatabase> {
  const server = await start();
  await using(server, async (database) => {
    await database.run(create);
    await database.run(insert);
  });
  return server;
}

const isKept = (server: EmbeddedDatabase): Promise<boolean> =>
  using(server, async (database) => (await database.one(select)).word === 'still here');

test('it is durable, listens on a socket only that its owner can open, and keeps its data over a stop', async () => {
  const server = await startAndFill();
  expect(server.adopted).toBe(false);
  const found = await using(server, (database) => database.many(settings));
  expect(Object.fromEntries(found.map(({ name, setting }) => [name, setting]))).toEqual({
    fsync: 'on',
    jit: 'off',
    listen_addresses: '',
    data_checksums: 'on',
    server_encoding: 'UTF8',
    TimeZone: 'UTC',
  });
  expect(execFileSync('stat', ['-c', '%a', path.join(server.folder, 'socket')], { encoding: 'utf8' })).toBe('700\n');
  await server.stop();
  expect(await isKept(await start())).toBe(true);
});

test('one that runs already is adopted', async () => {
  const first = await startAndFill();
  const pid = await postmaster(first);
  const second = await start();
  expect(second.adopted).toBe(true);
  expect(await postmaster(second)).toBe(pid);
  expect(await isKept(second)).toBe(true);
});

test('it outlives a kill -9 of the process that started it', async () => {
  const script = path.join(stateFolder, 'starter.ts');
  const module = new URL('embedded.ts', import.meta.url).href;
  await writeFile(
    script,
    `import { startEmbedded } from '${module}';
     const { adopted } = await startEmbedded({ stateFolder: '${stateFolder}' });
     console.log('adopted', adopted);
     setInterval(() => undefined, 1000);`,
  );
  const starter = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  expect(await firstOutput(starter)).toBe('adopted false\n');
  const gone = new Promise((resolve) => starter.once('exit', resolve));
  starter.kill('SIGKILL');
  await gone;
  expect((await start()).adopted).toBe(true);
});

test('after a kill -9 of the server itself it recovers with all that was committed', async () => {
  const server = await startAndFill();
  process.kill(await postmaster(server), 'SIGKILL');
  expect(await isKept(await start())).toBe(true);
});

test('while it is watched it comes back by itself after a kill -9, until it is stopped', async () => {
  const server = await startAndFill();
  const reported: string[] = [];
  server.keepRunning((message) => reported.push(message));
  const pid = await postmaster(server);
  process.kill(pid, 'SIGKILL');
  await vi.waitFor(() => expect(reported.at(-1)).toBe('the embedded database runs again'), { timeout: 20_000 });
  expect(await postmaster(server)).not.toBe(pid);
  expect(await isKept(server)).toBe(true);
  const second = await postmaster(server);
  await server.stop();
  await vi.waitFor(() => expect(isAlive(second)).toBe(false), { timeout: 10_000 });
  expect(reported).toHaveLength(2);
});

test('a lock file whose process id belongs to another program now is no obstacle', async () => {
  const server = await startAndFill();
  const pid = await postmaster(server);
  const lockFile = path.join(dataOf(server), 'postmaster.pid');
  const kept = await readFile(lockFile, 'utf8');
  await server.stop();
  // The process must belong to the user that PostgreSQL runs as: only then does PostgreSQL mistake its process id for a
  // running server.
  const user = isRoot ? { uid: 65_534, gid: 65_534 } : {};
  const other = spawn('sleep', ['60'], { ...user, cwd: '/', stdio: 'ignore' });
  await writeFile(lockFile, kept.replace(String(pid), String(other.pid)));
  expect(await isKept(await start())).toBe(true);
  expect(other.exitCode).toBeNull();
  other.kill();
});

test('a lock file whose process is gone is no obstacle', async () => {
  const server = await startAndFill();
  const lockFile = path.join(dataOf(server), 'postmaster.pid');
  const kept = await readFile(lockFile, 'utf8');
  await server.stop();
  await writeFile(lockFile, kept);
  expect(await isKept(await start())).toBe(true);
});

test('several starts at once on an empty folder end with one server', async () => {
  const servers = await Promise.all([start(), start(), start()]);
  expect(servers.filter(({ adopted }) => !adopted)).toHaveLength(1);
  expect(new Set(servers.map(({ connectionString }) => connectionString)).size).toBe(1);
  await using(servers[0], (database) => database.run(create));
  await using(servers[2], (database) => database.run(insert));
  expect(await isKept(servers[1])).toBe(true);
});

test('stopping ends the process, and stopping again does nothing', async () => {
  const server = await start();
  const pid = await postmaster(server);
  await server.stop();
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 10_000 });
  await server.stop();
});

test('data of another major version is refused, with a way out', async () => {
  const server = await start();
  await server.stop();
  await writeFile(path.join(dataOf(server), 'PG_VERSION'), '17\n');
  await expect(start()).rejects.toMatchObject({
    code: 'EMBEDDED_DATABASE_VERSION',
    message: expect.stringMatching(/made by PostgreSQL 17.*includes PostgreSQL 18.*pg_upgrade/),
  });
});

test('a folder that is no data folder is refused and left alone', async () => {
  const server = await start();
  await server.stop();
  await rm(path.join(dataOf(server), 'PG_VERSION'));
  await expect(start()).rejects.toMatchObject({
    code: 'EMBEDDED_DATABASE_FAILED',
    message: expect.stringContaining('PG_VERSION is missing'),
  });
});

test('a broken setting is reported in the words of PostgreSQL', async () => {
  const server = await start();
  await server.stop();
  await writeFile(path.join(dataOf(server), 'operator.conf'), "shared_buffers = 'much'\n");
  await expect(start()).rejects.toMatchObject({
    code: 'EMBEDDED_DATABASE_FAILED',
    message: expect.stringContaining('invalid value for parameter "shared_buffers"'),
  });
});

test('a state folder with a long path works: the socket is elsewhere then', async () => {
  const long = path.join(stateFolder, 'd'.repeat(60), 'e'.repeat(60));
  await mkdir(long, { recursive: true });
  const server = await start(long);
  await using(server, (database) => database.run(create));
  await server.stop();
  expect((await start(long)).connectionString).toBe(server.connectionString);
  await rm(new URL(server.connectionString).searchParams.get('host') ?? '', { recursive: true, force: true });
});

test.runIf(isRoot)('as root, a state folder that nobody cannot walk to has its database in /var/lib/davit', async () => {
  const closed = path.join(stateFolder, 'closed');
  await mkdir(path.join(closed, 'state'), { recursive: true });
  await chmod(closed, 0o700);
  const server = await start(path.join(closed, 'state'));
  expect(server.folder).toMatch(/^\/var\/lib\/davit\//);
  await using(server, (database) => database.run(create));
  await server.stop();
  expect((await start(path.join(closed, 'state'))).folder).toBe(server.folder);
});

test.runIf(canMount())('a full disk is named, and after space was made the start succeeds', async () => {
  const small = path.join(stateFolder, 'small');
  await mkdir(small);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=40m,mode=711', 'tmpfs', small]);
  try {
    await expect(start(small)).rejects.toMatchObject({ code: 'DISK_FULL', message: expect.stringContaining(small) });
    // An incomplete copy of the binaries would break the next start.
    expect((await readdir(path.join(small, 'postgres'))).filter((name) => name.startsWith('binaries-'))).toHaveLength(0);
    execFileSync('mount', ['-o', 'remount,size=300m', small]);
    const server = await start(small);
    await server.stop();
  } finally {
    execFileSync('umount', [small]);
  }
});

function firstOutput(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString())));
}
