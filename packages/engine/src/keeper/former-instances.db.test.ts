import { statement } from '@davit/db';
import type { Instance } from '@davit/drivers';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createEngine, type ReleaseConfig, type RequestedService } from '../index.ts';
import { maxEnding } from '../kinds/process/former.ts';
import { config } from '../testing/config.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';

/* Tests that former instances end beside later deployments, and keep all that they were promised. */

let fixture: TestEngine;
beforeEach(async () => {
  fixture = await createTestEngine();
});
afterEach(async () => {
  vi.restoreAllMocks();
  fixture.fake.script = {};
  await fixture.close();
});

const volumes = [{ id: 'volume', mountPath: '/data', sizeGiB: 1 }];
const instances = (): readonly Instance[] => fixture.fake.instances;
const calls = (method: string): number => fixture.fake.calls.filter((call) => call.method === method).length;

let count = 0;
/** Returns the service with another configuration, so that a deployment replaces its instances. */
function changed(one: RequestedService, more: Partial<ReleaseConfig> = {}): RequestedService {
  count += 1;
  const release = { config: config({ ports: [], memoryMiB: 64, cpuMillicores: count, ...more }), commitId: null };
  return { ...one, release };
}

async function deployed(one: RequestedService): Promise<RequestedService> {
  expect(await fixture.outcome(await fixture.deploy([one]))).toBe('SUCCEEDED');
  return one;
}

/** Holds all calls of a method back until the returned function is called. */
function hold(method: string, isHeld: (detail: string) => boolean = () => true): () => void {
  const held = Promise.withResolvers<void>();
  fixture.fake.script = {
    before: (call) => (call.method === method && isHeld(call.detail) ? held.promise : undefined),
  };
  return held.resolve;
}

const isAlone = () => eventually(() => Promise.resolve(instances().length === 1 || undefined), 'the end of the others');

test('later deployments of the environment run while requests at former instances are open', async () => {
  const [shop, other] = [service(), service()];
  await deployed(shop);
  const [former] = instances();
  const release = hold('awaitDrained', (ids) => ids.includes(former?.id ?? ''));
  await deployed(changed(shop));
  expect((await fixture.view(shop.serviceId)).state).toBe('DEPLOYED');
  await deployed(other);
  await deployed(changed(shop));
  await eventually(() => Promise.resolve(calls('awaitDrained') > 0 || undefined), 'the end to begin');
  expect(instances().map(({ id }) => id)).toContain(former?.id);
  release();
  await eventually(() => Promise.resolve(instances().length === 2 || undefined), 'the end of the others');
});

test('output of an instance is stored until its end', async () => {
  const shop = await deployed(service());
  const [former] = instances();
  const release = hold('retire');
  await deployed(changed(shop));
  await deployed(changed(shop));
  fixture.fake.print(former?.id ?? '', 'the last words');
  const isStored = async () => {
    const lines = await fixture.engine.port.serviceLog(fixture.database.database, shop.serviceId, 10);
    return lines.some(({ message }) => message === 'the last words') || undefined;
  };
  expect(await eventually(isStored, 'the line')).toBe(true);
  release();
  await isAlone();
});

test('an instance keeps the termination period of its own release', async () => {
  const shop = service();
  await deployed(changed(shop, { options: { terminationGraceSeconds: 77 } }));
  const retire = vi.spyOn(fixture.fake.cluster, 'retire');
  await deployed(changed(shop, { options: { terminationGraceSeconds: 5 } }));
  await isAlone();
  expect(retire.mock.calls.map(([, graceSeconds]) => graceSeconds)).toEqual([77]);
});

test('a rollback to the rollout that is ending starts new instances', async () => {
  const shop = await deployed(service());
  const [entry] = await fixture.engine.port.serviceHistory(fixture.database.database, shop.serviceId, { page: 1, pageSize: 1 });
  const [former] = instances();
  const release = hold('retire');
  await deployed(changed(shop));
  await deployed({ ...shop, release: { releaseId: entry?.releaseId ?? '' } });
  expect(instances()).toHaveLength(3);
  release();
  await isAlone();
  expect(instances()[0]).toMatchObject({ release: former?.release, state: 'RUNNING' });
  expect(instances()[0]?.id).not.toBe(former?.id);
});

test(`a service has at most ${maxEnding} former rollouts; a further deployment waits for the end of one`, async () => {
  const shop = await deployed(service());
  const release = hold('retire');
  for (let index = 0; index < maxEnding; index += 1) await deployed(changed(shop));
  expect(instances()).toHaveLength(maxEnding + 1);
  const waiting = await fixture.deploy([changed(shop)]);
  await waits(waiting, 10);
  expect(instances()).toHaveLength(maxEnding + 1);
  release();
  expect(await fixture.outcome(waiting)).toBe('SUCCEEDED');
  await isAlone();
});

test('former instances get a quarter of the memory of the cluster; a canceled wait changes nothing', async () => {
  const shop = service();
  await deployed(changed(shop));
  fixture.fake.capacity = { cpuMillicores: 1_000, memoryMiB: 4 * 64 + 1 };
  const [former] = instances();
  const release = hold('retire', (rollout) => rollout === former?.rollout);
  await deployed(changed(shop));
  const served = instances()[1]?.id;
  const waiting = await fixture.deploy([changed(shop)]);
  await waits(waiting, 1);
  await fixture.engine.port.cancel(fixture.environmentId, false);
  expect(await fixture.outcome(waiting)).toBe('CANCELED');
  release();
  await isAlone();
  expect(instances()[0]?.id).toBe(served);
});

async function waits(deploymentId: string, ending: number): Promise<void> {
  const isLogged = async () => {
    const view = await fixture.engine.port.deployment(fixture.database.database, deploymentId);
    if (view?.executionId === undefined) return undefined;
    const { lines } = await fixture.engine.port.deploymentLog(fixture.database.database, fixture.environmentId, view.executionId);
    return lines.some(({ message }) => message.startsWith(`${ending} former rollout`)) || undefined;
  };
  await eventually(isLogged, 'the wait to be logged');
}

test('a service that gets a volume starts when all that ends is gone', async () => {
  const shop = await deployed(service());
  const release = hold('awaitDrained');
  await deployed(changed(shop));
  expect(instances()).toHaveLength(2);
  const retire = vi.spyOn(fixture.fake.cluster, 'start');
  let beside = -1;
  retire.mockImplementationOnce((...given) => {
    beside = instances().length;
    return fixture.fake.cluster.start(...given);
  });
  await deployed(changed(shop, { volumes }));
  expect(beside).toBe(0);
  expect(instances()).toHaveLength(1);
  release();
});

test.each(['STOP', 'DELETE', 'UNINSTALL'] as const)('a %s takes over what is ending', async (action) => {
  const shop = await deployed(service());
  const release = hold('awaitDrained', (ids) => !ids.includes(' '));
  await deployed(changed(shop));
  expect(instances()).toHaveLength(2);
  expect(await fixture.outcome(await fixture.deploy([shop], { action }))).toBe('SUCCEEDED');
  expect(instances()).toEqual([]);
  release();
});

const running = statement<{ runs: boolean }>(
  'test_former_running',
  `select exists (select from deployment where status = 'RUNNING') as runs`,
);

test('a process that does not follow the cluster ends what its own gateway has open before its deployment ends', async () => {
  await fixture.close();
  // The first process follows the cluster, the second one deploys.
  fixture = await createTestEngine({ maximumDeployments: 0 });
  const second = createEngine({ ...fixture.input, settings: { ...fixture.input.settings, maximumDeployments: 8 } });
  await second.start();
  try {
    const shop = await deployed(service());
    const release = hold('awaitDrained');
    const deployment = await fixture.deploy([changed(shop)]);
    await fixture.reaches(shop.serviceId, 'DEPLOYED');
    await eventually(() => Promise.resolve(calls('awaitDrained') > 0 || undefined), 'the end to begin');
    // Each event makes both keepers look at the cluster.
    const looked = calls('observe');
    for (let event = 0; event < 3; event += 1) {
      const before = calls('observe');
      fixture.fake.kill(instances()[1]?.id ?? '', 1);
      await eventually(() => Promise.resolve(calls('observe') >= before + 2 || undefined), 'a look');
    }
    expect(calls('observe')).toBeGreaterThan(looked);
    expect(await fixture.database.database.one(running)).toEqual({ runs: true });
    expect(calls('awaitDrained')).toBe(1);
    expect(calls('retire')).toBe(1);
    release();
    expect(await fixture.outcome(deployment)).toBe('SUCCEEDED');
    expect(instances()).toHaveLength(1);
  } finally {
    await second.stop();
  }
});
