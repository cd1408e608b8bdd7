import { statement } from '@davit/db';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RequestedService, ServiceView } from '../port.ts';
import { config } from '../testing/config.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';

let fixture: TestEngine;
beforeEach(async () => {
  fixture = await createTestEngine({ diskWatchSeconds: 0, diskGraceSeconds: 0 });
});
afterEach(() => fixture.close());

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;
const lines = statement<{ message: string }>(
  'test_disk_lines',
  `select message from service_log where service_id = $1 and instance_name = 'davit' order by id`,
);
const measure = statement(
  'test_measured_volume',
  `insert into service_metric_total (service_id, measured_at, instances, memory_bytes, volume_bytes, cpu_ms, received_bytes, sent_bytes, requests)
   values ($1, clock_timestamp(), 1, 0, $2, 0, 0, 0, 0) on conflict (service_id) do update set volume_bytes = excluded.volume_bytes`,
);

async function deployed(overrides: Parameters<typeof config>[0] = {}): Promise<RequestedService> {
  const one = service({ config: config(overrides) });
  expect(await fixture.ends(await fixture.deploy([one]))).toBe('SUCCEEDED');
  return one;
}
/** Sets the bytes that the volumes hold: the last measured value and the result of the next measurement. */
const hold = async ({ serviceId }: RequestedService, bytes: number): Promise<void> => {
  fixture.fake.volumeBytes.set(serviceId, bytes);
  await fixture.database.database.run(measure, [serviceId, bytes]);
};
const instancesOf = (one: RequestedService) => fixture.fake.instances.filter((instance) => instance.service === one.serviceId);
const idOf = (one: RequestedService): string => instancesOf(one)[0]?.id ?? '';
/** Waits for a status that a look of the keeper sets. A look is due every ten seconds and at each start. */
const becomes = async (one: RequestedService, isThere: (view: ServiceView) => boolean, words: string): Promise<ServiceView> => {
  await fixture.restart();
  return eventually(async () => {
    const view = await fixture.view(one.serviceId);
    return isThere(view) ? view : undefined;
  }, words);
};
const diskOf = (view: ServiceView) => view.conditions.find(({ kind }) => kind === 'DISK');

test('an instance that has written nearly as much as it may is warned of, until it has removed files', async () => {
  const one = await deployed();
  fixture.fake.writtenBytes.set(idOf(one), 900 * mebibyte);
  const view = await becomes(one, (now) => diskOf(now) !== undefined, 'a warning');
  expect(diskOf(view)).toMatchObject({
    severity: 'WARNING',
    failure: {
      code: 'INSTANCE_DISK_EXCEEDED',
      message: expect.stringMatching(/900 MiB .* 1\.0 GiB \(DAVIT_INSTANCE_DISK_MIB\)/),
    },
  });
  await becomes(one, ({ runningStatus }) => runningStatus === 'WARNING', 'WARNING');
  fixture.fake.writtenBytes.set(idOf(one), 10 * mebibyte);
  await becomes(one, (now) => diskOf(now) === undefined, 'no warning');
  expect((await fixture.database.database.many(lines, [one.serviceId])).map(({ message }) => message)).toEqual([
    expect.stringMatching(/^Davit: WARNING INSTANCE_DISK_EXCEEDED: /),
    'Davit: DISK is over.',
  ]);
  expect(fixture.fake.calls.filter(({ method }) => method === 'removeInstance')).toEqual([]);
});

test('an instance that has written more than it may is replaced, and the status says so after it', async () => {
  const one = await deployed();
  const former = idOf(one);
  fixture.fake.writtenBytes.set(former, 1025 * mebibyte);
  await becomes(
    one,
    () => idOf(one) !== '' && idOf(one) !== former && instancesOf(one)[0]?.state === 'RUNNING',
    'a new instance',
  );
  const view = await becomes(one, (now) => now.runningStatus === 'ERROR', 'ERROR');
  expect(diskOf(view)).toMatchObject({ severity: 'ERROR', occurrences: 1, failure: { code: 'INSTANCE_DISK_EXCEEDED' } });
  expect(fixture.fake.calls.filter(({ method }) => method === 'removeInstance')).toHaveLength(1);
});

test('a service whose volumes hold far more than their size is stopped until it is deployed again', async () => {
  const volumes = [{ id: 'v', mountPath: '/data', sizeGiB: 2 }];
  const one = await deployed({ volumes });
  await hold(one, 2.5 * gibibyte);
  const warned = await becomes(one, (now) => diskOf(now) !== undefined, 'a warning');
  expect(diskOf(warned)).toMatchObject({ severity: 'WARNING', failure: { code: 'VOLUME_EXCEEDED' } });
  expect(instancesOf(one)).toHaveLength(1);
  await hold(one, 3.5 * gibibyte);
  await becomes(one, () => instancesOf(one).length === 0, 'no instance');
  const stopped = await becomes(one, (now) => now.runningStatus === 'ERROR', 'ERROR');
  expect(diskOf(stopped)?.failure.message).toMatch(/3\.5 GiB of 2\.0 GiB .* 150 % .* stopped/);
  // Further looks do not change the status.
  await becomes(one, () => true, 'anything');
  expect(instancesOf(one)).toHaveLength(0);
  await hold(one, gibibyte);
  expect(await fixture.ends(await fixture.deploy([one]))).toBe('SUCCEEDED');
  await becomes(one, (now) => diskOf(now) === undefined && now.runningStatus === 'RUNNING', 'RUNNING');
  expect(instancesOf(one)).toHaveLength(1);
});

test('a service of before has time to make room after it was started again', async () => {
  await fixture.close();
  fixture = await createTestEngine({ diskWatchSeconds: 0, diskGraceSeconds: 600 });
  const one = await deployed({ volumes: [{ id: 'v', mountPath: '/data', sizeGiB: 1 }] });
  await hold(one, 9 * gibibyte);
  const view = await becomes(one, (now) => diskOf(now) !== undefined, 'a warning');
  expect(diskOf(view)).toMatchObject({
    severity: 'WARNING',
    failure: { message: expect.stringContaining('10 minutes after its start') },
  });
  expect(instancesOf(one)).toHaveLength(1);
});
