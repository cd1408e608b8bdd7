import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../packages/client/src/index.ts';
import { scratchFolder } from '../packages/drivers/src/source/testing.ts';
import { mariadbImage, postgresImage, redisImage } from '../packages/testkit/src/database-images.ts';
import { startTestEngine, testEngineKinds, testRegistryPort } from '../packages/testkit/src/engines.ts';
import { startTestRegistry, type TestRegistry } from '../packages/testkit/src/registry.ts';
import { buildCommandLine, openTerminal } from './cli/terminal.ts';
import { token } from './support/davit.ts';
import { eventually } from './support/eventually.ts';
import { TestSetup } from './support/setup.ts';

const own = new URL('../packages/server/data/databases.json', import.meta.url);

/**
 * SQL that creates every kind of content that a dump can lose, including Unicode, large objects and roles. The test
 * adds a second database.
 */
const filling = `
create role reader login password 'sesame';
create table visit (id serial primary key, at timestamptz default now(), who text not null, bytes bytea, data jsonb);
insert into visit (who, bytes, data) select 'visitor ü€🦊 ' || n, decode(md5(n::text), 'hex'), jsonb_build_object('n', n) from generate_series(1, 5000) n;
create index on visit (who);
create view recent as select * from visit where at > now() - interval '1 day';
create function twice(n int) returns int language sql as 'select n * 2';
grant select on visit to reader;
select lo_from_bytea(0, 'large');
create table "odd ""name" ("davit" int, "col umn" text);
insert into "odd ""name" values (1, null);
`;

describe.each(testEngineKinds())('backups of databases on %s', (kind) => {
  let setup: TestSetup;
  let registry: TestRegistry;
  let folder: ReturnType<typeof scratchFolder>;
  let store: string;
  let copy: string;
  let cache: string;
  let ledger: string;

  beforeAll(async () => {
    await startTestEngine(kind);
    registry = await startTestRegistry(await testRegistryPort(), { isOpen: true });
    await registry.pushImage('library/postgres', '15', await postgresImage());
    await registry.pushImage('library/redis', '7', await redisImage());
    await registry.pushImage('library/mysql', '8.0', await mariadbImage());
    folder = scratchFolder();
    const file = join(folder.path, 'databases.json');
    writeFileSync(file, readFileSync(own, 'utf8').replaceAll('docker.io/', `${registry.address}/`));
    setup = await TestSetup.open(kind, { DAVIT_ALLOW_HTTP_REGISTRIES: 'true', DAVIT_DATABASE_CATALOGUE: file });
    const { environmentId, davit } = setup;
    const versions = { POSTGRESQL: '15', REDIS: '7', MYSQL: '8.0' };
    const make = async (name: string, type: 'POSTGRESQL' | 'REDIS' | 'MYSQL', mode: 'MANAGED' | 'CONTAINER'): Promise<string> => {
      // A whole processor: with the default share, the tools of a backup mostly wait for their next slice.
      const body = { name, type, version: versions[type], mode, cpu: 1000 };
      return (await davit.client.call('createDatabase', { params: { environmentId }, body })).id;
    };
    store = await make('store', 'POSTGRESQL', 'MANAGED');
    copy = await make('copy', 'POSTGRESQL', 'CONTAINER');
    cache = await make('cache', 'REDIS', 'CONTAINER');
    ledger = await make('ledger', 'MYSQL', 'CONTAINER');
    const before = await newest();
    await davit.client.call('deployEnvironment', { params: { environmentId } });
    await setup.idleAfter(async () => (await newest()) !== before);
  });
  afterAll(async () => {
    await setup?.close();
    await registry?.close();
    folder?.remove();
  });

  /** Calls the API and retries while the server reports that it is overloaded, as on a busy machine. */
  const call: Client['call'] = async (id, ...input) => {
    const done = await eventually(
      async () => {
        try {
          return { answer: await setup.davit.client.call(id, ...input) };
        } catch (error) {
          if (error instanceof Error && 'status' in error && error.status === 503) return undefined;
          throw error;
        }
      },
      `an answer to ${id}`,
      60_000,
    );
    return done.answer;
  };

  const newest = async (): Promise<string | undefined> => {
    const { environmentId } = setup;
    const { results } = await call('listEnvironmentDeploymentHistoryV2', { params: { environmentId } });
    return results[0]?.identifier.execution_id;
  };

  /** Runs a command in the instance of a database. Returns what the command prints. */
  async function inside(databaseId: string, command: readonly string[], variables: readonly string[] = []): Promise<string> {
    const [container] = await setup.containers(databaseId);
    const exec = await setup.docker
      .getContainer(container?.Id ?? '')
      .exec({ Cmd: [...command], Env: [...variables], AttachStdout: true, AttachStderr: true, Tty: true });
    const output = await exec.start({ Tty: true });
    const { ExitCode } = await exec.inspect();
    if (ExitCode !== 0) throw new Error(`${command.join(' ')}: ${ExitCode} ${output}`);
    return output.replaceAll('\r', '').trim();
  }

  async function sql(databaseId: string, statements: string, database = 'postgres'): Promise<string> {
    const { password } = await call('getDatabaseMasterCredentials', { params: { databaseId } });
    const options = ['-h', '127.0.0.1', '-U', 'postgres', '-d', database, '-v', 'ON_ERROR_STOP=1'];
    return inside(databaseId, ['psql', '-XAtq', ...options, '-c', statements], [`PGPASSWORD=${password}`, 'PAGER=cat']);
  }

  async function redis(...command: readonly string[]): Promise<string> {
    const params = { databaseId: cache };
    const { password } = await call('getDatabaseMasterCredentials', { params });
    return inside(cache, ['redis-cli', '--raw', ...command], [`REDISCLI_AUTH=${password}`]);
  }

  const backups = async (databaseId: string) => (await call('listDatabaseBackup', { params: { databaseId } })).results;

  async function backup(databaseId: string, name: string) {
    const body = { name, message: 'for a test' };
    const { id } = await call('addBackupDatabase', { params: { databaseId }, body });
    return ended(databaseId, id);
  }

  async function ended(databaseId: string, id: string) {
    return eventually(
      async () => (await backups(databaseId)).find((one) => one.id === id && one.finished_at !== null),
      'the end of the backup',
      120_000,
    );
  }

  async function restored(databaseId: string, body: { backup_id: string; safety_backup?: boolean }) {
    const params = { databaseId };
    const { id } = await call('restoreDatabase', { params, body });
    return eventually(
      async () => {
        const { results } = await call('listDatabaseRestore', { params });
        return results.find((one) => one.id === id && one.finished_at !== null);
      },
      'the end of the restore',
      120_000,
    );
  }

  /** Returns the names of this Davit's containers that belong to no database. */
  const tools = async (): Promise<string[]> => {
    const services = [store, copy, cache, ledger];
    const all = await setup.containers();
    return all.filter(({ Labels }) => !services.includes(Labels['davit.service'] ?? '')).map(({ Names }) => Names.join());
  };

  const files = (): string[] => readdirSync(join(setup.davit.folder, 'backups')).toSorted();

  test('a managed database is backed up by itself as soon as it runs, and once only', async () => {
    const first = await eventually(async () => (await backups(store))[0], 'the first backup', 30_000);
    expect(first.kind).toBe('SCHEDULED');
    expect(await ended(store, first.id)).toMatchObject({ backup_state: 'GOOD', failure: null, warning: null });
    expect(await backups(store)).toHaveLength(1);
    expect(await backups(copy)).toEqual([]);
  });

  test('a backup of PostgreSQL has all databases and roles, is proven, encrypted, and leaves nothing else behind', async () => {
    await sql(store, filling);
    await sql(store, 'create database "other db"');
    await sql(store, 'create table there (n int); insert into there values (1), (2)', 'other db');
    const made = await backup(store, 'by hand');
    expect(made).toMatchObject({
      backup_state: 'GOOD',
      failure: null,
      status: { state: 'READY' },
      database: { id: store, type: 'POSTGRESQL', version: '15' },
      server_version: expect.stringMatching(/^15\./),
    });
    expect(made.proven_at).not.toBeNull();
    expect(made.data_bytes).toBeGreaterThan(1_000_000);
    expect(files()).toContain(`${made.id}.backup`);
    const stored = readFileSync(join(setup.davit.folder, 'backups', `${made.id}.backup`));
    expect(stored.length).toBe(made.size_bytes);
    expect(stored.includes('visit')).toBe(false);
    await expect.poll(tools, { timeout: 20_000 }).toEqual([]);
    const { password } = await call('getDatabaseMasterCredentials', { params: { databaseId: store } });
    expect(`${await setup.log()}${setup.davit.output}${JSON.stringify(made)}`).not.toContain(password);
  });

  test('a restore brings a database back as it was, with a safety backup of what it had', async () => {
    const [made] = await backups(store);
    await sql(store, 'delete from visit where id > 10; drop view recent');
    await sql(store, 'drop database "other db"');
    await sql(store, 'create database unwanted');
    const restore = await restored(store, { backup_id: made?.id ?? '' });
    expect(restore).toMatchObject({ restore_state: 'SUCCEEDED', failure: null });
    expect(await sql(store, 'select count(*), twice(21) from recent')).toBe('5000|42');
    expect(await sql(store, 'select count(*) from there', 'other db')).toBe('2');
    expect(await sql(store, 'select datname from pg_database where not datistemplate order by 1')).toBe('other db\npostgres');
    expect(await sql(store, "select has_table_privilege('reader', 'visit', 'select')")).toBe('t');
    const safety = (await backups(store)).find(({ id }) => id === restore.safety_backup_id);
    expect(safety).toMatchObject({ kind: 'SAFETY', backup_state: 'GOOD' });
  });

  test('a backup is restored into another database, which keeps its own password', async () => {
    const made = (await backups(store)).find(({ name }) => name === 'by hand');
    const restore = await restored(copy, { backup_id: made?.id ?? '', safety_backup: false });
    expect(restore).toMatchObject({ failure: null, restore_state: 'SUCCEEDED', safety_backup_id: null });
    expect(await sql(copy, 'select count(*) from visit')).toBe('5000');
  });

  test('a backup of Redis is proven and restored', async () => {
    await redis('eval', "for i = 1, 500 do redis.call('set', 'key' .. i, i) end redis.call('rpush', 'list', 'a', 'b')", '0');
    const made = await backup(cache, 'keys');
    expect(made).toMatchObject({ backup_state: 'GOOD', failure: null, database: { type: 'REDIS' } });
    await redis('flushall');
    await redis('set', 'unwanted', '1');
    expect(await restored(cache, { backup_id: made.id })).toMatchObject({ restore_state: 'SUCCEEDED', failure: null });
    expect(await redis('dbsize')).toBe('501');
    expect(await redis('lrange', 'list', '0', '-1')).toBe('a\nb');
    expect(await redis('info', 'replication')).toContain('role:master');
    await redis('set', 'after', '1');
  });

  test('the command line makes a backup of a database and restores it', async () => {
    buildCommandLine();
    const terminal = await openTerminal();
    const place = { DAVIT_ORGANIZATION: 'Shipyard', DAVIT_ENVIRONMENT: 'Dock/production' };
    const environment = { DAVIT_SERVER: setup.davit.url, DAVIT_TOKEN: token, ...place };
    await redis('set', 'kept', 'yes');
    const made = await terminal.run(['database', 'backup', 'cache', '--name', 'at a terminal'], { environment });
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^[\da-f-]{36}\n$/) });
    await redis('set', 'kept', 'no');
    await redis('set', 'unwanted', '1');
    const words = ['database', 'restore', 'cache', '--backup', made.out.trim(), '--yes'];
    expect(await terminal.run(words, { environment })).toMatchObject({ code: 0, err: expect.stringContaining('Restored') });
    expect(await redis('get', 'kept')).toBe('yes');
    expect(await redis('exists', 'unwanted')).toBe('0');
    await terminal.close();
  });

  test('a backup of MariaDB, by the tools that it shares with MySQL, is proven and restored', async () => {
    const { password } = await call('getDatabaseMasterCredentials', { params: { databaseId: ledger } });
    const mysql = (statements: string) =>
      inside(
        ledger,
        ['mariadb', '--protocol=tcp', '-h127.0.0.1', '-uroot', '--batch', '-N', '-r', '-e', statements],
        [`MYSQL_PWD=${password}`],
      );
    await mysql(`use app; create table entry (id int primary key auto_increment, what varchar(50) character set utf8mb4, raw blob);
      insert into entry (what, raw) values ('paid 🦊', x'00ff'), ('owed', null); create view owed as select * from entry where id > 1;
      create procedure twice(n int) select n * 2; create database \`odd name\`; create table \`odd name\`.\`a b\` (n int);
      insert into \`odd name\`.\`a b\` values (1), (2), (3)`);
    const made = await backup(ledger, 'entries');
    expect(made).toMatchObject({ failure: null, backup_state: 'GOOD', server_version: expect.stringContaining('MariaDB') });
    await mysql('drop database `odd name`; use app; delete from entry; drop procedure twice; create database unwanted');
    expect(await restored(ledger, { backup_id: made.id })).toMatchObject({ failure: null, restore_state: 'SUCCEEDED' });
    expect(
      await mysql('select count(*) from `odd name`.`a b`; select what, hex(raw) from app.entry order by id; call app.twice(21)'),
    ).toBe('3\npaid 🦊\t00FF\nowed\tNULL\n42');
    expect(await mysql('show databases')).not.toContain('unwanted');
  });

  test('a backup that cannot be restored is not good, says why, and is not restored over anything', async () => {
    await sql(
      copy,
      `create table z_later (n int); insert into z_later values (1);
      create function known(n int) returns boolean language sql as 'select exists (select from public.z_later l where l.n = $1)';
      create table a_first (n int check (known(n))); insert into a_first values (1)`,
    );
    const made = await backup(copy, 'not to be relied on');
    expect(made).toMatchObject({
      backup_state: 'FAILED',
      proven_at: null,
      status: { state: 'UNAVAILABLE' },
      failure: { code: 'BACKUP_NOT_PROVEN', evidence: { lines: expect.arrayContaining([expect.stringContaining('a_first')]) } },
    });
    const requested = call('restoreDatabase', { params: { databaseId: copy }, body: { backup_id: made.id } });
    await expect(requested).rejects.toMatchObject({ status: 409, code: 'BACKUP_NOT_GOOD' });
    await sql(copy, 'drop table a_first');
  });

  test('a backup that is damaged on the disk changes nothing, and says so', async () => {
    const made = await backup(copy, 'damaged');
    const file = join(setup.davit.folder, 'backups', `${made.id}.backup`);
    const bytes = readFileSync(file);
    bytes[bytes.length - 40] = (bytes[bytes.length - 40] ?? 0) ^ 1;
    writeFileSync(file, bytes);
    const restore = await restored(copy, { backup_id: made.id, safety_backup: false });
    expect(restore).toMatchObject({ restore_state: 'FAILED', failure: { code: 'BACKUP_DAMAGED' } });
    expect(await sql(copy, 'select count(*) from visit')).toBe('5000');
    // The server now marks the backup as damaged.
    expect(await ended(copy, made.id)).toMatchObject({ backup_state: 'FAILED', failure: { code: 'BACKUP_DAMAGED' } });
    await expect(restored(copy, { backup_id: made.id, safety_backup: false })).rejects.toMatchObject({ status: 409 });
    const cut = await backup(copy, 'cut short');
    writeFileSync(join(setup.davit.folder, 'backups', `${cut.id}.backup`), 'short');
    expect((await restored(copy, { backup_id: cut.id, safety_backup: false })).failure?.code).toBe('BACKUP_DAMAGED');
  });

  test('a server that is killed at any moment of a backup goes on, with no second backup and nothing left over', async () => {
    const params = { databaseId: store };
    const works = async (script: string): Promise<boolean> => (await tools()).some((name) => name.includes(`davit-${script}-`));
    const isStored = async (id: string): Promise<boolean> =>
      (await backups(store)).some((one) => one.id === id && one.stored_at !== null);
    const moments = [(): Promise<boolean> => works('dump'), isStored, (): Promise<boolean> => works('prove')];
    for (const comes of moments) {
      const { id } = await call('addBackupDatabase', { params, body: { name: 'killed', message: '' } });
      await eventually(async () => ((await comes(id)) ? true : undefined), 'the moment to kill at', 60_000);
      await setup.davit.kill('SIGKILL');
      await setup.davit.serve();
      expect(await ended(store, id)).toMatchObject({ backup_state: 'GOOD', failure: null });
    }
    await expect.poll(tools, { timeout: 20_000 }).toEqual([]);
    const ids = [...(await backups(store)), ...(await backups(copy)), ...(await backups(cache)), ...(await backups(ledger))].map(
      ({ id }) => `${id}.backup`,
    );
    expect(files()).toEqual(ids.toSorted());
  });

  test('removing a backup removes its file; the backups of a deleted database stay and can be restored', async () => {
    const [first, second] = (await backups(store)).filter(({ name }) => name === 'killed');
    await call('removeDatabaseBackup', { params: { databaseId: store, backupId: first?.id ?? '' } });
    await expect.poll(files).not.toContain(`${first?.id}.backup`);
    expect(files()).toContain(`${second?.id}.backup`);
    const before = await newest();
    await call('deleteDatabase', { params: { databaseId: store } });
    await setup.idleAfter(async () => (await newest()) !== before);
    const { environmentId } = setup;
    const { results } = await call('listEnvironmentDatabaseBackup', { params: { environmentId } });
    expect(results.map(({ id }) => id)).toContain(second?.id);
    await sql(copy, 'drop table visit cascade');
    const restore = await restored(copy, { backup_id: second?.id ?? '', safety_backup: false });
    expect(restore).toMatchObject({ failure: null, restore_state: 'SUCCEEDED' });
    expect(await sql(copy, 'select count(*) from visit')).toBe('5000');
  });
});
