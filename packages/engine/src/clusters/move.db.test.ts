import { statement } from '@davit/db';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { config } from '../testing/config.ts';
import { Sites, type Site } from '../testing/sites.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';
import type { EnvironmentRef, RequestedService } from '../index.ts';

/* An environment is moved to another cluster and deployed. */

let fixture: TestEngine;
let east: Site;
let west: Site;
/** The environment on its new cluster. */
let moved: EnvironmentRef;
beforeEach(async () => {
  const sites = new Sites();
  east = sites.add('east');
  west = sites.add('west');
  moved = { ...east.environment, clusterId: west.id, driver: west.id };
  fixture = await createTestEngine({}, sites);
});
afterEach(() => {
  vi.restoreAllMocks();
  return fixture.close();
});

const messagesOf = statement<{ message: string }>(
  'test_move_messages',
  'select message from deployment_log where deployment_id = $1 order by id',
);
const locations = statement<{ driver: string }>('test_move_places', 'select driver from service_place order by driver');

const messages = async (id: string): Promise<string[]> =>
  (await fixture.database.database.many(messagesOf, [id])).map(({ message }) => message);
const ended = (id: string): Promise<string> => fixture.ends(id);
const nothingOn = (site: Site): Promise<true> =>
  eventually(
    async () => (site.fake.instances.length === 0 && site.fake.routes.http.length === 0 ? true : undefined),
    'nothing there',
  );

async function deployed(one: RequestedService): Promise<void> {
  expect(await ended(await fixture.deploy([one], { environment: east.environment }))).toBe('SUCCEEDED');
}

/** Returns the service as actions other than a deployment name it. */
function asIs({ release: _none, ...rest }: RequestedService): RequestedService {
  return rest;
}

function withVolume(): RequestedService {
  const id = crypto.randomUUID();
  return service({ config: config({ ports: [], volumes: [{ id, mountPath: '/data', sizeGiB: 1 }] }) });
}

test('its services start on the new cluster, then nothing is left on the old one', async () => {
  const one = service();
  await deployed(one);
  let servedMeanwhile = 0;
  west.onCall = ({ method }) => {
    if (method === 'awaitReady') servedMeanwhile = east.fake.routes.http.length;
  };
  const id = await fixture.deploy([one], { environment: moved });
  expect(await ended(id)).toBe('SUCCEEDED');
  expect(servedMeanwhile).toBe(1);
  expect(west.fake.instances).toHaveLength(1);
  expect(west.fake.routes.http).toHaveLength(1);
  await nothingOn(east);
  expect(east.fake.calls.map(({ method }) => method)).toContain('removeEnvironment');
  expect(await fixture.database.database.many(locations)).toEqual([{ driver: west.id }]);
  const log = await messages(id);
  expect(log).toContain(
    'The service moves from the cluster east to the cluster west: it starts there first, then what runs on the cluster east stops.',
  );
  expect(log).toContain('Nothing is left on the cluster east.');
  const [instance] = west.fake.instances;
  west.fake.kill(instance?.id ?? '', 1);
  await eventually(async () => (west.fake.instances[0]?.state === 'RUNNING' ? true : undefined), 'the revived instance');
});

test('volumes are not moved, which plan and log say; they go with the service', async () => {
  const one = withVolume();
  await deployed(one);
  const plan = await fixture.engine.port.plan({
    environment: moved,
    action: 'DEPLOY',
    wholeEnvironment: false,
    trigger: { actor: 'tester', triggeredBy: 'Tester', origin: 'API' },
    services: [one],
  });
  const [planned] = plan.stages[0]?.services ?? [];
  expect(planned).toMatchObject({ expectedDowntime: false });
  expect(planned?.notes.join(' ')).toContain('volumes are not moved');
  const id = await fixture.deploy([one], { environment: moved });
  expect(await ended(id)).toBe('SUCCEEDED');
  expect((await messages(id)).join(' ')).toContain('volumes are not moved');
  await nothingOn(east);
  expect([east.fake.volumes.size, west.fake.volumes.size]).toEqual([1, 1]);
  expect(await ended(await fixture.deploy([asIs(one)], { environment: moved, action: 'DELETE' }))).toBe('SUCCEEDED');
  expect([east.fake.volumes.size, west.fake.volumes.size]).toEqual([0, 0]);
  expect(await fixture.database.database.many(locations)).toEqual([]);
});

test('a move that fails leaves the service serving where it was', async () => {
  const one = service();
  await deployed(one);
  const [serving] = east.fake.instances;
  west.onCall = ({ method }) => {
    if (method === 'awaitReady') throw new Error('it is too small');
  };
  const id = await fixture.deploy([one], { environment: moved });
  expect(await ended(id)).toBe('FAILED');
  expect(east.fake.instances).toEqual([serving]);
  expect(east.fake.routes.http).toHaveLength(1);
  await nothingOn(west);
});

test('what a failed move left goes with the service, on both clusters', async () => {
  const one = withVolume();
  await deployed(one);
  west.onCall = ({ method }) => {
    if (method === 'awaitReady') throw new Error('it is too small');
  };
  expect(await ended(await fixture.deploy([one], { environment: moved }))).toBe('FAILED');
  expect([east.fake.volumes.size, west.fake.volumes.size]).toEqual([1, 1]);
  expect(await ended(await fixture.deploy([asIs(one)], { environment: moved, action: 'DELETE' }))).toBe('SUCCEEDED');
  expect([east.fake.volumes.size, west.fake.volumes.size]).toEqual([0, 0]);
});

test.each(['removeService', 'removeEnvironment'])('a cluster that takes too long for %s is asked again', async (held) => {
  const one = withVolume();
  await deployed(one);
  expect(await ended(await fixture.deploy([one], { environment: moved }))).toBe('SUCCEEDED');
  let hangs = true;
  east.onCall = async ({ method }) => {
    if (method !== held || !hangs) return;
    hangs = false;
    await new Promise(() => undefined);
  };
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => timeout(milliseconds === 120_000 ? 50 : milliseconds));
  expect(await ended(await fixture.deploy([asIs(one)], { environment: moved, action: 'DELETE' }))).toBe('SUCCEEDED');
  expect(hangs).toBe(false);
  expect(await fixture.database.database.many(locations)).toEqual([]);
});

test('before it is deployed its services are stopped, restarted and deleted where they are', async () => {
  const [one, two] = [service(), service()];
  await deployed(one);
  await deployed(two);
  expect(await ended(await fixture.deploy([asIs(one)], { environment: moved, action: 'RESTART' }))).toBe('SUCCEEDED');
  expect([east.fake.instances.length, west.fake.instances.length]).toEqual([2, 0]);
  expect(await ended(await fixture.deploy([asIs(one)], { environment: moved, action: 'STOP' }))).toBe('SUCCEEDED');
  expect(east.fake.instances.map((instance) => instance.service)).toEqual([two.serviceId]);
  const id = await fixture.deploy([asIs(one), asIs(two)], { environment: moved, action: 'DELETE', wholeEnvironment: true });
  await eventually(
    async () => ((await fixture.engine.port.deployment(fixture.database.database, id)) === null ? true : undefined),
    'its end',
  );
  await nothingOn(east);
  expect(east.fake.calls.filter(({ method }) => method === 'removeEnvironment')).not.toEqual([]);
});

test('an old cluster that is away holds nothing up, and is left when it is back', async () => {
  const one = service();
  await deployed(one);
  east.isDown = true;
  const id = await fixture.deploy([one], { environment: moved });
  expect(await ended(id)).toBe('SUCCEEDED');
  expect(await messages(id)).toContain('What is left on the cluster east is removed when that cluster answers again.');
  expect(east.fake.instances).toHaveLength(1);
  east.isDown = false;
  await nothingOn(east);
  await eventually(
    async () => ((await fixture.database.database.many(locations)).length === 1 ? true : undefined),
    'nothing of it being known there',
  );
});

test('many services that leave a slow cluster do not keep the database from others', async () => {
  const many = Array.from({ length: 25 }, () => service());
  expect(await ended(await fixture.deploy(many, { environment: east.environment }))).toBe('SUCCEEDED');
  const release = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  east.onCall = ({ method }) => {
    if (method !== 'removeService') return undefined;
    reached.resolve();
    return release.promise;
  };
  const id = await fixture.deploy(many, { environment: moved });
  const phases = statement<{ open: number }>(
    'test_move_open',
    `select count(*)::int as open from deployment_service where deployment_id = $1 and phase <> 'SUCCEEDED'`,
  );
  await eventually(
    async () => ((await fixture.database.database.one(phases, [id])).open === 0 ? true : undefined),
    'all services being on the new cluster',
  );
  const waiting = statement<{ sessions: number }>(
    'test_move_waiting',
    `select count(*)::int as sessions from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  await reached.promise;
  expect(await fixture.database.database.one(waiting)).toEqual({ sessions: 0 });
  release.resolve();
  expect(await ended(id)).toBe('SUCCEEDED');
  await nothingOn(east);
});

test('a service that is moved back finds what it had left', async () => {
  const one = withVolume();
  await deployed(one);
  expect(await ended(await fixture.deploy([one], { environment: moved }))).toBe('SUCCEEDED');
  expect(await ended(await fixture.deploy([one], { environment: east.environment }))).toBe('SUCCEEDED');
  expect(east.fake.instances).toHaveLength(1);
  expect(east.fake.volumes.size).toBe(1);
  await nothingOn(west);
});

describe('a server that ends in the middle', () => {
  test.each([
    ['start', 'west'],
    ['awaitReady', 'west'],
    ['retire', 'east'],
    ['removeService', 'east'],
    ['removeEnvironment', 'east'],
  ] as const)('of %s on %s loses and doubles nothing', async (method, where) => {
    const one = service();
    await deployed(one);
    const site = where === 'west' ? west : east;
    let isReached: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => (isReached = resolve));
    let isOver = false;
    site.onCall = async (call) => {
      if (call.method !== method || isOver) return;
      isReached();
      await new Promise(() => undefined);
    };
    const id = await fixture.deploy([one], { environment: moved });
    await reached;
    isOver = true;
    await fixture.restart();
    expect(await ended(id)).toBe('SUCCEEDED');
    await nothingOn(east);
    expect(west.fake.instances).toHaveLength(1);
    expect(new Set(west.fake.instances.map(({ rollout }) => rollout)).size).toBe(1);
    expect(west.fake.routes.http).toHaveLength(1);
    await eventually(
      async () => ((await fixture.database.database.many(locations)).length === 1 ? true : undefined),
      'nothing of it being known there',
    );
  });
});
