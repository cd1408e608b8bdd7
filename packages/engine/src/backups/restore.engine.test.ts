import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@davit/testkit/site';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { BackupSubject } from '../model.ts';
import { eventually } from '../testing/test-engine.ts';
import { toolFiles, type BackupScript } from './tools.ts';

/*
 * Tests what a killed restore leaves. Like a node or an engine, the tests kill all of its processes, without time for
 * cleaning up. Except for the paths of their files, the scripts run unchanged, against servers of this machine (Debian:
 * postgresql-15, redis-server).
 */

const run = promisify(execFile);
const postgresFolder = '/usr/lib/postgresql/15/bin';
const password = 'sesame';
/** PostgreSQL refuses to run as root. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const root = mkdtempSync(path.join(tmpdir(), 'davit-restore-'));
chmodSync(root, 0o755);
const environment = { ...process.env, PATH: `${postgresFolder}:${process.env['PATH'] ?? ''}` };
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Ended {
  /** null if the script was killed. */
  readonly code: number | null;
  readonly output: string;
}

/** Kills the remaining processes of a group. Returns whether the group is gone. */
function isGone(group: number): boolean {
  try {
    process.kill(-group, 'SIGKILL');
    return false;
  } catch {
    return true;
  }
}

/** A folder that looks like a bench to the scripts. */
class TestBench {
  readonly folder = mkdtempSync(path.join(root, 'bench-'));
  readonly #type: BackupSubject['type'];
  readonly #variables: Readonly<Record<string, string>>;
  /** Replacements in the text of the scripts. */
  readonly #changes: readonly (readonly [string, string])[];

  constructor(
    type: BackupSubject['type'],
    variables: Readonly<Record<string, string>>,
    changes: readonly (readonly [string, string])[] = [],
  ) {
    this.#type = type;
    this.#variables = variables;
    this.#changes = changes;
  }

  get backup(): string {
    return path.join(this.folder, 'davit/out/backup');
  }

  /**
   * Starts a script in a process group of its own. `killedAt`: the whole group is killed before the tool call with this
   * number.
   */
  begin(script: BackupScript, { backup, killedAt = 0 }: { readonly backup?: string; readonly killedAt?: number } = {}) {
    rmSync(this.folder, { recursive: true, force: true });
    for (const name of ['davit/out', 'tmp', 'bin']) mkdirSync(path.join(this.folder, name), { recursive: true });
    for (const { path: name, content } of toolFiles(this.#type)) {
      let text = content.reveal().replaceAll(/\/(?:davit|tmp)\//g, (found) => this.folder + found);
      for (const [from, to] of this.#changes) text = text.replaceAll(from, to);
      writeFileSync(path.join(this.folder, name), text);
    }
    writeFileSync(path.join(this.folder, 'calls'), '0');
    for (const name of ['psql', 'pg_restore', 'redis-cli', 'redis-server']) {
      const file = path.join(this.folder, 'bin', name);
      writeFileSync(
        file,
        `#!/bin/sh
         call=$(($(cat ${this.folder}/calls) + 1))
         echo $call > ${this.folder}/calls
         [ $call != ${killedAt} ] || kill -9 0
         PATH=\${PATH#*:}
         exec ${name} "$@"`,
      );
      chmodSync(file, 0o755);
    }
    if (backup !== undefined) {
      cpSync(backup, this.backup, { recursive: true });
      writeFileSync(path.join(this.folder, 'davit/out/given'), '');
    }
    const env = { ...environment, PATH: `${this.folder}/bin:${environment.PATH}`, ...this.#variables };
    const shell = spawn('sh', [path.join(this.folder, 'davit', `${script}.sh`)], { env, detached: true });
    let output = '';
    for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()));
    const pid = shell.pid ?? 0;
    const done = new Promise<number | null>((resolve) => void shell.once('close', resolve)).then(async (code): Promise<Ended> => {
      // The other processes of a container end with its first process.
      await eventually(() => Promise.resolve(isGone(pid) || undefined), 'the end of all of the bench');
      return { code, output };
    });
    return { done, pid, kill: () => process.kill(-pid, 'SIGKILL') };
  }

  run(...input: Parameters<TestBench['begin']>): Promise<Ended> {
    return this.begin(...input).done;
  }

  /** Creates a backup and keeps it in a folder. */
  async backUp(folder: string): Promise<void> {
    const { code, output } = await this.run('dump');
    if (code !== 0) throw new Error(output);
    cpSync(this.backup, folder, { recursive: true });
  }
}

async function stopped(server: ChildProcess, signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
  if (server.exitCode !== null) return;
  const end = new Promise((resolve) => void server.once('exit', resolve));
  server.kill(signal);
  await end;
}

describe('a restore of PostgreSQL', () => {
  let server: ChildProcess;
  let port: number;
  let tool: TestBench;
  /** Folder of the backup in which all rows contain `backup`. */
  const backup = path.join(root, 'backup-of-postgresql');

  beforeAll(async () => {
    const folder = mkdtempSync(path.join(root, 'postgresql-'));
    if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
    const data = path.join(folder, 'data');
    const options = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
    await run(path.join(postgresFolder, 'initdb'), ['-D', data, ...options], { ...user, cwd: folder });
    port = await freePort();
    const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`, 'fsync=off'];
    const flags = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
    server = spawn(path.join(postgresFolder, 'postgres'), flags, { ...user, cwd: folder, stdio: 'ignore' });
    await eventually(async () => (await sql('select 1', 'template1').catch(() => '')) || undefined, 'the server');
    const variables = { DAVIT_LOGIN: 'postgres', DAVIT_PASSWORD: password, DAVIT_DATABASE: 'postgres' };
    tool = new TestBench('POSTGRESQL', { ...variables, DAVIT_HOST: '127.0.0.1', DAVIT_PORT: String(port) });
    await sql('create role reader');
    await sql('create database "other db"');
    await sql(`alter database "other db" set work_mem = '7MB'`);
    await sql('grant temporary on database "other db" to reader');
    for (const name of ['postgres', 'other db'])
      await sql(`create table state (word text); insert into state values ('backup')`, name);
    await tool.backUp(backup);
  });
  afterAll(() => stopped(server, 'SIGINT'));

  async function sql(statement: string, database = 'postgres'): Promise<string> {
    const location = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres', '-d', database];
    const options = { env: { ...environment, PGCONNECT_TIMEOUT: '20' } };
    return (await run('psql', ['-XAtq', '-v', 'ON_ERROR_STOP=1', ...location, '-c', statement], options)).stdout.trim();
  }
  const lines = async (statement: string): Promise<string[]> => (await sql(statement, 'template1')).split('\n').filter(Boolean);

  /** Returns the content of the rows by database, as clients see it. The databases of restores are left out. */
  async function content(): Promise<Record<string, string>> {
    const names = await lines(`select datname from pg_database where not datistemplate and datname !~ '^davit_' order by 1`);
    return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await sql('select * from state', name)])));
  }
  const before = { 'other db': 'now', postgres: 'now', unwanted: 'now' };
  const after = { 'other db': 'backup', postgres: 'backup' };
  const own = (): Promise<string[]> => lines(`select datname from pg_database where datname ~ '^davit_'`);
  /** Returns the properties of "other db" that the backup has. */
  const properties = (): Promise<string> =>
    sql(`select s.setconfig, has_database_privilege('reader', d.oid, 'temporary') from pg_database d
           left join pg_db_role_setting s on s.setdatabase = d.oid where datname = 'other db'`);

  beforeEach(async () => {
    const names = await lines(`select datname from pg_database where not datistemplate`);
    for (const name of names) await sql(`alter database "${name}" allow_connections true`, 'template1');
    for (const name of names.filter((one) => one.startsWith('davit_'))) await sql(`drop database "${name}"`, 'template1');
    await fill();
  });

  /** Fills the server with the content `before`. */
  async function fill(): Promise<void> {
    const names = await lines('select datname from pg_database');
    if (!names.includes('unwanted')) {
      await sql('create database unwanted');
      await sql('create table state (word text); insert into state values (null)', 'unwanted');
    }
    for (const name of Object.keys(before)) await sql(`update state set word = 'now'`, name);
    await sql('alter database "other db" reset all');
    await sql('revoke all on database "other db" from public, reader');
  }

  /** Returns the result and the content after an undisturbed restore. */
  async function restored() {
    const ended = await tool.run('restore', { backup });
    return { ...ended, content: await content(), properties: await properties(), own: await own() };
  }
  const asTheBackup = { code: 0, output: '', content: after, properties: '{work_mem=7MB}|t', own: [] };

  interface Killed {
    readonly found: Record<string, string>;
    readonly released: Ended;
  }

  /**
   * Kills a restore before its first tool call, releases, kills a restore before its second call, and so on, until one
   * completes.
   */
  async function killedEverywhere(): Promise<{ readonly killed: readonly Killed[]; readonly last: Ended }> {
    const killed: Killed[] = [];
    for (;;) {
      await fill();
      const last = await tool.run('restore', { backup, killedAt: killed.length + 1 });
      if (last.code !== null) return { killed, last };
      const found = { ...(await content()), properties: await properties() };
      const released = await tool.run('release');
      const left = { ...(await content()), properties: await properties() };
      killed.push({ found: { ...found, left: JSON.stringify([left, await own()]) }, released });
      for (const name of Object.keys(await content()))
        await sql('insert into state values ($$1$$); delete from state where word = $$1$$', name);
    }
  }

  test('that is killed at whatever moment leaves all that there was or all of the backup, and the release nothing else', async () => {
    const { killed, last } = await killedEverywhere();
    expect(last).toEqual({ code: 0, output: '' });
    const asBefore = { ...before, properties: '|f' };
    const asAfter = { ...after, properties: '{work_mem=7MB}|t' };
    const all = [asBefore, asAfter].map((found) => ({ ...found, left: JSON.stringify([found, []]) }));
    for (const { found, released } of killed) {
      expect(all).toContainEqual(found);
      expect(released.code).toBe(0);
    }
    const words = killed.map(({ found }) => found.postgres);
    expect(words.length).toBeGreaterThan(15);
    expect(new Set(words)).toEqual(new Set(['now', 'backup']));
    expect(killed[words.indexOf('backup')]?.released.output).toContain('all of the backup in place');
    expect(await content()).toEqual(after);
  }, 600_000);

  test('that is killed and done again, with no release, succeeds', async () => {
    for (let killedAt = 6; killedAt < 30; killedAt += 6) await tool.run('restore', { backup, killedAt });
    expect(await restored()).toEqual(asTheBackup);
  }, 300_000);

  test('that is killed while names change has changed none, and whoever comes next waits for nothing', async () => {
    // Holds a database, so that it cannot be renamed. The databases before it are renamed, unless the restore is
    // killed.
    const holder = new Client({ host: '127.0.0.1', port, user: 'postgres', database: 'template1' });
    await holder.connect();
    onTestFinished(() => holder.end());
    await holder.query('begin');
    await holder.query(`comment on database unwanted is 'held'`);
    const { done, kill } = tool.begin('restore', { backup });
    const waiting = `select 1 from pg_stat_activity where application_name = 'davit restore' and wait_event_type = 'Lock'`;
    await eventually(async () => (await lines(waiting))[0], 'a restore that changes names');
    kill();
    expect((await done).code).toBeNull();
    expect(await lines(waiting)).toEqual(['1']);
    expect(await tool.run('release')).toEqual({ code: 0, output: '' });
    expect(await content()).toEqual(before);
    await holder.query('rollback');
    expect(await restored()).toEqual(asTheBackup);
  });

  test('succeeds although others come again and again while names change', async () => {
    const stop = new AbortController();
    const visit = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        const client = new Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' });
        client.on('error', () => undefined);
        // The clients are disconnected, and connect again.
        await client
          .connect()
          .then(() => client.query('select pg_sleep(0.5)'))
          .catch(() => undefined);
        await client.end().catch(() => undefined);
      }
    };
    const visits = Array.from({ length: 10 }, visit);
    onTestFinished(async () => {
      stop.abort();
      await Promise.all(visits);
    });
    expect(await restored()).toEqual(asTheBackup);
  });

  describe('by a version that closed databases, killed before it opened them,', () => {
    beforeEach(async () => {
      await sql('create database davit_restore_1');
      for (const name of Object.keys(before)) await sql(`alter database "${name}" allow_connections false`, 'template1');
    });

    test('leaves what the release opens', async () => {
      await expect(sql('select 1')).rejects.toThrow('not currently accepting connections');
      expect(await tool.run('release')).toEqual({ code: 0, output: '' });
      expect(await content()).toEqual(before);
      expect(await own()).toEqual([]);
    });

    test('leaves what the next restore opens', async () => {
      expect(await restored()).toEqual(asTheBackup);
    });

    test('leaves what the next backup opens', async () => {
      expect(await tool.run('dump')).toEqual({ code: 0, output: '' });
      expect(await content()).toEqual(before);
    });
  });

  test('leaves what its owner closed as it is', async () => {
    await sql('alter database unwanted allow_connections false');
    await tool.run('release');
    expect(await lines('select datname from pg_database where not datallowconn and not datistemplate')).toEqual(['unwanted']);
  });
});

describe('a restore of Redis', () => {
  let server: ChildProcess;
  let port: number;
  let tool: TestBench;
  const backup = path.join(root, 'backup-of-redis');
  // A host name for this machine would require changing the machine. The script must also not wait for other replicas
  // to connect.
  const changes = [
    [String.raw`bench-[0-9a-f]\{8\}`, '127.0.0.1'],
    [`--save ''`, `--save '' --repl-diskless-sync-delay 0`],
  ] as const;
  const variables = (host: string) => ({
    DAVIT_HOST: '127.0.0.1',
    DAVIT_PORT: String(port),
    DAVIT_PASSWORD: password,
    DAVIT_BENCH_HOST: host,
  });

  beforeAll(async () => {
    port = await freePort();
    const flags = ['--port', String(port), '--requirepass', password, '--save', '', '--dir', root, '--bind', '127.0.0.1'];
    server = spawn('redis-server', flags, { stdio: 'ignore' });
    await eventually(async () => (await redis('ping').catch(() => '')) === 'PONG' || undefined, 'the server');
    tool = new TestBench('REDIS', variables('127.0.0.1'), changes);
    await redis('set', 'state', 'backup');
    await tool.backUp(backup);
  });
  afterAll(() => stopped(server, 'SIGKILL'));

  async function redis(...command: readonly string[]): Promise<string> {
    const env = { ...environment, REDISCLI_AUTH: password };
    return (await run('redis-cli', ['--no-auth-warning', '-p', String(port), ...command], { env })).stdout.trim();
  }
  const role = async (): Promise<string> => (await redis('role')).split('\n')[0] ?? '';

  beforeEach(async () => {
    await redis('replicaof', 'no', 'one');
    await redis('config', 'set', 'masterauth', '');
    await redis('set', 'state', 'now');
  });

  /** Returns the state of the database that its users can observe. */
  async function state() {
    const [, masterauth = ''] = (await redis('config', 'get', 'masterauth')).split('\n');
    const answer = await redis('set', 'after', '1');
    await redis('del', 'after');
    return { role: await role(), masterauth, answer, word: await redis('get', 'state') };
  }
  const writable = (word: string) => ({ role: 'master', masterauth: '', answer: 'OK', word });

  test('that is killed at whatever moment leaves all that there was or all of the backup, and after the release it is written to', async () => {
    const roles = new Set<string>();
    const states: Awaited<ReturnType<typeof state>>[] = [];
    let ended: Ended = { code: null, output: '' };
    for (let killedAt = 1; ended.code === null; killedAt += 1) {
      ended = await tool.run('restore', { backup, killedAt });
      roles.add(await role());
      if (ended.code === null) await tool.run('release');
      states.push(await state());
      if (ended.code === null) await redis('set', 'state', 'now');
    }
    for (const found of states) expect([writable('now'), writable('backup')]).toContainEqual(found);
    expect(roles).toEqual(new Set(['master', 'slave']));
    expect(ended).toEqual({ code: 0, output: '' });
    expect(states.at(-1)).toEqual(writable('backup'));
  }, 600_000);

  test('that is killed and done again, with no release, succeeds', async () => {
    await redis('replicaof', '127.0.0.1', '6399');
    await redis('config', 'set', 'masterauth', password);
    expect(await tool.run('restore', { backup })).toEqual({ code: 0, output: '' });
    expect(await state()).toEqual(writable('backup'));
  });

  describe('whose bench is gone', () => {
    const gone = (): TestBench => new TestBench('REDIS', variables('bench-0a1b2c3d'));

    test('leaves a database that the release makes one that is written to', async () => {
      const { done, kill } = gone().begin('restore', { backup });
      await eventually(async () => (await role()) === 'slave' || undefined, 'a replica');
      kill();
      expect((await done).code).toBeNull();
      await expect(redis('-e', 'set', 'after', '1')).rejects.toThrow('READONLY');
      const { code, output } = await gone().run('release');
      expect({ code, output: output }).toEqual({ code: 0, output: expect.stringContaining('on its own again') });
      expect(await state()).toEqual(writable('now'));
      expect(await tool.run('restore', { backup })).toEqual({ code: 0, output: '' });
      expect(await state()).toEqual(writable('backup'));
    });

    test('leaves a database that the next backup makes one that is written to', async () => {
      await redis('replicaof', 'bench-0a1b2c3d', '6399');
      expect((await gone().run('dump')).code).toBe(0);
      expect(await state()).toEqual(writable('now'));
    });

    test('and that is told to end takes back what it began', async () => {
      const { done, pid } = gone().begin('restore', { backup });
      await eventually(async () => (await role()) === 'slave' || undefined, 'a replica');
      // Only the first process gets the signal, as from an engine.
      process.kill(pid, 'SIGTERM');
      expect((await done).code).toBe(143);
      expect(await state()).toEqual(writable('now'));
    });
  });

  test('leaves a replica of another server what it is', async () => {
    await redis('replicaof', 'primary.example', '6379');
    await redis('config', 'set', 'masterauth', 'another');
    const release = new TestBench('REDIS', variables('bench-0a1b2c3d'));
    expect(await release.run('release')).toEqual({ code: 0, output: '' });
    expect(await role()).toBe('slave');
    expect(await redis('config', 'get', 'masterauth')).toBe('masterauth\nanother');
  });
});

test('the scripts of all types end when they are told to', () => {
  for (const type of ['POSTGRESQL', 'REDIS', 'MYSQL', 'MONGODB'] as const) {
    const common = toolFiles(type).find((file) => file.path.endsWith('/common.sh'));
    expect(common?.content.reveal()).toContain(`trap 'exit 143' TERM`);
  }
});
