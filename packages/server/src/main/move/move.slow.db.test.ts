import { randomBytes, randomUUID } from 'node:crypto';
import { copyFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createClient, type Client } from '@davit/client';
import { createFakeCluster, DriverError, type FakeCluster } from '@davit/drivers';
import { openDatabase, statement } from '@davit/db';
import { createEngine, type Engine } from '@davit/engine';
import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createApi, type Api } from '../api.ts';
import { readConfiguration } from '../config.ts';
import type { Configuration } from '../../configuration.ts';
import { exportInstance } from './export.ts';
import { importInstance } from './import.ts';

const passphrase = 'correct horse battery';
const canary = `canary-${randomUUID()}`;
let server: TestServer;
let engine: Engine | undefined;
let api: Client;
let folder: string;
let home: string;
let there: TestDatabase;
let file: string;
const closers: (() => Promise<unknown>)[] = [];
const output: string[] = [];
const print = (text: string): number => {
  output.push(text);
  return 0;
};

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'davit-move-'));
  home = path.join(folder, 'home');
  file = path.join(folder, 'instance.davit');
  server = await startTestServer({
    engine: (parts) => (engine = createEngine({ ...parts, drivers: { docker: createFakeCluster() } })),
    environment: { DAVIT_DRAIN_SECONDS: '1', DAVIT_EXPORT_PASSPHRASE: passphrase },
  });
  await engine?.start();
  api = server.client();
  there = await createTestDatabase({ isMigrated: false });
});
afterEach(async () => {
  output.length = 0;
  for (const close of closers.splice(0).toReversed()) await close();
  await engine?.stop();
  await server.close();
  await there.drop();
  await rm(folder, { recursive: true, force: true });
});

/** The configuration of the former instance, whose database is not the embedded one. */
const former = (): Configuration => ({
  ...server.api.deps.config,
  databaseUrl: readConfiguration({ DATABASE_URL: server.database.connectionString }).databaseUrl,
});
const latter = (environment: Readonly<Record<string, string>> = {}): Configuration =>
  readConfiguration({
    DAVIT_HOME: home,
    DATABASE_URL: there.connectionString,
    DAVIT_PORT: '0',
    DAVIT_RATE_LIMIT: '0',
    DAVIT_LOG_LEVEL: 'fatal',
    DAVIT_DRAIN_SECONDS: '1',
    DAVIT_EXPORT_PASSPHRASE: passphrase,
    ...environment,
  });

const tables = statement<{ name: string; rows: number }>(
  'test_move_tables',
  `select c.relname::text as name, (xpath('/row/c/text()', query_to_xml(format('select count(*) as c from %I', c.relname), false, true, '')))[1]::text::int as rows
     from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' order by 1`,
);

/**
 * Creates an environment with a running container, a running application, a stopped service, secrets, and a scheduled
 * job.
 */
async function furnish(): Promise<{ readonly environmentId: string; readonly services: Record<string, string> }> {
  const { id: organizationId } = await server.organization('Shipyard');
  const project = await api.call('createProject', { params: { organizationId }, body: { name: 'shop' } });
  const { id: environmentId } = await api.call('createEnvironment', {
    params: { projectId: project.id },
    body: { name: 'live' },
  });
  const params = { environmentId };
  const config = { username: 'robot', password: canary };
  const hub = { name: 'hub', kind: 'GENERIC_CR' as const, url: 'https://registry.example.org', config };
  const registry_id = (await api.call('createContainerRegistry', { params: { organizationId }, body: hub })).id;
  const container = { name: 'cache', registry_id, image_name: 'cache', tag: '7' };
  const git_repository = { url: 'https://git.example.org/shop/web.git', branch: 'main' };
  const services = {
    cache: (await api.call('createContainer', { params, body: container })).id,
    idle: (await api.call('createContainer', { params, body: { ...container, name: 'idle' } })).id,
    web: (await api.call('createApplication', { params, body: { name: 'web', dockerfile_path: 'Dockerfile', git_repository } }))
      .id,
  };
  await api.call('createEnvironmentSecret', { params, body: { key: 'PASSWORD', value: canary } });
  await api.call('createEnvironmentEnvironmentVariable', {
    params,
    body: { key: 'TEXT', value: 'tab\t, back\\slash, \\N, ü\n' },
  });
  const schedule = { cronjob: { scheduled_at: '0 4 * * *' } };
  const source = { image: { image_name: 'seed', tag: '1', registry_id } };
  const job = { name: 'nightly', healthchecks: {}, source, schedule };
  const jobId = (await api.call('createJob', { params, body: job })).id;
  await api.call('deployEnvironment', { params });
  const statuses = (client = api) => client.call('getEnvironmentStatuses', { params });
  await vi.waitFor(async () => expect((await statuses()).environment.state).toBe('DEPLOYED'), 15_000);
  await api.call('stopContainer', { params: { containerId: services.idle } });
  await vi.waitFor(async () => {
    const status = await api.call('getContainerStatus', { params: { containerId: services.idle } });
    expect(status.state).toBe('STOPPED');
  }, 15_000);
  return { environmentId, services: { ...services, job: jobId } };
}

async function open(config: Configuration): Promise<{ api: Api<Engine>; client: Client; fake: FakeCluster }> {
  const fake = createFakeCluster();
  const { connectionString, database } = there;
  const made = await createApi({
    config,
    connectionString,
    database,
    engine: (parts) => createEngine({ ...parts, drivers: { docker: fake } }),
    overloadedAfterMilliseconds: 0,
  });
  const baseUrl = await made.listen();
  closers.push(() => made.close());
  return { api: made, client: createClient({ baseUrl, token: server.adminToken }), fake };
}

test('an instance is moved: what ran is deployed there, with its variables and secrets, and everything is known as before', async () => {
  const { environmentId, services } = await furnish();
  const params = { environmentId };
  // The engine is stopped, so that a deployment stays queued. Only one of the instances may run it.
  await engine?.stop();
  await api.call('deployEnvironment', { params });
  await exportInstance(former(), { file }, print);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await readFile(file)).includes(canary)).toBe(false);
  await importInstance(latter(), file, print);
  expect(output.join('\n')).not.toContain(canary);
  expect((await stat(path.join(home, 'secret-key'))).mode & 0o777).toBe(0o600);

  const counts = async (database: TestDatabase) => {
    const rows = await database.database.many(tables);
    // These tables differ: some rows belong to one instance only, others are changed by the import, which queues
    // deployments and disables schedules until those are done.
    const own = ['runner', 'pulled_image', 'rate_count', 'deployment', 'deployment_service', 'job_schedule'];
    return Object.fromEntries(rows.flatMap(({ name, rows: count }) => (own.includes(name) ? [] : [[name, count]])));
  };
  expect(await counts(there)).toEqual(await counts(server.database));

  const moved = await open(latter());
  for (const read of [
    (client: Client) => client.call('listServicesByEnvironmentId', { params }),
    (client: Client) => client.call('listVariables', { query: { parent_id: environmentId, scope: 'ENVIRONMENT' } }),
    (client: Client) => client.call('listOrganization', {}),
  ]) {
    expect(await read(moved.client)).toEqual(await read(api));
  }
  await moved.api.engine.start();
  closers.push(() => moved.api.engine.stop());
  await vi.waitFor(async () => {
    const { state } = (await moved.client.call('getEnvironmentStatuses', { params })).environment;
    expect(state).toBe('DEPLOYED');
  }, 15_000);
  const running = new Set(moved.fake.instances.map(({ service }) => service));
  expect(running).toEqual(new Set([services['cache'], services['web']]));
  const [workload] = moved.fake.workloads.values();
  const environment = new Map(workload?.environment.map(({ name, value }) => [name, value.reveal()]));
  expect(environment.get('PASSWORD')).toBe(canary);
  expect(environment.get('TEXT')).toBe('tab\t, back\\slash, \\N, ü\n');
  // The deployment uses the exact image that ran, whatever its tag points to now.
  const pulls = moved.fake.calls.filter(({ method }) => method === 'pull').map(({ detail }) => detail);
  expect(pulls.find((reference) => reference.includes('/cache'))).toMatch(/^registry\.example\.org\/cache@sha256:/);
  const history = await moved.client.call('listContainerDeploymentHistoryV2', {
    params: { containerId: services['cache'] ?? '' },
  });
  expect(history.results[0]?.auditing_data).toMatchObject({ triggered_by: 'davit import' });
  const schedule = statement<{ count: number }>('test_move_schedules', 'select count(*)::int as count from job_schedule');
  expect(await there.database.one(schedule)).toEqual({ count: 1 });
});

const nothing = async (): Promise<void> => {
  // The pool of the test is not used: it would count as a program that uses the database.
  const database = openDatabase({ connectionString: there.connectionString, applicationName: 'look', maximumConnections: 1 });
  const rows = await database.many(tables);
  await database.close();
  const filled = rows.filter(({ name, rows: count }) => count > 0 && !['davit_migration', 'installation'].includes(name));
  expect(filled).toEqual([]);
};

test('an export that was changed, cut off, or is of another passphrase is refused before anything is written', async () => {
  await server.organization();
  await exportInstance(former(), { file }, print);
  const whole = await readFile(file);
  const unreadable = { code: 'EXPORT_UNREADABLE' };
  const wrong = path.join(folder, 'wrong');
  const flipped = Buffer.from(whole);
  flipped[whole.length - 40] = (flipped[whole.length - 40] ?? 0) ^ 1;
  const renamed = Buffer.from(whole.toString('latin1').replace('"davit":"', '"davit":"9'), 'latin1');
  for (const content of [flipped, renamed, whole.subarray(0, -1), whole.subarray(0, 500), randomBytes(100), Buffer.alloc(0)]) {
    await writeFile(wrong, content);
    await expect(importInstance(latter(), wrong, print)).rejects.toMatchObject(unreadable);
  }
  await expect(importInstance(latter({ DAVIT_EXPORT_PASSPHRASE: 'another passphrase' }), file, print)).rejects.toMatchObject({
    ...unreadable,
    message: expect.stringContaining('passphrase'),
  });
  await expect(importInstance(latter(), path.join(folder, 'nothing'), print)).rejects.toMatchObject(unreadable);
  await expect(stat(home)).rejects.toThrow('ENOENT');
  // The import succeeds with the intact file.
  await importInstance(latter(), file, print);
});

test('a deployment that fails after the import is known with its cause, and can be asked for again', async () => {
  const { environmentId, services } = await furnish();
  const params = { environmentId };
  const containerId = services['cache'] ?? '';
  await engine?.stop();
  await exportInstance(former(), { file }, print);
  await importInstance(latter(), file, print);
  const moved = await open(latter());
  let isReachable = false;
  moved.fake.script = {
    before: ({ method }) => {
      if (method === 'pull' && !isReachable)
        throw new DriverError({ cause: 'IMAGE_NOT_FOUND', message: 'the registry has no such image' });
    },
  };
  await moved.api.engine.start();
  closers.push(() => moved.api.engine.stop());
  const ended = (): Promise<string> =>
    vi.waitFor(async () => {
      const { last_deployment_state } = await moved.client.call('getEnvironmentStatus', { params });
      expect(last_deployment_state).toMatch(/^DEPLOYED$|_ERROR$/);
      return last_deployment_state;
    }, 15_000);
  expect(await ended()).toMatch(/_ERROR$/);
  const status = await moved.client.call('getContainerStatus', { params: { containerId } });
  expect(status).toMatchObject({
    state: expect.stringMatching(/_ERROR$/),
    failure: { code: 'IMAGE_NOT_FOUND' },
    service_deployment_status: 'OUT_OF_DATE',
  });
  const { results } = await moved.client.call('listContainerDeploymentHistoryV2', { params: { containerId } });
  expect(results[0]).toMatchObject({ auditing_data: { triggered_by: 'davit import' }, status: expect.stringMatching(/_ERROR$/) });
  isReachable = true;
  await moved.client.call('redeployContainer', { params: { containerId } });
  const state = await ended();
  const { failure, ...now } = await moved.client.call('getContainerStatus', { params: { containerId } });
  expect({ state, failure, now }).toMatchObject({ state: 'DEPLOYED' });
  expect(moved.fake.instances.map(({ service }) => service)).toContain(containerId);
});

test('an instance that has records or is in use takes no import, and an import that fails leaves nothing', async () => {
  await server.organization();
  await exportInstance(former(), { file }, print);
  const inUse = { code: 'INSTANCE_IN_USE' };
  await expect(importInstance({ ...former(), exportPassphrase: latter().exportPassphrase }, file, print)).rejects.toMatchObject(
    inUse,
  );
  const other = Buffer.alloc(32, 7).toString('base64');
  await expect(importInstance(latter({ DAVIT_SECRET_KEY: other }), file, print)).rejects.toMatchObject({
    code: 'SECRET_KEY_WRONG',
  });
  // The key file cannot be written. This fails after all rows were imported and before the commit.
  await writeFile(path.join(folder, 'no-folder'), '');
  await expect(importInstance(latter({ DAVIT_HOME: path.join(folder, 'no-folder') }), file, print)).rejects.toMatchObject({
    code: 'IMPORT_FAILED',
    message: expect.stringContaining('EEXIST'),
  });
  await nothing();
  await importInstance(latter(), file, print);
  await expect(importInstance(latter(), file, print)).rejects.toMatchObject({ code: 'INSTANCE_NOT_EMPTY' });
});

test('an export without a good passphrase, or onto a file that is there, is refused', async () => {
  for (const DAVIT_EXPORT_PASSPHRASE of ['', 'short']) {
    const { exportPassphrase } = latter({ DAVIT_EXPORT_PASSPHRASE });
    await expect(exportInstance({ ...former(), exportPassphrase }, { file }, print)).rejects.toMatchObject({
      code: 'PASSPHRASE_MISSING',
    });
  }
  await copyFile(import.meta.filename, file);
  await expect(exportInstance(former(), { file }, print)).rejects.toMatchObject({ code: 'FILE_EXISTS' });
  await expect(exportInstance(latter(), { file: path.join(folder, 'empty') }, print)).rejects.toMatchObject({
    code: 'INSTANCE_EMPTY',
  });
});
