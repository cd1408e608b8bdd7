import { DriverError, type FakeCharts } from '@davit/drivers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { releaseName } from './kinds/chart/ref.ts';
import type { RequestedService } from './port.ts';
import { config, helmSource } from './testing/config.ts';
import { Sites, type Site } from './testing/sites.ts';
import { createTestEngine, eventually, service, type TestEngine } from './testing/test-engine.ts';

/* Charts on clusters that are sometimes unreachable, or that their environment leaves. */

let fixture: TestEngine;
let east: Site;
let west: Site;
let charts: FakeCharts;
beforeEach(async () => {
  const sites = new Sites(true, true);
  east = sites.add('east');
  west = sites.add('west');
  fixture = await createTestEngine({}, sites);
  charts = fixture.charts.elsewhere('east');
  charts.onAsk = answers;
  east.charts = charts;
  west.charts = fixture.charts.elsewhere('west');
});
afterEach(() => fixture.close());

const refused = () => Promise.reject(new DriverError({ cause: 'ENGINE_UNREACHABLE', message: 'refused', retryable: true }));
const answers = (): Promise<void> => (east.isDown ? refused() : Promise.resolve());

function chart(text: string): RequestedService {
  return service({ serviceType: 'HELM', name: 'redis', config: configOf(text) });
}
const configOf = (text: string, overrides: Parameters<typeof helmSource>[0] = {}) =>
  config({
    source: helmSource({ values: { set: [['text', text]], set_string: [], set_json: [], file: null }, ...overrides }),
    ports: [],
    instances: 0,
  });
const as = (one: RequestedService, text: string): RequestedService => ({
  ...one,
  release: { config: configOf(text), commitId: null },
});
const live = ({ serviceId }: RequestedService): string | undefined => charts.live(releaseName(serviceId))?.values.set[0]?.[1];
const plain = ({ release: _none, ...rest }: RequestedService): RequestedService => rest;
const deploy = (one: RequestedService, overrides: Parameters<TestEngine['deploy']>[1] = {}) =>
  fixture.deploy([one], { environment: east.environment, ...overrides });
const isLive = (one: RequestedService, text: string): Promise<true> =>
  eventually(() => Promise.resolve(live(one) === text ? true : undefined), `the values ${text}`);
const inState = async (one: RequestedService, number: number, ...states: string[]) =>
  eventually(
    async () => {
      const view = await fixture.view(one.serviceId);
      return view.executionId?.endsWith(`-${number}`) === true && states.includes(view.state) ? view : undefined;
    },
    `execution ${number} to be ${states.join(' or ')}`,
  );
const waits = (): Promise<true> =>
  eventually(async () => {
    const { lines } = await fixture.engine.port.deploymentLog(fixture.database.database, east.environment.environmentId, null);
    return lines.some(({ message }) => message.includes('The deployment waits for it')) ? true : undefined;
  }, 'the wait');

test('what failed while its cluster goes away is brought back when that is there again', async () => {
  const redis = chart('one');
  await deploy(redis);
  await inState(redis, 1, 'DEPLOYED');
  let upgrades = 0;
  charts.onUpgrade = () => {
    upgrades += 1;
    // The failure itself is reported as such: only its undo finds the cluster unreachable.
    if (upgrades === 1) charts.onAsk = (what) => (what === 'revisions' ? away() : answers());
    return Promise.reject(new DriverError({ cause: 'IMAGE_NOT_FOUND', message: 'no image' }));
  };
  const away = () => {
    east.isDown = true;
    return refused();
  };
  await deploy(as(redis, 'two'));
  await waits();
  expect(live(redis)).toBe('two');
  charts.onAsk = answers;
  east.isDown = false;
  const view = await inState(redis, 2, 'DEPLOYMENT_ERROR');
  expect(view.failure?.code).toBe('IMAGE_NOT_FOUND');
  expect(live(redis)).toBe('one');
});

test.each([false, true])(
  'a cancel waits for a cluster that is away to take back what was begun, unless with force: %s',
  async (force) => {
    const redis = chart('one');
    await deploy(redis);
    await inState(redis, 1, 'DEPLOYED');
    charts.onUpgrade = (signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('told to stop')), { once: true }));
    await deploy(as(redis, 'two'));
    await isLive(redis, 'two');
    east.isDown = true;
    await fixture.engine.port.cancel(east.environment.environmentId, false);
    await waits();
    expect((await fixture.view(redis.serviceId)).state).toBe('CANCELING');
    if (force) await fixture.engine.port.cancel(east.environment.environmentId, true);
    else east.isDown = false;
    await inState(redis, 2, 'CANCELED');
    expect(live(redis)).toBe(force ? 'two' : 'one');
  },
);

test('it waits for a cluster that goes away while its pods are watched', async () => {
  const redis = chart('one');
  charts.onUpgrade = () => {
    east.isDown = true;
    return Promise.reject(new DriverError({ cause: 'PROBE_FAILED', message: 'nobody answers' }));
  };
  await deploy(redis);
  await waits();
  charts.onUpgrade = null;
  east.isDown = false;
  await inState(redis, 1, 'DEPLOYED');
  expect(live(redis)).toBe('one');
});

test('what was stopped comes back also where the cluster goes away between the upgrade and that', async () => {
  const redis = chart('one');
  await deploy(redis);
  await inState(redis, 1, 'DEPLOYED');
  await deploy(plain(redis), { action: 'STOP' });
  await inState(redis, 2, 'STOPPED');
  charts.onAsk = (what) => {
    if (what === 'wake') east.isDown = true;
    return answers();
  };
  await deploy(as(redis, 'two'));
  await waits();
  charts.onAsk = answers;
  east.isDown = false;
  await inState(redis, 3, 'DEPLOYED');
  expect(charts.done).toEqual(['upgrade', 'stop', 'upgrade', 'wake']);
});

test.each(['answers', 'refuses the routes'])(
  'an environment that moves leaves no release where it was, also where its new cluster %s',
  async (how) => {
    const redis = chart('one');
    await deploy(redis);
    await inState(redis, 1, 'DEPLOYED');
    west.refusesRoutes = how !== 'answers';
    await deploy(redis, { environment: { ...east.environment, clusterId: west.id, driver: west.id } });
    await inState(redis, 2, 'DEPLOYED', 'DEPLOYMENT_ERROR');
    await eventually(() => Promise.resolve(charts.releases.size === 0 ? true : undefined), 'the end of the release');
    expect(charts.done).toEqual(['upgrade', 'uninstall', 'remove claims']);
    expect(fixture.charts.elsewhere('west').releases.size).toBe(1);
    const removed = () =>
      Promise.resolve(east.fake.calls.some(({ method }) => method === 'removeEnvironment') ? true : undefined);
    await eventually(removed, 'the removal of the environment');
  },
);
