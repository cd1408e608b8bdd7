import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { startTestServer, type TestOrganization, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askForDueBackups, trimOrphanedBackups } from './index.ts';

let server: TestServer;
let owner: TestOrganization;
let api: ReturnType<TestServer['client']>;
let projectId: string;
let environmentId: string;
beforeAll(async () => {
  server = await startTestServer({ environment: { DAVIT_BACKUP_SCHEDULE: '30 2 * * *' } });
  owner = await server.organization();
  api = server.client(owner.tokens.WRITE);
  projectId = (await api.call('createProject', { params: { organizationId: owner.id }, body: { name: 'shop' } })).id;
  environmentId = await newEnvironment();
});
afterAll(() => server.close());

async function newEnvironment(): Promise<string> {
  return (await api.call('createEnvironment', { params: { projectId }, body: { name: randomUUID() } })).id;
}

// Nothing runs here: the tests write what an engine would have written.
const runs = statement(
  'test_backup_database_runs',
  `insert into service_runtime (service_id, organization_id, project_id, environment_id, driver, desired)
   select id, organization_id, project_id, environment_id, 'docker', $2 from service where id = $1
   on conflict (service_id) do update set desired = excluded.desired`,
);
const setStatus = statement(
  'test_backup_status',
  `update database_backup set status = $2, data_bytes = $3, finished_at = clock_timestamp() where id = $1`,
);
const removeService = statement('test_backup_remove_service', 'delete from service where id = $1');
const removeEnvironment = statement('test_backup_remove_environment', 'delete from environment where id = $1');
const age = statement(
  'test_backup_age',
  `update database_backup set orphaned_at = orphaned_at - interval '8 days' where id = $1`,
);
const leaving = statement<{ is_leaving: boolean }>('test_backup_leaving', 'select is_leaving from database_backup where id = $1');

interface Wanted {
  readonly type?: 'POSTGRESQL' | 'REDIS';
  readonly version?: string;
  readonly mode?: 'MANAGED' | 'CONTAINER';
  readonly place?: string;
  readonly desired?: 'RUNNING' | 'STOPPED';
}

async function database(wanted: Wanted = {}): Promise<string> {
  const {
    type = 'POSTGRESQL',
    version = '16',
    mode = 'CONTAINER',
    place: location = environmentId,
    desired = 'RUNNING',
  } = wanted;
  const body = { name: randomUUID(), type, version, mode };
  const { id } = await api.call('createDatabase', { params: { environmentId: location }, body });
  await server.database.database.run(runs, [id, desired]);
  return id;
}

const backup = (databaseId: string, name = 'one') =>
  api.call('addBackupDatabase', { params: { databaseId }, body: { name, message: 'why' } });
const list = async (databaseId: string) => (await api.call('listDatabaseBackup', { params: { databaseId } })).results;

async function goodBackup(databaseId: string, bytes = 1000): Promise<string> {
  const { id } = await backup(databaseId);
  await server.database.database.run(setStatus, [id, 'GOOD', bytes]);
  return id;
}

describe('a backup', () => {
  test('is answered as it is asked for, listed newest first, and removed', async () => {
    const databaseId = await database();
    const made = await backup(databaseId, 'before the migration');
    expect(made).toMatchObject({
      name: 'before the migration',
      message: 'why',
      kind: 'MANUAL',
      backup_state: 'QUEUED',
      status: { state: 'QUEUED', status_details: { status: 'QUEUED' } },
      database: { id: databaseId, type: 'POSTGRESQL', version: '16' },
      size_bytes: null,
      proven_at: null,
      warning: null,
    });
    const second = await backup(databaseId, 'later');
    expect((await list(databaseId)).map(({ id }) => id)).toEqual([second.id, made.id]);
    const params = { databaseId, backupId: made.id };
    await api.call('removeDatabaseBackup', { params });
    expect((await list(databaseId)).map(({ id }) => id)).toEqual([second.id]);
    await expect(api.call('removeDatabaseBackup', { params })).rejects.toMatchObject({ status: 404 });
    const elsewhere = { databaseId: await database(), backupId: second.id };
    await expect(api.call('removeDatabaseBackup', { params: elsewhere })).rejects.toMatchObject({ status: 404 });
  });

  test('list goes on after the one that startId names', async () => {
    const databaseId = await database();
    const made: string[] = [];
    for (let count = 0; count < 22; count += 1) made.unshift((await backup(databaseId)).id);
    const first = await list(databaseId);
    expect(first.map(({ id }) => id)).toEqual(made.slice(0, 20));
    const { results } = await api.call('listDatabaseBackup', { params: { databaseId }, query: { startId: made[19] } });
    expect(results.map(({ id }) => id)).toEqual(made.slice(20));
  });

  test('is refused of a database that does not run', async () => {
    const stopped = await database({ desired: 'STOPPED' });
    await expect(backup(stopped)).rejects.toMatchObject({ status: 409, code: 'DATABASE_NOT_RUNNING' });
    const body = { name: randomUUID(), type: 'REDIS' as const, version: '7', mode: 'MANAGED' as const };
    const never = await api.call('createDatabase', { params: { environmentId }, body });
    await expect(backup(never.id)).rejects.toMatchObject({ status: 409, code: 'DATABASE_NOT_RUNNING' });
  });

  test('warns when the data fills the storage', async () => {
    const databaseId = await database();
    await goodBackup(databaseId, 9 * 1024 ** 3);
    expect((await list(databaseId))[0]).toMatchObject({
      backup_state: 'GOOD',
      warning: expect.stringContaining('9.0 GB of data, of 10 GB'),
    });
  });

  test('says nothing of the password', async () => {
    const databaseId = await database();
    await backup(databaseId);
    const { password } = await api.call('getDatabaseMasterCredentials', { params: { databaseId } });
    expect(JSON.stringify(await list(databaseId))).not.toContain(password);
    const admin = server.client(owner.tokens.ADMIN);
    const events = await admin.call('getOrganizationEvents', { params: { organizationId: owner.id } });
    expect(JSON.stringify(events)).not.toContain(password);
  });
});

describe('a restore', () => {
  const restore = (databaseId: string, backup_id: string, safety_backup?: boolean) =>
    api.call('restoreDatabase', {
      params: { databaseId },
      body: { backup_id, ...(safety_backup !== undefined && { safety_backup }) },
    });

  test('has a safety backup before it unless that is left out, and one waits at a time', async () => {
    const databaseId = await database();
    const backupId = await goodBackup(databaseId);
    const requested = await restore(databaseId, backupId.toUpperCase());
    expect(requested).toMatchObject({ restore_state: 'QUEUED', backup_id: backupId, database_id: databaseId, failure: null });
    expect((await list(databaseId))[0]).toMatchObject({ id: requested.safety_backup_id, kind: 'SAFETY', backup_state: 'QUEUED' });
    await expect(restore(databaseId, backupId)).rejects.toMatchObject({ status: 409, code: 'RESTORE_UNDER_WAY' });
    // The refused request left no safety backup behind.
    expect(await list(databaseId)).toHaveLength(2);
    for (const id of [backupId, requested.safety_backup_id ?? '']) {
      const params = { databaseId, backupId: id };
      await expect(api.call('removeDatabaseBackup', { params })).rejects.toMatchObject({ status: 409, code: 'IN_USE' });
    }
    const other = await database();
    expect(await restore(other, backupId, false)).toMatchObject({ safety_backup_id: null });
    const { results } = await api.call('listDatabaseRestore', { params: { databaseId: other } });
    expect(results).toMatchObject([{ backup_id: backupId, restore_state: 'QUEUED' }]);
  });

  test('is refused for what is not good, not known, of another type, or of a later version', async () => {
    const databaseId = await database();
    const waiting = await backup(databaseId);
    await expect(restore(databaseId, waiting.id)).rejects.toMatchObject({ status: 409, code: 'BACKUP_NOT_GOOD' });
    const invalid = { status: 400, code: 'INVALID_REFERENCE', errors: [{ path: 'backup_id' }] };
    await expect(restore(databaseId, randomUUID())).rejects.toMatchObject(invalid);
    const redis = await goodBackup(await database({ type: 'REDIS', version: '7' }));
    await expect(restore(databaseId, redis)).rejects.toMatchObject(invalid);
    const later = await goodBackup(await database({ version: '17' }));
    await expect(restore(databaseId, later)).rejects.toMatchObject(invalid);
    const earlier = await goodBackup(await database({ version: '15.4' }));
    expect(await restore(databaseId, earlier, false)).toMatchObject({ restore_state: 'QUEUED' });
    const stranger = await server.organization();
    const theirs = server.client(stranger.tokens.WRITE);
    const shop = await theirs.call('createProject', { params: { organizationId: stranger.id }, body: { name: 'x' } });
    const live = await theirs.call('createEnvironment', { params: { projectId: shop.id }, body: { name: 'x' } });
    const body = { name: 'x', type: 'POSTGRESQL' as const, version: '16', mode: 'CONTAINER' as const };
    const made = await theirs.call('createDatabase', { params: { environmentId: live.id }, body });
    await server.database.database.run(runs, [made.id, 'RUNNING']);
    const mine = await goodBackup(await database());
    const requested = theirs.call('restoreDatabase', { params: { databaseId: made.id }, body: { backup_id: mine } });
    await expect(requested).rejects.toMatchObject(invalid);
  });

  test('needs a role that may change the environment of the backup as well', async () => {
    const admin = server.client(owner.tokens.ADMIN);
    const params = { organizationId: owner.id };
    const hidden = (await api.call('createProject', { params, body: { name: randomUUID() } })).id;
    const location = (await api.call('createEnvironment', { params: { projectId: hidden }, body: { name: 'live' } })).id;
    const backupId = await goodBackup(await database({ place: location }));
    const role = await admin.call('createOrganizationCustomRole', { params, body: { name: randomUUID() } });
    const modes = ['DEVELOPMENT', 'PREVIEW', 'STAGING', 'PRODUCTION'] as const;
    const rights = (id: string, permission: 'MANAGER' | 'NO_ACCESS') => ({
      project_id: id,
      is_admin: false,
      permissions: modes.map((environment_type) => ({ environment_type, permission })),
    });
    const current = await admin.call('getOrganizationCustomRole', { params: { ...params, customRoleId: role.id } });
    await admin.call('editOrganizationCustomRole', {
      params: { ...params, customRoleId: role.id },
      body: {
        name: role.name ?? 'x',
        cluster_permissions: current.cluster_permissions ?? [],
        project_permissions: [rights(projectId, 'MANAGER'), rights(hidden, 'NO_ACCESS')],
      },
    });
    const { token } = await admin.call('createOrganizationApiToken', { params, body: { name: randomUUID(), role_id: role.id } });
    const requested = server
      .client(token)
      .call('restoreDatabase', { params: { databaseId: await database() }, body: { backup_id: backupId } });
    await expect(requested).rejects.toMatchObject({ status: expect.toBeOneOf([403, 404]) });
  });
});

describe('by themselves', () => {
  const first = new Date('2026-03-01T10:00:00Z');
  const at = (text: string): Date => new Date(text);
  const ask = (now: Date) => askForDueBackups(server.api.deps, now);

  test('managed databases are backed up as soon as they run, then at the times of the schedule, each once', async () => {
    const managed = await database({ mode: 'MANAGED' });
    const others = [await database(), await database({ mode: 'MANAGED', desired: 'STOPPED' })];
    // Several processes may request backups at the same moment.
    const answers = await Promise.all([ask(first), ask(first), ask(first), ask(first)]);
    expect(answers.flat()).toEqual([]);
    const [made, ...more] = await list(managed);
    expect(more).toEqual([]);
    expect(made).toMatchObject({ kind: 'SCHEDULED', name: 'scheduled 2026-03-01T10:00Z' });
    for (const id of others) expect(await list(id)).toEqual([]);
    await server.database.database.run(setStatus, [made?.id, 'GOOD', 1]);
    await ask(at('2026-03-02T02:29:59Z'));
    expect(await list(managed)).toHaveLength(1);
    await Promise.all([ask(at('2026-03-02T02:30:01Z')), ask(at('2026-03-02T02:30:02Z'))]);
    expect(await list(managed)).toHaveLength(2);
    // The first backup still waits, so the next time is skipped. Of the missed times, only one is made up for.
    await ask(at('2026-03-05T12:00:00Z'));
    expect(await list(managed)).toHaveLength(2);
    await server.database.database.run(setStatus, [(await list(managed))[0]?.id, 'FAILED', null]);
    await ask(at('2026-03-09T12:00:00Z'));
    await ask(at('2026-03-09T12:00:10Z'));
    expect(await list(managed)).toHaveLength(3);
  });

  test('backups of a deleted database stay for days, and those of a deleted environment go', async () => {
    const { database: db } = server.database;
    const location = await newEnvironment();
    const databaseId = await database({ place: location });
    const [kept, used] = [await goodBackup(databaseId), await goodBackup(databaseId)];
    const target = await database({ place: location });
    await db.run(removeService, [databaseId]);
    await trimOrphanedBackups(server.api.deps);
    const listed = await api.call('listEnvironmentDatabaseBackup', { params: { environmentId: location } });
    expect(listed.results.map(({ id }) => id)).toEqual([used, kept]);
    await api.call('restoreDatabase', { params: { databaseId: target }, body: { backup_id: used, safety_backup: false } });
    for (const id of [kept, used]) await db.run(age, [id]);
    await trimOrphanedBackups(server.api.deps);
    expect([await db.one(leaving, [kept]), await db.one(leaving, [used])]).toEqual([{ is_leaving: true }, { is_leaving: false }]);
    const gone = await newEnvironment();
    const last = await goodBackup(await database({ place: gone }));
    await db.run(removeEnvironment, [gone]);
    await trimOrphanedBackups(server.api.deps);
    expect(await db.one(leaving, [last])).toEqual({ is_leaving: true });
  });
});

describe('applications of a database', () => {
  test('are those with an alias of one of its variables, which removing them takes away', async () => {
    const location = await newEnvironment();
    const databaseId = await database({ place: location });
    const git_repository = { url: 'https://git.example.org/shop/web.git' };
    const make = async (name: string) =>
      (
        await api.call('createApplication', {
          params: { environmentId: location },
          body: { name, dockerfile_path: 'Dockerfile', git_repository },
        })
      ).id;
    const [user, stranger] = [await make('web'), await make('other')];
    const params = { applicationId: user };
    const secrets = (await api.call('listApplicationSecrets', { params })).results;
    const url = secrets.find(({ key }) => key.endsWith('_DATABASE_URL'));
    await api.call('createApplicationSecretAlias', {
      params: { ...params, secretId: url?.id ?? '' },
      body: { key: 'DATABASE_URL' },
    });
    const users = async () => (await api.call('listDatabaseApplication', { params: { databaseId } })).results;
    expect((await users()).map(({ id }) => id)).toEqual([user]);
    const other = { databaseId, targetApplicationId: stranger };
    await expect(api.call('removeApplicationFromDatabase', { params: other })).rejects.toMatchObject({ status: 404 });
    await api.call('removeApplicationFromDatabase', { params: { databaseId, targetApplicationId: user } });
    expect(await users()).toEqual([]);
    const left = (await api.call('listApplicationSecrets', { params })).results;
    expect(left.map(({ key }) => key)).not.toContain('DATABASE_URL');
  });
});
