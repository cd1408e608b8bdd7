import { randomUUID } from 'node:crypto';
import { DriverError, type Workload } from '@davit/drivers';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { RequestedService } from '../index.ts';
import { config } from '../testing/config.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';

/* Tests that a service that cannot be tended does not delay the others. */

let fixture: TestEngine;
beforeEach(async () => {
  fixture = await createTestEngine();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await fixture.close();
});

const call = { signal: new AbortController().signal, log: (): void => undefined };

async function deployed(one = service()): Promise<RequestedService> {
  // During a deployment the keeper does nothing in its environment.
  expect(await fixture.ends(await fixture.deploy([one]))).toBe('SUCCEEDED');
  return one;
}

const of = ({ serviceId }: RequestedService) => fixture.fake.instances.filter((instance) => instance.service === serviceId);
const workloadOf = (one: RequestedService): Workload => {
  const workload = fixture.fake.workloads.get(of(one)[0]?.id ?? '');
  if (workload === undefined) throw new Error('nothing runs');
  return workload;
};
const calls = (method: string, { serviceId }: RequestedService): number =>
  fixture.fake.calls.filter((made) => made.method === method && made.service === serviceId).length;

async function revives(one: RequestedService): Promise<void> {
  fixture.fake.kill(of(one)[0]?.id ?? '', 1);
  await eventually(async () => (of(one)[0]?.state === 'RUNNING' ? true : undefined), 'the revival');
}

test.each(['of a service', 'of no service that is known'])('an instance %s that does not go', async (of) => {
  const [stuck, other] = [await deployed(), await deployed()];
  const { owner, ...left } = workloadOf(stuck);
  const one = of === 'of a service' ? stuck : { ...stuck, serviceId: randomUUID() };
  let hangs = true;
  // The deployment retires instances too.
  const before = calls('retire', one);
  fixture.fake.script = {
    before: ({ method, service: id }) =>
      hangs && method === 'retire' && id === one.serviceId ? new Promise(() => undefined) : undefined,
  };
  // The test decides when each timeout elapses.
  let over = new AbortController();
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => AbortSignal.any([timeout(milliseconds), over.signal]));
  await fixture.fake.cluster.start({ ...left, owner: { ...owner, service: one.serviceId }, rollout: randomUUID() }, call);
  await eventually(async () => (calls('retire', one) > before ? true : undefined), 'the keeper to remove it');
  await revives(other);
  await revives(other);
  expect(calls('retire', one)).toBe(before + 1);
  // The action is retried after its timeout.
  hangs = false;
  const former = over;
  over = new AbortController();
  former.abort();
  await eventually(async () => (calls('retire', one) > before + 1 ? true : undefined), 'another try');
  await eventually(async () => (fixture.fake.instances.length === 2 ? true : undefined), 'its end');
});

test('what has a volume is not brought back beside an instance that does not go', async () => {
  const volume = { id: randomUUID(), mountPath: '/data', sizeGiB: 1 };
  const shop = await deployed(service({ config: config({ volumes: [volume] }) }));
  let isStuck = true;
  fixture.fake.script = {
    before: ({ method, service: id }) => {
      if (isStuck && method === 'retire' && id === shop.serviceId)
        throw new DriverError({ cause: 'ENGINE_FAILED', message: 'its node does not answer', retryable: true });
    },
  };
  const [before, revived] = [calls('retire', shop), calls('revive', shop)];
  await fixture.fake.cluster.start({ ...workloadOf(shop), rollout: randomUUID() }, call);
  fixture.fake.kill(of(shop)[0]?.id ?? '', 1);
  await eventually(async () => (calls('retire', shop) > before + 1 ? true : undefined), 'two tries to remove it');
  expect(calls('revive', shop)).toBe(revived);
  isStuck = false;
  await eventually(async () => (of(shop).length === 1 && of(shop)[0]?.state === 'RUNNING' ? true : undefined), 'the revival');
});

test('what hangs is let go of when the keeper stops', async () => {
  const stuck = await deployed();
  const before = calls('retire', stuck);
  fixture.fake.script = { before: ({ method }) => (method === 'retire' ? new Promise(() => undefined) : undefined) };
  await fixture.fake.cluster.start({ ...workloadOf(stuck), rollout: randomUUID() }, call);
  await eventually(async () => (calls('retire', stuck) > before ? true : undefined), 'the keeper to remove it');
  await expect(fixture.engine.stop()).resolves.toBeUndefined();
});

test('what was seen is not started again when a deployment has replaced it meanwhile', async () => {
  const shop = await deployed();
  const former = workloadOf(shop);
  const held = Promise.withResolvers<void>();
  let holds = 0;
  fixture.fake.script = {
    before: ({ method, service: id }) =>
      method === 'retire' && id === shop.serviceId && (holds += 1) === 1 ? held.promise : undefined,
  };
  // The desired instance has exited, and there is one more than the desired number.
  const id = of(shop)[0]?.id ?? '';
  fixture.fake.kill(id, 1);
  await fixture.fake.cluster.start({ ...former, instances: 2 }, call);
  await eventually(async () => (holds > 0 ? true : undefined), 'the keeper to remove what is left');
  await deployed({ ...shop, release: { config: { ...configOf(shop), memoryMiB: 256 }, commitId: null } });
  held.resolve();
  await revives(await deployed());
  expect(fixture.fake.calls.filter(({ method, detail }) => method === 'revive' && detail === id)).toEqual([]);
  expect(of(shop)).toMatchObject([{ state: 'RUNNING' }]);
});

function configOf({ release }: RequestedService) {
  if (release === undefined || !('config' in release)) throw new Error('it has no configuration');
  return release.config;
}
