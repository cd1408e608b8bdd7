import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { DriverError } from '@davit/drivers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { JobRelease, RequestedService } from '../port.ts';
import { config } from '../testing/config.ts';
import { Sites } from '../testing/sites.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';
import { createEngine } from '../index.ts';

let fixture: TestEngine;
const sites = new Sites();
beforeEach(async () => {
  fixture = await createTestEngine({}, sites);
});
afterEach(() => fixture.close());

function job(overrides: Partial<JobRelease> = {}): RequestedService {
  const source = { type: 'IMAGE', image: 'registry.example/migrate', tag: '1', registryId: null } as const;
  const whole: JobRelease = {
    events: { START: { entrypoint: ['/up'], arguments: [] } },
    schedule: null,
    maximumRestarts: 0,
    maximumSeconds: null,
    ...overrides,
  };
  const stage = { id: randomUUID(), name: 'JOB DEFAULT', position: 1 };
  const release = config({ name: 'migrate', source, ports: [], instances: 0, job: whole });
  return service({ serviceType: 'JOB', name: 'migrate', stage, config: release });
}

const running = () => eventually(async () => fixture.fake.instances.find(({ state }) => state === 'RUNNING'), 'a run');
const clear = (...jobs: readonly RequestedService[]) =>
  fixture.engine.port.clearEndedRuns({ driver: 'fake', serviceIds: jobs.map(({ serviceId }) => serviceId) });
const failing = (method: string, cause: 'ENGINE_FAILED' | 'ENGINE_UNREACHABLE') => ({
  before: (call: { readonly method: string }) => {
    if (call.method === method) throw new DriverError({ cause, message: 'no answer' });
  },
});
const dueNow = statement('test_leftovers_due', `update job_schedule set next_at = clock_timestamp() where service_id = $1`);

/** Returns a job that failed while the cluster removed nothing, without a keeper that would clean up later. */
async function leftOver(): Promise<RequestedService> {
  const migrate = job();
  await fixture.deploy([migrate]);
  const { id } = await running();
  fixture.fake.print(id, 'no such table');
  fixture.fake.script = failing('retire', 'ENGINE_FAILED');
  fixture.fake.kill(id, 3);
  await fixture.reaches(migrate.serviceId, 'DEPLOYMENT_ERROR');
  await fixture.engine.stop();
  fixture.fake.script = {};
  return migrate;
}

test('what a failed run left on the cluster is removed and told; its log and history stay', async () => {
  const migrate = await leftOver();
  const names = fixture.fake.instances.map(({ name }) => name);
  expect(names).toHaveLength(1);
  expect(await clear(job(), migrate)).toEqual([{ serviceId: migrate.serviceId, instances: names }]);
  expect(fixture.fake.instances).toEqual([]);
  expect(await clear(migrate)).toEqual([]);
  expect(await fixture.view(migrate.serviceId)).toMatchObject({ state: 'DEPLOYMENT_ERROR', failure: { code: 'JOB_FAILED' } });
  const { port } = fixture.engine;
  const { database } = fixture.database;
  expect(await port.serviceLog(database, migrate.serviceId, 10)).toMatchObject([{ message: 'no such table' }]);
  expect(await port.serviceHistory(database, migrate.serviceId, { page: 1, pageSize: 10 })).toHaveLength(1);
});

test('also on a cluster that a process which only answers requests has not met yet', async () => {
  const east = sites.add('east');
  const migrate = job();
  await fixture.deploy([migrate], { environment: east.environment });
  const { id } = await eventually(async () => east.fake.instances.find(({ state }) => state === 'RUNNING'), 'a run');
  east.onCall = ({ method }) => {
    if (method === 'retire') throw new DriverError({ cause: 'ENGINE_FAILED', message: 'not now' });
  };
  east.fake.kill(id, 3);
  await fixture.reaches(migrate.serviceId, 'DEPLOYMENT_ERROR');
  await fixture.engine.stop();
  east.onCall = null;
  const answering = createEngine(fixture.input);
  const cleared = await answering.port.clearEndedRuns({ driver: east.id, serviceIds: [migrate.serviceId] });
  expect(cleared).toMatchObject([{ serviceId: migrate.serviceId }]);
  expect(east.fake.instances).toEqual([]);
  await answering.stop();
});

test('only the jobs that are named are cleaned', async () => {
  await leftOver();
  expect(await clear(job())).toEqual([]);
  expect(fixture.fake.instances).toHaveLength(1);
});

test('a run of a deployment under way stays, also while Davit is away', async () => {
  const migrate = job();
  await fixture.deploy([migrate]);
  const { id } = await running();
  expect(await clear(migrate)).toEqual([]);
  await fixture.engine.stop();
  // The end of the run is not recorded yet.
  fixture.fake.kill(id, 0);
  expect(await clear(migrate)).toEqual([]);
  await fixture.restart();
  await fixture.reaches(migrate.serviceId, 'DEPLOYED');
});

test('a scheduled run under way stays', async () => {
  const schedule = { expression: '0 3 * * *', timezone: 'Etc/UTC' };
  const tick = job({ events: { CRON: { entrypoint: ['/tick'], arguments: [] } }, schedule });
  await fixture.deploy([tick]);
  await fixture.reaches(tick.serviceId, 'DEPLOYED');
  await fixture.database.database.run(dueNow, [tick.serviceId]);
  const { id } = await running();
  expect(await clear(tick)).toEqual([]);
  expect(fixture.fake.instances).toMatchObject([{ id, state: 'RUNNING' }]);
});

test('a cluster that does not answer is told, and one that nothing can run on has nothing', async () => {
  const migrate = await leftOver();
  fixture.fake.script = failing('observe', 'ENGINE_UNREACHABLE');
  await expect(clear(migrate)).rejects.toMatchObject({ code: 'CLUSTER_UNREACHABLE' });
  const serviceIds = [migrate.serviceId];
  expect(await fixture.engine.port.clearEndedRuns({ driver: 'kubernetes', serviceIds })).toEqual([]);
});
