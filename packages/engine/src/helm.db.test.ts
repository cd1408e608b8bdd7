import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '@davit/base';
import { DatabaseUnavailable } from '@davit/db';
import { DriverError, type FakeCharts } from '@davit/drivers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { releaseName } from './kinds/chart/ref.ts';
import type { HelmReleaseSource, RequestedService } from './port.ts';
import { config, helmSource } from './testing/config.ts';
import { createTestEngine, eventually, service, type TestEngine } from './testing/test-engine.ts';

let fixture: TestEngine;
let charts: FakeCharts;
beforeEach(async () => {
  fixture = await createTestEngine();
  charts = fixture.charts;
  Object.assign(fixture.fake.cluster, { charts: charts.charts });
});
afterEach(() => fixture.close());

function chart(source: Partial<HelmReleaseSource> = {}): RequestedService {
  return service({ serviceType: 'HELM', name: 'redis', config: config({ source: helmSource(source), ports: [], instances: 0 }) });
}

/** Returns the same service with another source. */
function as(one: RequestedService, source: Partial<HelmReleaseSource>): RequestedService {
  return { ...one, release: { config: config({ source: helmSource(source), ports: [], instances: 0 }), commitId: null } };
}

const version = (chart_version: string) => ({ chart: { repository: 'r', chart_name: 'redis', chart_version } });
const set = (text: string): Partial<HelmReleaseSource> => ({
  values: { set: [['text', text]], set_string: [], set_json: [], file: null },
});
const live = ({ serviceId }: RequestedService): string | undefined => charts.live(releaseName(serviceId))?.values.set[0]?.[1];
const statuses = ({ serviceId }: RequestedService): string[] =>
  (charts.releases.get(releaseName(serviceId)) ?? []).map(({ status }) => status);

async function log(): Promise<string> {
  const { lines } = await fixture.engine.port.deploymentLog(fixture.database.database, fixture.environmentId, null);
  return lines.map(({ message }) => message).join('\n');
}

/** Deploys the service, and waits until that execution has ended. */
async function deployed(one: RequestedService, number: number, overrides: Parameters<TestEngine['deploy']>[1] = {}) {
  await fixture.deploy([one], overrides);
  return ended(one, number);
}

async function ended({ serviceId }: RequestedService, number: number) {
  const ends = ['DEPLOYED', 'DEPLOYMENT_ERROR', 'CANCELED', 'STOPPED', 'READY', 'DELETE_ERROR', 'STOP_ERROR'];
  return eventually(async () => {
    const view = await fixture.view(serviceId);
    return view.executionId?.endsWith(`-${number}`) === true && ends.includes(view.state) ? view : undefined;
  }, `the end of execution ${number}`);
}

/** An upgrade that hangs until its signal aborts. */
const hangs = (signal: AbortSignal): Promise<void> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('told to stop')), { once: true });
  });

test('a chart is fetched and installed with its values, variables and labels, and nothing of it stays on this machine', async () => {
  const secret = crypto.randomUUID();
  fixture.secrets.set(secret, 'sesame');
  const redis = service({
    serviceType: 'HELM',
    name: 'redis',
    config: config({
      source: helmSource({ ...set('one'), arguments: ['--no-hooks'] }),
      ports: [],
      instances: 0,
      environment: [
        { name: 'PASSWORD', parts: [{ secret }] },
        { name: 'CA', parts: ['/etc/ca'] },
      ],
      files: [{ path: '/etc/ca', parts: ['its text'] }],
    }),
  });
  const view = await deployed(redis, 1);
  expect(view).toMatchObject({ state: 'DEPLOYED', failure: null });
  expect(view.steps?.details.map(({ metric }) => metric)).toEqual(['DEPLOYMENT_QUEUEING', 'DEPLOYMENT']);
  const installed = charts.live(releaseName(redis.serviceId));
  expect(installed).toMatchObject({ arguments: ['--no-hooks'], labels: { 'davit.service': redis.serviceId } });
  expect([...(installed?.variables ?? [])]).toEqual([
    ['PASSWORD', 'sesame'],
    ['CA', 'its text'],
  ]);
  expect(existsSync(join(fixture.workFolder, view.executionId ?? ''))).toBe(false);
  expect(await log()).not.toContain('sesame');
  await eventually(
    async () => ((await fixture.view(redis.serviceId)).runningStatus === 'RUNNING' ? true : undefined),
    'the status',
  );
});

test('an upgrade that fails leaves what was deployed before, with the cause', async () => {
  const redis = chart(set('one'));
  await deployed(redis, 1);
  charts.onUpgrade = () => Promise.reject(new DriverError({ cause: 'IMAGE_NOT_FOUND', message: 'Deployment web: no image' }));
  const view = await deployed(as(redis, set('two')), 2);
  expect(view).toMatchObject({
    state: 'DEPLOYMENT_ERROR',
    failure: { code: 'IMAGE_NOT_FOUND', message: 'Deployment web: no image' },
  });
  expect([live(redis), statuses(redis)]).toEqual(['one', ['superseded', 'failed', 'deployed']]);
  expect(await log()).toContain('Revision 1, which was deployed before, is restored.');
  charts.onUpgrade = null;
  expect((await deployed(as(redis, set('three')), 3)).state).toBe('DEPLOYED');
  expect(live(redis)).toBe('three');
});

test('what is brought back is tried again where Helm fails once, and told where it cannot be', async () => {
  const redis = chart(set('one'));
  await deployed(redis, 1);
  const no = () => Promise.reject(new DriverError({ cause: 'HELM_FAILED', message: 'no' }));
  charts.onUpgrade = no;
  let failures = 2;
  charts.onRollback = () => (failures-- > 0 ? no() : Promise.resolve());
  expect((await deployed(as(redis, set('two')), 2)).state).toBe('DEPLOYMENT_ERROR');
  expect(live(redis)).toBe('one');
  charts.onRollback = no;
  const { failure } = await deployed(as(redis, set('three')), 3);
  expect(failure?.message).toContain('The former release could not be restored: no');
  expect(live(redis)).toBe('three');
});

test('a first installation that fails leaves nothing', async () => {
  charts.onUpgrade = () => Promise.reject(new DriverError({ cause: 'HELM_FAILED', message: 'no' }));
  const redis = chart();
  expect((await deployed(redis, 1)).failure?.code).toBe('HELM_FAILED');
  expect(charts.releases.size).toBe(0);
  expect(charts.done).toEqual(['upgrade', 'uninstall', 'remove claims']);
});

test('a cancel in the middle brings back what was deployed before', async () => {
  const redis = chart(set('one'));
  await deployed(redis, 1);
  charts.onUpgrade = hangs;
  await fixture.deploy([as(redis, set('two'))]);
  await eventually(() => Promise.resolve(live(redis) === 'two' ? true : undefined), 'the upgrade');
  await fixture.engine.port.cancel(fixture.environmentId, false);
  expect((await ended(redis, 2)).state).toBe('CANCELED');
  expect([live(redis), statuses(redis).at(-1)]).toEqual(['one', 'deployed']);
});

test('a release that a killed worker left in the middle is repaired, and the deployment goes on', async () => {
  const redis = chart(set('one'));
  await deployed(redis, 1);
  charts.onUpgrade = hangs;
  charts.dies = true;
  await fixture.deploy([as(redis, set('two'))]);
  await eventually(() => Promise.resolve(live(redis) === 'two' ? true : undefined), 'the upgrade');
  await fixture.engine.stop();
  expect(statuses(redis)).toEqual(['deployed', 'pending-upgrade']);
  charts.onUpgrade = null;
  await fixture.restart();
  expect((await ended(redis, 2)).state).toBe('DEPLOYED');
  expect(charts.done).toEqual(['upgrade', 'upgrade', 'rollback 1', 'upgrade']);
  expect(live(redis)).toBe('two');
});

test('an earlier release is installed again as it was: chart, commit and values', async () => {
  const git = {
    git_repository: { url: 'https://git.example/values', branch: 'main', root_path: '/', git_token_id: null },
    paths: ['Dockerfile'],
  };
  const values = { set: [['text', 'one']], set_string: [], set_json: [], file: { raw: null, git } };
  fixture.fake.branches.set('main', 'a'.repeat(40));
  const redis = chart({ ...version('1.0.0'), values });
  const first = await deployed(redis, 1);
  fixture.fake.branches.set('main', 'b'.repeat(40));
  await deployed(as(redis, { ...version('2.0.0'), values: { ...values, set: [['text', 'two']] } }), 2);
  expect(fixture.fetched.at(-1)).toEqual({ name: 'redis', version: '2.0.0' });
  await deployed({ ...redis, release: { releaseId: first.deployedReleaseId ?? '' } }, 3);
  expect(fixture.fetched.at(-1)).toEqual({ name: 'redis', version: '1.0.0' });
  expect(live(redis)).toBe('one');
  const commits = (await log()).match(/values are from commit (\w+)/g);
  // The commit is that of the first deployment: it is not resolved again.
  expect(commits).toBeNull();
  expect(fixture.fake.calls.filter(({ method }) => method === 'resolve')).toHaveLength(2);
});

test('a chart is stopped and comes back with the next deployment; it cannot be restarted', async () => {
  const redis = chart(set('one'));
  await deployed(redis, 1);
  const { release, ...plain } = redis;
  expect(release).toBeDefined();
  expect((await deployed(plain, 2, { action: 'STOP' })).state).toBe('STOPPED');
  expect(charts.done).toEqual(['upgrade', 'stop']);
  expect((await fixture.view(redis.serviceId)).runningStatus).toBe('STOPPED');
  await expect(fixture.deploy([plain], { action: 'RESTART' })).rejects.toMatchObject({ code: 'NOT_SUPPORTED' });
  await deployed(as(redis, set('two')), 3);
  expect(charts.done).toEqual(['upgrade', 'stop', 'upgrade', 'wake']);
});

test('what fails while it is stopped stays stopped', async () => {
  const redis = chart(set('one'));
  await deployed(redis, 1);
  const { release: _, ...plain } = redis;
  await deployed(plain, 2, { action: 'STOP' });
  charts.onUpgrade = () => Promise.reject(new DriverError({ cause: 'HELM_FAILED', message: 'no' }));
  await deployed(as(redis, set('two')), 3);
  expect(charts.done.slice(2)).toEqual(['upgrade', 'rollback 1', 'stop']);
});

test('a deletion uninstalls the release with its volumes', async () => {
  const redis = chart();
  await deployed(redis, 1);
  const { release: _, ...plain } = redis;
  await fixture.deploy([plain], { action: 'DELETE' });
  await eventually(() => Promise.resolve(fixture.deleted.includes(redis.serviceId) ? true : undefined), 'the deletion');
  expect(charts.done).toEqual(['upgrade', 'uninstall', 'remove claims']);
  expect(charts.releases.size).toBe(0);
});

test('a chart that makes what is outside of its namespace is refused before anything is made', async () => {
  charts.outside = ['ClusterRole reader', 'Role a in namespace b'];
  const redis = chart();
  const { failure } = await deployed(redis, 1);
  expect(failure).toMatchObject({
    code: 'HELM_OUTSIDE_ENVIRONMENT',
    message: expect.stringContaining('ClusterRole reader, Role a in namespace b'),
  });
  expect(charts.done).toEqual([]);
  expect((await deployed(as(redis, { allowClusterWideResources: true }), 2)).state).toBe('DEPLOYED');
});

test('what was made with the rights of Davit is taken away with them, also where the operator forbids them since', async () => {
  const wide = { allowClusterWideResources: true };
  const redis = chart({ ...set('one'), ...wide });
  await deployed(redis, 1);
  charts.allowsClusterWide = false;
  expect((await deployed(as(redis, { ...set('two'), ...wide }), 2)).failure?.code).toBe('HELM_OUTSIDE_ENVIRONMENT');
  charts.onUpgrade = () => Promise.reject(new DriverError({ cause: 'HELM_FAILED', message: 'no' }));
  // The deployment is judged by its own configuration. The former release is restored with the permissions it was
  // created with.
  expect((await deployed(as(redis, set('three')), 3)).failure?.code).toBe('HELM_FAILED');
  expect(live(redis)).toBe('one');
  const made = charts.accessRequests.map(({ isClusterWide, takesBack }) => [isClusterWide, takesBack]);
  expect(made).toEqual([
    [true, false],
    [false, false],
    [true, true],
  ]);
  const { release: _, ...plain } = redis;
  await deployed(plain, 4, { action: 'UNINSTALL' });
  expect(charts.releases.size).toBe(0);
});

test('what is brought back is not waited for after a cancel with force', async () => {
  const redis = chart(set('one'));
  await deployed(redis, 1);
  charts.onUpgrade = hangs;
  const waited: boolean[] = [];
  charts.onRollback = ({ waits }, signal) => {
    waited.push(waits);
    return waits ? hangs(signal) : Promise.resolve();
  };
  await fixture.deploy([as(redis, set('two'))]);
  await eventually(() => Promise.resolve(live(redis) === 'two' ? true : undefined), 'the upgrade');
  await fixture.engine.port.cancel(fixture.environmentId, false);
  await eventually(() => Promise.resolve(waited.length > 0 ? true : undefined), 'the rollback');
  await fixture.engine.port.cancel(fixture.environmentId, true);
  expect((await ended(redis, 2)).state).toBe('CANCELED');
  expect([live(redis), waited]).toEqual(['one', [true, false]]);
});

test('a chart that cannot be looked at takes nothing from the status of others', async () => {
  const [one, other] = [chart(), chart()];
  await deployed(one, 1);
  await deployed(other, 2);
  const seen = ({ serviceId }: RequestedService, status: string | null) =>
    eventually(async () => ((await fixture.view(serviceId)).runningStatus === status ? true : undefined), `the status ${status}`);
  await seen(one, 'RUNNING');
  const sound = charts.charts;
  const state: typeof sound.state = (chart, signal) =>
    chart.owner.service === one.serviceId
      ? Promise.reject(new DriverError({ cause: 'CLUSTER_ACCESS_DENIED', message: 'not allowed' }))
      : sound.state(chart, signal);
  Object.assign(fixture.fake.cluster, { charts: { ...sound, state } });
  charts.state = { wanted: 2, ready: 1 };
  await fixture.restart();
  expect(await seen(other, 'WARNING')).toBe(true);
  expect(await seen(one, null)).toBe(true);
});

test('what a deployment would change is told, and nothing is changed', async () => {
  const redis = chart(set('one'));
  const first = await deployed(redis, 1);
  const view = await deployed(as(redis, { ...set('two'), action: 'DIFF' }), 2);
  expect(view).toMatchObject({ state: 'DEPLOYED', deployedReleaseId: first.deployedReleaseId });
  expect(await log()).toContain('~ Deployment web');
  expect([live(redis), charts.done]).toEqual(['one', ['upgrade']]);
});

test('a chart is fetched again where the database was away for a moment', async () => {
  const redis = chart();
  fixture.onFetch = () => {
    fixture.onFetch = null;
    return Promise.reject(new DatabaseUnavailable(undefined));
  };
  expect(await deployed(redis, 1)).toMatchObject({ state: 'DEPLOYED', failure: null });
  expect(fixture.fetched).toHaveLength(1);
});

test('where there is no Kubernetes, no chart, or a release of somebody else, that is told', async () => {
  const redis = chart();
  charts.take(releaseName(redis.serviceId));
  expect((await deployed(redis, 1)).failure?.code).toBe('HELM_RELEASE_TAKEN');
  expect(statuses(redis)).toEqual(['deployed']);
  const other = chart();
  fixture.onFetch = () =>
    Promise.reject(new AppError({ code: 'SOURCE_NOT_USABLE', message: 'the repository has no 9 of redis' }));
  expect((await deployed(other, 2)).failure).toMatchObject({
    code: 'HELM_CHART_UNAVAILABLE',
    message: 'the repository has no 9 of redis',
  });
  Object.assign(fixture.fake.cluster, { charts: undefined });
  expect((await deployed(as(other, {}), 3)).failure?.code).toBe('HELM_NEEDS_KUBERNETES');
});
