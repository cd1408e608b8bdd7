import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { createEngine } from '../index.ts';
import { DriverError, type RouteTraffic } from '@davit/drivers';
import { afterEach, expect, test } from 'vitest';
import { condenseMetrics, condenseToHours, removeMetrics, trimMetrics } from '../store/metrics.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';

let fixture: TestEngine;
afterEach(() => fixture.close());

const traffic = (id: string, requests: number): RouteTraffic => ({
  id,
  requests,
  responses: [0, requests, 0, 0, 0],
  receivedBytes: 0,
  sentBytes: 0,
  latency: [0, 0, 0, 0, requests, 0, 0, 0, 0, 0, 0, 0],
});

const steps = async (serviceId: string, minutes = 60) =>
  (await fixture.engine.port.metrics(fixture.database.database, serviceId, minutes)).steps;

const addMinute = statement(
  'test_metrics_minute',
  `insert into service_metric (service_id, seconds, at, samples, measured_seconds, instances_sum, instances_max, cpu_ms, memory_sum, memory_max,
                               received_bytes, sent_bytes, requests, responses, latency)
   values ($1, 60, date_bin('5 minutes', clock_timestamp(), timestamptz 'epoch') - make_interval(mins => $2), 4, 60, 8, 2, 6000, 400, 100, 10, 20, 5,
           '{0,5,0,0,0}', '{1,4}')`,
);
const rowCount = statement<{ minutes: number; fives: number; hours: number }>(
  'test_metrics_rows',
  `select count(*) filter (where seconds = 60) as minutes, count(*) filter (where seconds = 300) as fives,
          count(*) filter (where seconds = 3600) as hours from service_metric`,
);

test('what a service uses and is asked for is there minutes later, and counters after a restart go on', async () => {
  fixture = await createTestEngine({ metricsSeconds: 0.02 });
  const shop = service();
  await fixture.deploy([shop]);
  await fixture.reaches(shop.serviceId, 'DEPLOYED');
  const [instance] = fixture.fake.instances;
  fixture.fake.use(instance?.id ?? '', { cpuMillicores: 400, memoryMiB: 50 });
  fixture.fake.volumeBytes.set(shop.serviceId, 1024);
  const id = `port-${shop.serviceId}`;
  let requested = 0;
  const found = await eventually(async () => {
    requested += 1;
    fixture.fake.traffic.set(id, traffic(id, requested));
    const [last] = (await steps(shop.serviceId)).slice(-1);
    return last !== undefined && last.requests > 3 && (last.cpuMillicores ?? 0) > 300 ? last : undefined;
  }, 'a step with requests');
  expect(found).toMatchObject({ instances: 1, maxInstances: 1, maxMemoryBytes: 50 * 1024 * 1024 });
  expect(found.cpuMillicores).toBeLessThan(450);
  expect(found.responses[1]).toBe(found.requests);
  expect(found.latency?.p50).toBeGreaterThan(50);
  await fixture.restart();
  const requestsNow = async (): Promise<number> =>
    (await fixture.engine.port.metricTotals(fixture.database.database))[0]?.requests ?? 0;
  const before = await requestsNow();
  const after = await eventually(async () => {
    requested += 1;
    fixture.fake.traffic.set(id, traffic(id, requested));
    const now = await requestsNow();
    return now > before ? now : undefined;
  }, 'more requests');
  expect(after).toBeLessThanOrEqual(requested);
  const [total] = await fixture.engine.port.metricTotals(fixture.database.database);
  expect(total).toMatchObject({ serviceId: shop.serviceId, environmentId: fixture.environmentId, now: { instances: 1 } });
});

test('two processes measure once, and the other goes on when one ends, or reaches the cluster no more', async () => {
  fixture = await createTestEngine({ metricsSeconds: 0.02 });
  const { fake } = fixture;
  const shop = service();
  await fixture.deploy([shop]);
  await fixture.reaches(shop.serviceId, 'DEPLOYED');
  const passes = (): number => fake.calls.filter(({ method }) => method === 'usage').length;
  let others = 0;
  const { builder, carrier, source, gateway } = fake;
  const metrics = {
    usage: () => {
      others += 1;
      return Promise.resolve([]);
    },
    volumes: () => Promise.resolve([]),
    pressure: () => Promise.resolve([]),
  };
  const drivers = { fake: { builder, carrier, source, gateway, cluster: { ...fake.cluster, metrics } } };
  const second = createEngine({ ...fixture.input, drivers });
  await second.start();
  try {
    const seen = passes();
    await eventually(async () => (passes() > seen + 20 ? true : undefined), 'passes of the first');
    expect(others).toBe(0);
    fake.script = {
      before: ({ method }) => {
        if (method === 'usage')
          throw new DriverError({ cause: 'ENGINE_UNREACHABLE', message: 'no route to host', retryable: true });
      },
    };
    await eventually(async () => (others > 0 ? true : undefined), 'a pass of the second');
    fake.script = {};
    await second.stop();
    const again = passes();
    await eventually(async () => (passes() > again ? true : undefined), 'a pass of the first');
  } finally {
    await second.stop();
  }
});

test('minutes become five minutes after two hours and hours after a day, with equal sums, and are gone after a month', async () => {
  fixture = await createTestEngine();
  const { database } = fixture.database;
  const id = randomUUID();
  const days = 1440;
  // The rows from 100 to 104 minutes ago stay as they are, those from 196 to 200 become one row. Four rows of one hour,
  // two days ago, become one row. The last row is too old.
  const inAnHour = await minutesToTheHour();
  const ages = [100, 101, 102, 103, 104, 196, 197, 198, 199, 200, 31 * days];
  const hour = [5, 10, 15, 20].map((minutes) => 2 * days + inAnHour - minutes);
  for (const minutes of [...ages, ...hour]) await database.run(addMinute, [id, minutes]);
  // Two meters of one installation may condense at the same time.
  const condense = async (): Promise<void> => {
    await database.run(condenseMetrics);
    await database.run(condenseToHours);
    await database.run(trimMetrics);
  };
  await Promise.all([condense(), condense()]);
  await condense();
  expect(await database.one(rowCount)).toEqual({ minutes: 5, fives: 1, hours: 1 });
  const all = await steps(id, days);
  expect(all.map(({ requests }) => requests).toSorted((a, b) => a - b)).toEqual([5, 20, 25]);
  const old = all[0];
  expect(old).toMatchObject({ requests: 25, responses: [0, 25, 0, 0, 0], instances: 2, maxInstances: 2, cpuMillicores: 100 });
  expect(old?.latencyCounts).toEqual([5, 20]);
  expect((await steps(id, 120)).every(({ requests }) => requests === 5)).toBe(true);
  const month = await steps(id, 30 * days);
  expect(month[0]).toMatchObject({ requests: 20, instances: 2, cpuMillicores: 100, latencyCounts: [4, 16] });
  expect(month.reduce((sum, { requests }) => sum + requests, 0)).toBe(70);
  expect(month.every(({ at }) => at.endsWith(':00:00.000Z'))).toBe(true);
  await database.run(removeMetrics, [id]);
  expect(await steps(id, 30 * days)).toEqual([]);
});

/** Returns the minutes from the beginning of the current hour to the beginning of the current five minutes. */
async function minutesToTheHour(): Promise<number> {
  return (await fixture.database.database.one(sinceTheHour)).minutes;
}
const sinceTheHour = statement<{ minutes: number }>(
  'test_metrics_since_the_hour',
  `select (extract(epoch from date_bin('5 minutes', clock_timestamp(), timestamptz 'epoch') - date_trunc('hour', clock_timestamp())) / 60)::integer
          as minutes`,
);
