import { createHmac, randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { Client } from '@davit/client';
import { statement } from '@davit/db';
import { createFakeCluster, DriverError, type FakeCall, type Instance } from '@davit/drivers';
import { createEngine, type Engine } from '@davit/engine';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Background } from '../background/background.ts';
import { askForDueBackups } from '../resources/database-backup/index.ts';
import { alertRules, dashboard, dashboardExpressions, faultSeries, namesIn, Scrape } from './testing.ts';

/*
 * The metrics of a working server with a fake local cluster that fails like real ones, a remote cluster of an owner, a
 * receiver of webhooks, and a git host.
 */

const local = createFakeCluster();
const remote = createFakeCluster();
let isRemoteDown = false;
let server: TestServer;
let engine: Engine;
let background: Background;
let receiver: Server;
let receiverUrl: string;
let receiverStatus = 200;
let api: Client;
let organizationId: string;
let projectId: string;

beforeAll(async () => {
  local.space = { folder: '/var/lib/engine', freeBytes: 5_000_000_000, totalBytes: 100_000_000_000 };
  remote.script = {
    before: () => {
      if (isRemoteDown) throw new DriverError({ cause: 'ENGINE_UNREACHABLE', message: 'connection refused' });
    },
  };
  server = await startTestServer({
    engine: (parts) => (engine = createEngine({ ...parts, drivers: { docker: local }, makeCluster: () => remote })),
    environment: {
      DAVIT_READY_TIMEOUT_SECONDS: '5',
      DAVIT_DRAIN_SECONDS: '1',
      DAVIT_TERMINATION_GRACE_SECONDS: '1',
      DAVIT_ALLOW_PRIVATE_TARGETS: 'true',
      DAVIT_ALLOW_LOCAL_REPOSITORIES: 'true',
      DAVIT_GIT_POLL_SECONDS: '0',
      DAVIT_METRICS_SECONDS: '1',
    },
  });
  await engine.start();
  const { deps } = server.api;
  const log = { info: () => undefined, warn: () => undefined };
  background = new Background({ deps, connectionString: server.database.connectionString, version: '1', log });
  await background.start();
  receiver = createServer((_request, response) => response.writeHead(receiverStatus).end());
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const address = receiver.address();
  receiverUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/hook`;
  const organization = await server.organization();
  organizationId = organization.id;
  api = server.client(organization.tokens.ADMIN);
  projectId = (await api.call('createProject', { params: { organizationId }, body: { name: 'shop' } })).id;
});
afterAll(async () => {
  await background.stop();
  await engine.stop();
  await server.close();
  receiver.closeAllConnections();
  receiver.close();
});
beforeEach(() => {
  local.script = {};
  receiverStatus = 200;
});

async function newEnvironment(cluster_id?: string): Promise<string> {
  const body = { name: `e ${randomUUID()}`, ...(cluster_id !== undefined && { cluster_id }) };
  return (await api.call('createEnvironment', { params: { projectId }, body })).id;
}

async function newApplication(environmentId: string): Promise<string> {
  const git_repository = { url: 'https://git.example.org/shop/web.git', branch: 'main' };
  const body = { name: `a ${randomUUID()}`, dockerfile_path: 'Dockerfile', git_repository, healthchecks: {} };
  return (await api.call('createApplication', { params: { environmentId }, body })).id;
}

async function deployed(applicationId: string, state: string): Promise<void> {
  await api.call('deployApplication', { params: { applicationId } });
  await expect
    .poll(async () => (await api.call('getApplicationStatus', { params: { applicationId } })).state, { interval: 50 })
    .toBe(state);
}

/** All series seen in any scrape, with `UUID` in place of cluster ids. */
const recorded = new Set<string>();
const withoutIds = (series: string): string => series.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, 'UUID');

async function scrape(): Promise<Scrape> {
  const seen = await Scrape.of(server.baseUrl);
  for (const series of seen.series.keys()) recorded.add(withoutIds(series));
  return seen;
}

/** Waits until the series has an expected value. */
async function shows(series: string, isRight: (value: number) => boolean): Promise<Scrape> {
  let seen = await scrape();
  await expect
    .poll(
      async () => {
        seen = await scrape();
        return isRight(seen.value(series) ?? NaN) || `${series} is ${seen.value(series)}`;
      },
      { interval: 200 },
    )
    .toBe(true);
  return seen;
}

/** Makes calls of this method fail with a cause. */
function failing(method: string, cause: ConstructorParameters<typeof DriverError>[0]['cause'], times = Infinity): void {
  let left = times;
  local.script = {
    before: (call: FakeCall) => {
      if (call.method !== method || (left -= 1) < 0) return;
      throw new DriverError({ cause, message: 'as the test wants it', retryable: times !== Infinity });
    },
  };
}

test('deployments are counted by action, outcome and cause, steps by outcome and duration, and what is tried again', async () => {
  const environmentId = await newEnvironment();
  const applicationId = await newApplication(environmentId);
  await deployed(applicationId, 'DEPLOYED');
  const before = await shows('davit_deployments_total{action="deploy",outcome="succeeded"}', (value) => value === 1);
  // The series exists from the start, so that Prometheus sees the first failure as an increase.
  expect(before.value('davit_deployments_total{action="deploy",outcome="failed"}')).toBe(0);
  expect(before.value('davit_step_duration_seconds_count{step="build"}')).toBe(1);
  expect(before.value('davit_step_duration_seconds_bucket{step="build",le="3600"}')).toBe(1);
  failing('build', 'BUILD_COMMAND_FAILED');
  await deployed(await newApplication(environmentId), 'BUILD_ERROR');
  failing('start', 'START_FAILED');
  await deployed(await newApplication(environmentId), 'DEPLOYMENT_ERROR');
  failing('start', 'ENGINE_UNREACHABLE', 1);
  await deployed(await newApplication(environmentId), 'DEPLOYED');
  const after = await shows('davit_deployments_total{action="deploy",outcome="succeeded"}', (value) => value === 2);
  expect(after.value('davit_deployments_total{action="deploy",outcome="failed"}')).toBe(2);
  expect(after.value('davit_deployment_failures_total{action="deploy",cause="BUILD_COMMAND_FAILED"}')).toBe(1);
  expect(after.value('davit_deployment_failures_total{action="deploy",cause="START_FAILED"}')).toBe(1);
  expect(after.value('davit_steps_total{step="start",outcome="failed"}')).toBe(1);
  expect(after.value('davit_step_repeats_total{step="start",reason="retry"}')).toBe(1);
});

const endLockOfRunner = statement(
  'test_metrics_end_lock',
  `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'davit lock runner%'`,
);

test('a takeover is counted with the step that it repeats; the queue shows what waits for a worker and what waits its turn', async () => {
  const environmentId = await newEnvironment();
  const applicationId = await newApplication(environmentId);
  let begun = 0;
  const gate = Promise.withResolvers<void>();
  local.script = {
    before: async ({ method }) => {
      if (method !== 'build') return;
      begun += 1;
      await (begun === 1 ? new Promise(() => undefined) : gate.promise);
    },
  };
  await api.call('deployApplication', { params: { applicationId } });
  await expect.poll(() => begun).toBe(1);
  // This is another action, so that it is not merged into the queued request.
  await api.call('stopEnvironment', { params: { environmentId } });
  const waiting = await shows('davit_queue_length{state="blocked"}', (value) => value === 1);
  expect(waiting.value('davit_queue_length{state="ready"}')).toBe(0);
  expect(waiting.value('davit_queue_oldest_wait_seconds{state="blocked"}')).toBeGreaterThan(0);
  expect(waiting.value('davit_deployments_running')).toBe(1);
  expect(waiting.value('davit_steps_running{step="build"}')).toBe(1);
  expect(waiting.value('davit_step_oldest_running_seconds{step="build"}')).toBeGreaterThan(0);
  await server.database.database.run(endLockOfRunner);
  await expect.poll(() => begun).toBe(2);
  gate.resolve();
  const after = await shows('davit_deployments_total{action="stop",outcome="succeeded"}', (value) => value === 1);
  expect(after.value('davit_deployment_takeovers_total{reason="runner_died"}')).toBe(1);
  expect(after.value('davit_step_repeats_total{step="build",reason="resume"}')).toBe(1);
  expect(after.value('davit_steps_total{step="build",outcome="interrupted"}')).toBe(1);
});

test('a cluster that does not answer is shown, and what waits for it; so are an engine and a gateway that are away', async () => {
  const made = await api.call('createCluster', {
    params: { organizationId },
    body: { name: 'rack', region: 'basement', cloud_provider: 'ON_PREMISE' },
  });
  const ids = { organizationId, clusterId: made.id };
  const kubeconfig = 'apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\nusers: []\n';
  await api.call('editClusterKubeconfig', { params: ids, body: kubeconfig });
  await api.call('deployCluster', { params: ids });
  const up = await shows(`davit_cluster_up{cluster="${made.id}"}`, (value) => value === 1);
  expect(up.value('davit_cluster_up{cluster="local"}')).toBe(1);
  expect(up.value('davit_gateway_up{cluster="local"}')).toBe(1);
  isRemoteDown = true;
  local.isGatewayUp = false;
  const applicationId = await newApplication(await newEnvironment(made.id));
  await api.call('deployApplication', { params: { applicationId } });
  const down = await shows(`davit_cluster_up{cluster="${made.id}"}`, (value) => value === 0);
  expect(down.value('davit_gateway_up{cluster="local"}')).toBe(0);
  const waits = await shows('davit_deployments_waiting_for_cluster', (value) => value === 1);
  expect(waits.value(`davit_keeper_lag_seconds{cluster="${made.id}"}`)).toBeGreaterThan(0);
  isRemoteDown = false;
  local.isGatewayUp = true;
  await shows('davit_deployments_waiting_for_cluster', (value) => value === 0);
  failing('observe', 'ENGINE_UNREACHABLE');
  const [instance] = local.instances;
  // An event of the engine makes the keeper check the cluster.
  local.kill(instance?.id ?? '', 1);
  await shows('davit_cluster_up{cluster="local"}', (value) => value === 0);
  local.script = {};
});

const certificates = statement(
  'test_metrics_certificates',
  `insert into certificate (host, sealed, not_before, not_after, due_at, attempts)
   values ('soon.example.org', '\\x00', clock_timestamp(), clock_timestamp() + interval '5 days', 'infinity', 3),
          ('over.example.org', '\\x00', clock_timestamp(), clock_timestamp() - interval '1 hour', 'infinity', 0),
          ('none.example.org', null, null, null, 'infinity', 0)`,
);

test('webhooks that fail, events of git hosts that wait, and certificates that end are shown', async () => {
  receiverStatus = 500;
  await api.call('createOrganizationWebhook', {
    params: { organizationId },
    body: { kind: 'STANDARD', target_url: receiverUrl, events: ['DEPLOYMENT_SUCCESSFUL'], enabled: true },
  });
  const environmentId = await newEnvironment();
  await deployed(await newApplication(environmentId), 'DEPLOYED');
  const failed = await shows('davit_webhook_attempts_total{outcome="failed"}', (value) => value >= 1);
  expect(failed.value('davit_webhook_attempts_total{outcome="delivered"}')).toBe(0);
  await shows('davit_webhook_oldest_pending_seconds', (value) => value > 0);
  expect((await scrape()).value('davit_webhook_deliveries_pending')).toBeGreaterThan(0);
  // The default branch must be read from the git host, which is unreachable.
  failing('heads', 'GIT_UNREACHABLE');
  const git_repository = { url: 'https://git.example.org/shop/other.git' };
  const application = { name: 'follower', dockerfile_path: 'Dockerfile', git_repository, healthchecks: {}, auto_deploy: true };
  const { id: serviceId } = await api.call('createApplication', { params: { environmentId }, body: application });
  const { url, secret } = await api.call('createServiceGitWebhook', { params: { serviceId }, body: {} });
  const body = JSON.stringify({ ref: 'refs/heads/main', before: '0'.repeat(40), after: 'a'.repeat(40), pusher: { name: 'ada' } });
  await fetch(`${server.baseUrl}${new URL(url).pathname}`, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'push',
      'x-github-delivery': randomUUID(),
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    },
  });
  await server.database.database.run(certificates);
  const seen = await shows('davit_certificates{state="expired"}', (value) => value === 1);
  expect(seen.value('davit_certificates{state="valid"}')).toBe(1);
  expect(seen.value('davit_certificates{state="missing"}')).toBe(1);
  expect(seen.value('davit_certificates_failing')).toBe(1);
  expect(seen.value('davit_certificate_soonest_expiry_seconds')).toBeLessThan(0);
  await shows('davit_git_event_attempts_total{outcome="retried"}', (value) => value >= 1);
  await shows('davit_git_events_pending', (value) => value === 1);
});

/** Ends the backup's script with this exit code once the script is awaited. */
async function benchEnds(script: 'dump.sh' | 'prove.sh', exitCode: number): Promise<void> {
  const find = (): Instance | undefined =>
    local.instances.find(
      ({ id, state }) => state === 'RUNNING' && local.workloads.get(id)?.entrypoint.join(' ').includes(script) === true,
    );
  await expect.poll(() => find() !== undefined, { interval: 20 }).toBe(true);
  const tool = find();
  if (tool === undefined) throw new Error('it is gone');
  if (script === 'dump.sh') {
    local.write(tool.id, '/davit/out/backup/facts', 'version 16.1\nbytes 4096\n');
    local.write(tool.id, '/davit/out/backup', 'all of the data');
  }
  const puts = (): number => local.calls.filter(({ method, service }) => method === 'putInto' && service === tool.service).length;
  // A proof begins only after the backup was put into its instance.
  await expect.poll(puts, { interval: 20 }).toBeGreaterThanOrEqual(script === 'dump.sh' ? 0 : 2);
  local.kill(tool.id, exitCode);
}

const age = statement(
  'test_metrics_age',
  `update database_backup set proven_at = proven_at - interval '3 days' where proven_at is not null`,
);

test('a backup that proves to be damaged is counted, and the age of the last one that is good is shown', async () => {
  const environmentId = await newEnvironment();
  const body = { name: 'store', type: 'POSTGRESQL', version: '16', mode: 'MANAGED' } as const;
  const { id: databaseId } = await api.call('createDatabase', { params: { environmentId }, body });
  await api.call('deployDatabase', { params: { databaseId } });
  const state = async () => (await api.call('getDatabaseStatus', { params: { databaseId } })).state;
  await expect.poll(state, { interval: 50 }).toBe('DEPLOYED');
  await askForDueBackups(server.api.deps, new Date());
  const unproven = await shows('davit_backup_unproven_databases', (value) => value === 1);
  expect(unproven.value('davit_backup_databases')).toBe(1);
  expect(unproven.value('davit_backup_last_proof_age_seconds')).toBeUndefined();
  await benchEnds('dump.sh', 0);
  await benchEnds('prove.sh', 0);
  await shows('davit_backups_total{work="backup",outcome="succeeded"}', (value) => value === 1);
  await server.database.database.run(age);
  const backup = { name: 'second', message: '' };
  await api.call('addBackupDatabase', { params: { databaseId }, body: backup });
  await benchEnds('dump.sh', 0);
  await benchEnds('prove.sh', 1);
  // Values from the database are cached for a moment; counters are not.
  await shows('davit_backup_oldest_proof_age_seconds', (value) => value > 3 * 86_400);
  const seen = await shows('davit_backups_total{work="backup",outcome="failed"}', (value) => value === 1);
  expect(seen.value('davit_backup_failures_total{work="backup",cause="BACKUP_NOT_PROVEN"}')).toBe(1);
});

test('a pool without a free connection shows who waits; the page answers at once with what the process knows itself', async () => {
  const { database } = server.database;
  const gate = Promise.withResolvers<void>();
  const held = Array.from({ length: database.pool.maximum }, () => database.transaction(() => gate.promise));
  try {
    await expect.poll(() => database.pool.idle === 0 && database.pool.busy).toBe(database.pool.maximum);
    // No cached value replaces the database's.
    await expect.poll(async () => (await scrape()).value('davit_source_up{source="database"}'), { interval: 500 }).toBe(0);
    const began = performance.now();
    const seen = await scrape();
    expect(performance.now() - began).toBeLessThan(3000);
    expect(seen.value('davit_database_pool_waiting')).toBeGreaterThan(0);
    expect(seen.value('davit_database_pool_connections{state="idle"}')).toBe(0);
    expect(seen.value('davit_database_pool_wait_seconds_total')).toBeGreaterThan(0);
    expect(seen.value('davit_deployments_total{action="deploy",outcome="failed"}')).toBeDefined();
    expect(seen.value('davit_queue_length{state="ready"}')).toBeUndefined();
  } finally {
    gate.resolve();
    await Promise.all(held);
  }
  await shows('davit_source_up{source="database"}', (value) => value === 1);
});

test('every series that the alerts are tested with, and every name in alerts and dashboard, was on the page', async () => {
  await shows('davit_source_up{source="database"}', (value) => value === 1);
  // The step `complete` belongs to jobs, which none of these faults involves; it is an ordinary step otherwise.
  const series = faultSeries().filter((one) => !one.includes('step="complete"'));
  expect(series.filter((one) => !recorded.has(withoutIds(one)))).toEqual([]);
  const names = new Set([...recorded].map((one) => one.split('{', 1)[0]));
  const used = [
    ...alertRules().map(({ expr }) => expr),
    ...dashboardExpressions(),
    ...dashboard.templating.list.map(({ definition = '' }) => definition),
  ];
  expect(used.flatMap(namesIn).filter((name) => !names.has(name))).toEqual([]);
});
