import { DriverError, type FakeScaled, type Instance } from '@davit/drivers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ReleaseConfig, RequestedService } from '../port.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';

/* Tests scaling on a cluster in memory that decides by itself. The tests set its numbers, as autoscalers do. */

let fixture: TestEngine;
beforeEach(async () => {
  fixture = await createTestEngine({ decides: true, metricsSeconds: 0.1, scaleDownSeconds: 0.2 });
});
afterEach(() => fixture.close());

const byUse: ReleaseConfig['scaling'] = { most: 4, cpuPercent: 60, memoryPercent: null };
const byEvents: ReleaseConfig['scaling'] = {
  ...byUse,
  events: { pollingSeconds: 30, cooldownSeconds: 300, triggers: [{ type: 'cron', metadata: { timezone: 'Etc/UTC' } }] },
};
const configOf = ({ release }: RequestedService): ReleaseConfig => {
  if (release === undefined || !('config' in release)) throw new Error('no configuration');
  return release.config;
};
const scaled = (
  scaling: ReleaseConfig['scaling'],
  overrides: Partial<ReleaseConfig> = {},
  shop = service(),
): RequestedService => {
  const { scaling: _, ...plain } = configOf(shop);
  return { ...shop, release: { config: { ...plain, ...(scaling && { scaling }), ...overrides }, commitId: null } };
};
const of = (shop: RequestedService): Instance[] => fixture.fake.instances.filter(({ service: id }) => id === shop.serviceId);
/** Returns the ids of the instances that receive requests. */
const backends = (shop: RequestedService): string[] =>
  fixture.fake.routes.http.find(({ id }) => id === `port-${shop.serviceId}`)?.backends.map(({ id }) => id) ?? [];
const served = (shop: RequestedService): number => backends(shop).length;
const reported = (shop: RequestedService): FakeScaled | undefined => fixture.fake.scaling.services.get(shop.serviceId);
const want = (shop: RequestedService, instances: number): void => fixture.fake.scaling.write(shop.serviceId, instances);

async function deployed(shop: RequestedService): Promise<void> {
  expect(await fixture.ends(await fixture.deploy([shop]))).toBe('SUCCEEDED');
}

async function reaches(shop: RequestedService, count: number): Promise<void> {
  await eventually(async () => {
    const { wantedInstances, runningInstances } = await fixture.view(shop.serviceId);
    const isThere = of(shop).length === count && served(shop) === count && wantedInstances === count;
    return isThere && runningInstances === count && reported(shop)?.running === count ? true : undefined;
  }, `${count} instances that serve and are reported`);
}

test('the number of the cluster is followed within the limits, told, reported, and Davit decides nothing itself', async () => {
  const shop = scaled(byUse);
  await deployed(shop);
  expect(reported(shop)).toMatchObject({ instances: 1, scaled: { min: 1, max: 4, by: { type: 'USE', cpuPercent: 60 } } });
  for (const { id } of of(shop)) fixture.fake.use(id, { cpuMillicores: 500, memoryMiB: 16 });
  const routedWhenStopped: string[] = [];
  fixture.fake.script = {
    before: ({ method, instances = [] }) => {
      const routed = backends(shop).filter((id) => instances.includes(id));
      if (method === 'retire') routedWhenStopped.push(...routed);
    },
  };
  want(shop, 3);
  await reaches(shop, 3);
  want(shop, 40);
  await reaches(shop, 4);
  want(shop, 1);
  await reaches(shop, 1);
  expect(routedWhenStopped).toEqual([]);
  const { scalings } = await fixture.engine.port.metrics(fixture.database.database, shop.serviceId, 60);
  expect(scalings.map(({ from, to }) => [from, to])).toEqual([
    [4, 1],
    [3, 4],
    [1, 3],
  ]);
  expect(scalings[0]?.reason).toContain('HorizontalPodAutoscaler');
});

test('a number without a limit is cut to what the cluster has room for', async () => {
  const { cpuMillicores } = await fixture.fake.cluster.describe(new AbortController().signal);
  const shop = scaled({ most: null, cpuPercent: 60, memoryPercent: null }, { cpuMillicores: cpuMillicores / 2, memoryMiB: 1 });
  await deployed(shop);
  want(shop, 100_000);
  await reaches(shop, 2);
  expect(reported(shop)?.instances).toBe(100_000);
});

test('a change is acted on when it happens, not with the next measurement', async () => {
  await fixture.close();
  fixture = await createTestEngine({ decides: true, metricsSeconds: 3 });
  const shop = scaled(byUse);
  await deployed(shop);
  // The watch has begun: it starts with the first measurement that finds the service.
  await eventually(async () => (fixture.fake.calls.some(({ method }) => method === 'wanted') ? true : undefined), 'a look');
  const began = performance.now();
  want(shop, 2);
  await eventually(async () => (of(shop).length === 2 ? true : undefined), 'the second instance');
  expect(performance.now() - began).toBeLessThan(1_500);
});

test('a deployment goes first: it takes the number as it is, and changes limits and rollout', async () => {
  const shop = scaled(byUse);
  await deployed(shop);
  want(shop, 3);
  await reaches(shop, 3);
  const former = reported(shop)?.scaled.rollout;
  let whileStarting = 0;
  fixture.fake.script = {
    before: ({ method, detail }) => {
      if (method !== 'awaitReady' || detail === former || whileStarting > 0) return;
      whileStarting = of(shop).filter(({ rollout }) => rollout === detail).length;
      want(shop, 4);
    },
  };
  await deployed(scaled({ ...byUse, most: 5 }, { memoryMiB: 256 }, shop));
  expect(whileStarting).toBe(3);
  expect(reported(shop)?.scaled).toMatchObject({ max: 5, rollout: of(shop).at(-1)?.rollout });
  expect(reported(shop)?.scaled.rollout).not.toBe(former);
  // Changes made meanwhile are neither lost nor overwritten.
  await reaches(shop, 4);
  // Nobody decides on a stopped service.
  await fixture.deploy([shop], { action: 'STOP' });
  await fixture.reaches(shop.serviceId, 'STOPPED');
  expect(reported(shop)).toBeUndefined();
  await deployed(scaled(undefined, {}, shop));
  expect(reported(shop)).toBeUndefined();
});

test('what a process began by the cluster’s number, the next one ends; what it was not told, it is told', async () => {
  const shop = scaled(byUse);
  await deployed(shop);
  fixture.fake.script = { before: ({ method }) => (method === 'awaitReady' ? new Promise(() => undefined) : undefined) };
  want(shop, 2);
  await eventually(async () => (of(shop).length === 2 ? true : undefined), 'a second instance');
  await fixture.engine.stop();
  fixture.fake.script = {};
  fixture.fake.scaling.services.delete(shop.serviceId);
  await fixture.restart();
  await eventually(async () => (reported(shop)?.instances === 2 ? true : undefined), 'the cluster to be told again');
  await reaches(shop, 2);
  expect(reported(shop)?.scaled).toMatchObject({ max: 4 });
  fixture.fake.script = { before: ({ method }) => (method === 'awaitDrained' ? new Promise(() => undefined) : undefined) };
  want(shop, 1);
  await eventually(async () => (served(shop) === 1 ? true : undefined), 'a route less');
  await fixture.engine.stop();
  fixture.fake.script = {};
  await fixture.restart();
  await reaches(shop, 1);
});

test('events bring a service to nothing and back; a deployment meanwhile shows that its release gets ready', async () => {
  const shop = scaled(byEvents, { instances: 0 });
  await deployed(shop);
  expect(reported(shop)).toMatchObject({ instances: 1, scaled: { min: 0, by: { type: 'EVENTS', pollingSeconds: 30 } } });
  want(shop, 0);
  await reaches(shop, 0);
  expect(await fixture.view(shop.serviceId)).toMatchObject({ state: 'DEPLOYED', runningStatus: 'STOPPED' });
  want(shop, 2);
  await reaches(shop, 2);
  want(shop, 0);
  await reaches(shop, 0);
  let most = 0;
  fixture.fake.script = { after: () => void (most = Math.max(most, of(shop).length)) };
  await deployed(scaled(byEvents, { instances: 0, memoryMiB: 256 }, shop));
  expect(most).toBe(1);
  await reaches(shop, 0);
});

test('without what it needs, autoscaling fails before anything is touched, and use is Davit’s to decide on', async () => {
  const shop = scaled(byUse);
  fixture.fake.scaling.lacks = ['KEDA (keda.sh/v1alpha1)'];
  await deployed(shop);
  const before = of(shop).map(({ id }) => id);
  const seen = fixture.fake.calls.length;
  await fixture.deploy([scaled(byEvents, {}, shop)]);
  const failed = await fixture.reaches(shop.serviceId, 'DEPLOYMENT_ERROR', 'BUILD_ERROR');
  expect(failed.failure).toMatchObject({
    code: 'AUTOSCALING_UNAVAILABLE',
    message: expect.stringContaining('lacks KEDA (keda.sh/v1alpha1)'),
  });
  const since = fixture.fake.calls.slice(seen).map(({ method }) => method);
  for (const touching of ['start', 'build', 'scale']) expect(since).not.toContain(touching);
  expect(of(shop).map(({ id }) => id)).toEqual(before);
  for (const { id } of of(shop)) fixture.fake.use(id, { cpuMillicores: 500, memoryMiB: 16 });
  await eventually(async () => (of(shop).length > 1 ? true : undefined), 'a second instance by Davit’s own decision');
  expect(reported(shop)).toBeUndefined();
  // The cluster decides as soon as it can.
  fixture.fake.scaling.lacks = [];
  await eventually(async () => (reported(shop) === undefined ? undefined : true), 'the cluster to decide');
});

test('instances that do not get ready go again and are not asked for at once, and fewer still are', async () => {
  const shop = scaled(byUse);
  await deployed(shop);
  want(shop, 2);
  await reaches(shop, 2);
  fixture.fake.script = {
    before: ({ method }) => {
      if (method === 'awaitReady') throw new DriverError({ cause: 'PORT_NOT_LISTENING', message: 'nobody listens' });
    },
  };
  want(shop, 3);
  const { database } = fixture.database;
  const back = await eventually(async () => {
    const { scalings } = await fixture.engine.port.metrics(database, shop.serviceId, 60);
    return scalings.find(({ from, to }) => from === 3 && to === 2);
  }, 'the way back');
  expect(back.reason).toContain('PORT_NOT_LISTENING');
  want(shop, 1);
  await reaches(shop, 1);
});

test('the keeper brings nothing back that is being taken away', async () => {
  const shop = scaled(byUse);
  await deployed(shop);
  want(shop, 2);
  await reaches(shop, 2);
  const last = of(shop).find(({ index }) => index === 1)?.id ?? '';
  let begun = 0;
  const looks = (): number => fixture.fake.calls.filter(({ method }) => method === 'observe').length;
  fixture.fake.script = {
    before: async ({ method }) => {
      if (method !== 'retire' || begun > 0) return;
      begun = fixture.fake.calls.length;
      // The process has exited, and its container still exists, as on a slow cluster.
      fixture.fake.kill(last, 0);
      const seen = looks();
      await eventually(async () => (looks() > seen ? true : undefined), 'a look of the keeper');
    },
  };
  want(shop, 1);
  await reaches(shop, 1);
  const since = fixture.fake.calls.slice(begun).map(({ method }) => method);
  expect(begun).toBeGreaterThan(0);
  expect(since).not.toContain('revive');
  expect(since).not.toContain('start');
});
