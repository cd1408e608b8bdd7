import { DriverError } from '@davit/drivers';
import { statement } from '@davit/db';
import { afterEach, expect, test, vi } from 'vitest';
import type { ClusterMaker } from '../shared/cluster-drivers.ts';
import { createEngine, type RequestedService } from '../index.ts';
import { insertServiceLog, trimServiceLogs } from '../store/logs.ts';
import { notifyClusters, Sites, type Site } from '../testing/sites.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';

/* Tests which process follows the output of instances, and for how long. */

const positions = statement<{ service_id: string }>(
  'test_output_positions',
  'select service_id from log_position union all select service_id from log_origin',
);

let fixture: TestEngine;
afterEach(() => fixture.close());

async function lines({ serviceId }: RequestedService): Promise<string[]> {
  const found = await fixture.engine.port.serviceLog(fixture.database.database, serviceId, 100);
  return found.map(({ message }) => message);
}

/** Deploys the service there. Returns the id of its instance, which has printed a line that is stored. */
async function printsBefore(shop: RequestedService, { fake, environment }: Site): Promise<string> {
  await fixture.deploy([shop], { environment });
  await fixture.reaches(shop.serviceId, 'DEPLOYED');
  const id = fake.instances[0]?.id ?? '';
  fake.print(id, 'before');
  await vi.waitFor(async () => expect(await lines(shop)).toEqual(['before']));
  return id;
}

test('two processes store each line once, and the second goes on where the first stopped', async () => {
  fixture = await createTestEngine();
  const shop = service();
  const second = createEngine(fixture.input);
  await second.start();
  try {
    await fixture.deploy([shop]);
    await fixture.reaches(shop.serviceId, 'DEPLOYED');
    const id = fixture.fake.instances[0]?.id ?? '';
    fixture.fake.print(id, 'first');
    await vi.waitFor(async () => expect(await lines(shop)).toEqual(['first']));
    fixture.fake.print(id, 'second');
    await fixture.engine.stop();
    fixture.fake.print(id, 'while nobody follows');
    await vi.waitFor(async () => expect(await lines(shop)).toEqual(['first', 'second', 'while nobody follows']), 20_000);
    fixture.fake.print(id, 'last');
    await vi.waitFor(async () => expect(await lines(shop)).toEqual(['first', 'second', 'while nobody follows', 'last']));
  } finally {
    await second.stop();
  }
});

test('the output of a cluster is followed again after it was connected anew', async () => {
  const sites = new Sites();
  const east = sites.add('east');
  fixture = await createTestEngine({}, sites);
  const shop = service();
  const id = await printsBefore(shop, east);
  sites.give(east, 'east', 'good');
  await fixture.database.database.many(notifyClusters, []);
  await eventually(async () => (east.connections > 1 ? true : undefined), 'the new connection');
  east.fake.print(id, 'after');
  await vi.waitFor(async () => expect(await lines(shop)).toEqual(['before', 'after']), 20_000);
});

// Takes three looks of ten seconds.
test('a process that has lost its way to a cluster leaves its output to one that has not', async () => {
  const sites = new Sites();
  const east = sites.add('east');
  const cut = new AbortController();
  const pass = (): void => {
    if (cut.signal.aborted) throw new DriverError({ cause: 'ENGINE_UNREACHABLE', message: 'no route to host', retryable: true });
  };
  const make: ClusterMaker = (access) => {
    const drivers = sites.make(access);
    const { cluster } = drivers;
    const followLogs: typeof cluster.followLogs = async (id, position, onLine, signal) => {
      pass();
      await cluster.followLogs(id, position, onLine, AbortSignal.any([signal, cut.signal]));
      pass();
    };
    const observe: typeof cluster.observe = async (selector, signal) => {
      pass();
      return cluster.observe(selector, signal);
    };
    return { ...drivers, cluster: { ...cluster, followLogs, observe } };
  };
  fixture = await createTestEngine({}, { list: sites.list, make });
  const shop = service();
  const id = await printsBefore(shop, east);
  const other = createEngine({ ...fixture.input, makeCluster: sites.make });
  await other.start();
  try {
    cut.abort();
    east.fake.print(id, 'after');
    await vi.waitFor(async () => expect(await lines(shop)).toEqual(['before', 'after']), { timeout: 60_000, interval: 250 });
    expect((await fixture.view(shop.serviceId)).runningStatus).toBe('RUNNING');
  } finally {
    await other.stop();
  }
}, 90_000);

test('what is known of the output of a service goes with the service', async () => {
  fixture = await createTestEngine();
  const { database } = fixture.database;
  const shop = service();
  await fixture.deploy([shop]);
  await fixture.reaches(shop.serviceId, 'DEPLOYED');
  fixture.fake.print(fixture.fake.instances[0]?.id ?? '', 'one');
  await vi.waitFor(async () => expect(await lines(shop)).toEqual(['one']), 10_000);
  const line = { stream: 'stdout', message: 'one', source_at: '2026-01-01T00:00:00Z', origin: 'pod' };
  await database.run(insertServiceLog, [shop.serviceId, null, 'other', 'other', JSON.stringify([line])]);
  await database.run(trimServiceLogs, [0]);
  const service_id = shop.serviceId;
  expect(await database.many(positions)).toEqual([{ service_id }, { service_id }, { service_id }]);
  const { release: _release, ...bare } = shop;
  await fixture.deploy([bare], { action: 'DELETE' });
  await eventually(async () => (fixture.deleted.includes(shop.serviceId) ? true : undefined), 'the deletion');
  await vi.waitFor(async () => expect(await database.many(positions)).toEqual([]));
});
