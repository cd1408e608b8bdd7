import { DriverError, type Instance } from '@davit/drivers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createEngine } from '../index.ts';
import type { ReleaseConfig, RequestedService, ScalingView } from '../port.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';

/*
 * Tests scaling on a cluster in memory whose instances have the usage that the test sets. A pass takes a fiftieth of a
 * second, and scaling down takes one second.
 */

let fixture: TestEngine;
beforeEach(async () => {
  fixture = await createTestEngine({ metricsSeconds: 0.02, scaleDownSeconds: 0.6 });
});
afterEach(() => fixture.close());

const scaled = (most: number | null, overrides: Partial<ReleaseConfig> = {}): RequestedService => {
  const plain = service();
  if (plain.release === undefined || !('config' in plain.release)) throw new Error('no configuration');
  const config = { ...plain.release.config, scaling: { most, cpuPercent: 60, memoryPercent: null }, ...overrides };
  return { ...plain, release: { config, commitId: null } };
};
const of = (shop: RequestedService): Instance[] => fixture.fake.instances.filter(({ service: id }) => id === shop.serviceId);
/** Returns the ids of the instances that receive requests. */
const backends = (shop: RequestedService): string[] =>
  fixture.fake.routes.http.find(({ id }) => id === `port-${shop.serviceId}`)?.backends.map(({ id }) => id) ?? [];
const served = (shop: RequestedService): number => backends(shop).length;
/** Sets the usage of every existing instance. */
const use = (shop: RequestedService, cpuMillicores: number): void => {
  for (const { id } of of(shop)) fixture.fake.use(id, { cpuMillicores, memoryMiB: 16 });
};
const scalings = async (shop: RequestedService): Promise<readonly ScalingView[]> =>
  (await fixture.engine.port.metrics(fixture.database.database, shop.serviceId, 60)).scalings;

/** Keeps the instances under this load until the service has this number of serving instances. */
async function reaches(shop: RequestedService, count: number, cpuMillicores: number): Promise<void> {
  await eventually(
    async () => {
      use(shop, cpuMillicores);
      const view = await fixture.view(shop.serviceId);
      const isThere = of(shop).length === count && served(shop) === count;
      return isThere && view.wantedInstances === count && view.runningInstances === count ? true : undefined;
    },
    `${count} instances that serve; there are ${of(shop).length}, of which ${served(shop)} serve`,
  );
}

async function deployed(shop: RequestedService): Promise<void> {
  expect(await fixture.ends(await fixture.deploy([shop]))).toBe('SUCCEEDED');
}

test('instances come under load, stay while it lasts, go after it, and it is told why', async () => {
  const shop = scaled(4);
  await deployed(shop);
  await reaches(shop, 4, 500);
  // The number reaches its limit of four, and never exceeds it.
  expect((await scalings(shop)).every(({ to }) => to <= 4)).toBe(true);
  const drained: string[] = [];
  const routedWhenStopped: string[] = [];
  fixture.fake.script = {
    before: ({ method, detail, instances = [] }) => {
      if (method === 'awaitDrained') drained.push(...detail.split(' '));
      const routed = backends(shop).filter((id) => instances.includes(id));
      if (method === 'retire') routedWhenStopped.push(...routed);
    },
  };
  const last = of(shop).filter(({ index }) => index > 0);
  await reaches(shop, 1, 10);
  for (const { id } of last) expect(drained).toContain(id);
  expect(routedWhenStopped).toEqual([]);
  const reported = await scalings(shop);
  expect(reported.at(-1)).toMatchObject({ from: 1, reason: expect.stringContaining('cpu is at') });
  expect(reported[0]).toMatchObject({ to: 1, reason: expect.stringContaining('no more than 1 would have been needed') });
  const lines = await fixture.engine.port.serviceLog(fixture.database.database, shop.serviceId, 100);
  expect(lines.map(({ message }) => message).filter((line) => line.startsWith('From '))).toHaveLength(reported.length);
  expect((await fixture.view(shop.serviceId)).runningStatus).toBe('RUNNING');
});

test('-1 is as many as the cluster has room for', async () => {
  fixture.fake.capacity = { cpuMillicores: 1_600, memoryMiB: 100_000 };
  const shop = scaled(null);
  await deployed(shop);
  // The usage is so high that the first decision already needs more instances, although only a part of the measured
  // time had this usage.
  await reaches(shop, 3, 50_000);
  expect((await scalings(shop))[0]?.reason).toContain('the cluster has room for 3');
});

test('requests go to a new instance when it is ready and not before; one that does not get ready goes again', async () => {
  const shop = scaled(2);
  await deployed(shop);
  let isBroken = true;
  let most = 0;
  fixture.fake.script = {
    before: ({ method }) => {
      most = Math.max(most, served(shop));
      if (method === 'awaitReady' && isBroken) throw new DriverError({ cause: 'PORT_NOT_LISTENING', message: 'nobody listens' });
    },
  };
  const back = await eventually(async () => {
    use(shop, 500);
    return (await scalings(shop)).find(({ from, to }) => from === 2 && to === 1);
  }, 'the way back');
  expect(back.reason).toContain('PORT_NOT_LISTENING');
  await reaches(shop, 1, 500);
  expect(most).toBe(1);
  isBroken = false;
  expect((await fixture.view(shop.serviceId)).state).toBe('DEPLOYED');
});

test('a redeployment under load begins with as many instances as there were, an unchanged one keeps them', async () => {
  const shop = scaled(3);
  await deployed(shop);
  await reaches(shop, 3, 500);
  const before = of(shop).map(({ id }) => id);
  await deployed(shop);
  expect(of(shop).map(({ id }) => id)).toEqual(before);
  const plan = await fixture.engine.port.plan({
    environment: { ...placeOf(), environmentId: fixture.environmentId },
    action: 'RESTART',
    wholeEnvironment: false,
    trigger: { actor: 'tester', triggeredBy: 'Tester', origin: 'API' },
    services: [shop],
  });
  expect(plan.stages[0]?.services[0]?.instances).toEqual({ from: 3, to: 3 });
  await fixture.deploy([shop], { action: 'RESTART' });
  await fixture.reaches(shop.serviceId, 'RESTARTED');
  await eventually(async () => (of(shop).every(({ id }) => !before.includes(id)) ? true : undefined), 'new instances');
  expect(of(shop)).toHaveLength(3);
  expect(served(shop)).toBe(3);
  // A lower maximum applies from its deployment on.
  const less = {
    ...shop,
    release: { config: { ...configOf(shop), scaling: { most: 2, cpuPercent: 60, memoryPercent: null } }, commitId: null },
  };
  await deployed(less);
  await eventually(async () => (of(shop).length === 2 && served(shop) === 2 ? true : undefined), 'two instances');
});

test('what a process began to add or take away, the next one ends', async () => {
  const shop = scaled(2);
  await deployed(shop);
  // Adding instances hangs until the process ends.
  fixture.fake.script = { before: ({ method }) => (method === 'awaitReady' ? new Promise(() => undefined) : undefined) };
  await eventually(async () => {
    use(shop, 500);
    return of(shop).length === 2 ? true : undefined;
  }, 'a second instance');
  expect(served(shop)).toBe(1);
  await fixture.engine.stop();
  fixture.fake.script = {};
  await fixture.restart();
  await reaches(shop, 2, 500);
  // Removing instances hangs likewise.
  fixture.fake.script = {
    before: ({ method }) => (method === 'awaitDrained' ? new Promise(() => undefined) : undefined),
  };
  await eventually(async () => {
    use(shop, 10);
    return served(shop) === 1 ? true : undefined;
  }, 'a route less');
  expect(of(shop)).toHaveLength(2);
  await fixture.engine.stop();
  fixture.fake.script = {};
  await fixture.restart();
  await reaches(shop, 1, 200);
});

test('a deployment goes first: what is being added lets go, and nothing is left over', async () => {
  const shop = scaled(2);
  await deployed(shop);
  let hangs = true;
  fixture.fake.script = {
    before: ({ method, detail }) =>
      method === 'awaitReady' && hangs && of(shop).some(({ rollout, index }) => rollout === detail && index === 1)
        ? new Promise(() => undefined)
        : undefined,
  };
  await eventually(async () => {
    use(shop, 500);
    return of(shop).length === 2 ? true : undefined;
  }, 'a second instance');
  hangs = false;
  const next = { ...shop, release: { config: { ...configOf(shop), memoryMiB: 256 }, commitId: null } };
  await deployed(next);
  await eventually(async () => (new Set(of(shop).map(({ rollout }) => rollout)).size === 1 ? true : undefined), 'one rollout');
  await eventually(async () => (served(shop) === of(shop).length ? true : undefined), 'all serve');
  expect(of(shop).every(({ release }) => release !== '')).toBe(true);
});

test('a service with a volume stays as it is, and its deployment says so', async () => {
  const shop = scaled(3, { volumes: [{ id: 'data', mountPath: '/data', sizeGiB: 1 }] });
  await deployed(shop);
  use(shop, 500);
  const { lines } = await fixture.engine.port.deploymentLog(fixture.database.database, fixture.environmentId, null);
  expect(lines.map(({ message }) => message)).toContainEqual(
    expect.stringContaining('even under load: the service has storage, and a volume has one writer'),
  );
  const passes = (): number => fixture.fake.calls.filter(({ method }) => method === 'usage').length;
  const before = passes();
  await eventually(async () => (passes() > before + 20 ? true : undefined), 'twenty measurements');
  expect(of(shop)).toHaveLength(1);
});

test('two processes decide once', async () => {
  const shop = scaled(2);
  const second = createEngine(fixture.input);
  await second.start();
  try {
    await deployed(shop);
    await reaches(shop, 2, 500);
    expect(await scalings(shop)).toHaveLength(1);
  } finally {
    await second.stop();
  }
});

test('an instance that died is revived, not replaced by a decision; one too many is taken away', async () => {
  const shop = scaled(2);
  await deployed(shop);
  await reaches(shop, 2, 500);
  const [first] = of(shop);
  fixture.fake.kill(first?.id ?? '', 1);
  await eventually(async () => (of(shop).every(({ state }) => state === 'RUNNING') ? true : undefined), 'the revival');
  expect(of(shop)).toHaveLength(2);
  const [workload] = fixture.fake.workloads.values();
  if (workload === undefined) throw new Error('no workload');
  await fixture.fake.cluster.start({ ...workload, instances: 4 }, { signal: new AbortController().signal, log: () => undefined });
  await eventually(async () => (of(shop).length === 2 ? true : undefined), 'two instances');
});

test('the keeper does not start what is being added, and goes on with all else', async () => {
  const [shop, other] = [scaled(2), service()];
  await deployed(shop);
  await fixture.deploy([other]);
  await fixture.reaches(other.serviceId, 'DEPLOYED');
  let starts = 0;
  fixture.fake.script = {
    before: ({ method, service: id }) =>
      method === 'start' && id === shop.serviceId && (starts += 1) > 0 ? new Promise(() => undefined) : undefined,
  };
  await eventually(async () => {
    use(shop, 500);
    return starts > 0 ? true : undefined;
  }, 'an instance to be added');
  for (let look = 0; look < 2; look += 1) {
    fixture.fake.kill(of(other)[0]?.id ?? '', 1);
    await eventually(async () => (of(other)[0]?.state === 'RUNNING' ? true : undefined), 'the revival');
  }
  expect(starts).toBe(1);
  fixture.fake.script = {};
});

test('a stopped service and one whose minimum is 0 run nothing, whatever was there before', async () => {
  const shop = scaled(3);
  await deployed(shop);
  await reaches(shop, 3, 500);
  await fixture.deploy([shop], { action: 'STOP' });
  const stopped = await fixture.reaches(shop.serviceId, 'STOPPED');
  expect(stopped).toMatchObject({ runningStatus: 'STOPPED', wantedInstances: 0, runningInstances: 0 });
  expect(of(shop)).toHaveLength(0);
  await deployed(shop);
  expect(of(shop).length).toBeLessThan(3);
  const { scaling: _scaling, ...plain } = configOf(shop);
  const none = { ...shop, release: { config: { ...plain, instances: 0 }, commitId: null } };
  await deployed(none);
  await eventually(async () => (of(shop).length === 0 ? true : undefined), 'no instance');
  expect(await fixture.view(shop.serviceId)).toMatchObject({ state: 'DEPLOYED', runningStatus: 'STOPPED', wantedInstances: 0 });
});

function configOf({ release }: RequestedService): ReleaseConfig {
  if (release === undefined || !('config' in release)) throw new Error('the service is requested without a configuration');
  return release.config;
}

function placeOf() {
  const id = '5d3b6a1e-0c7e-4a8e-9b3f-8f6f3f4f5f6f';
  return { organizationId: id, projectId: id, clusterId: id, driver: 'fake' };
}
