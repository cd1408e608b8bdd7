import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { DriverError } from '@davit/drivers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { JobRelease, RequestedService } from '../port.ts';
import { config } from '../testing/config.ts';
import { Sites } from '../testing/sites.ts';
import { createWorld, eventually, service, type World } from '../testing/world.ts';
import { createEngine } from '../index.ts';

let world: World;
const sites = new Sites();
beforeEach(async () => {
  world = await createWorld({}, sites);
});
afterEach(() => world.close());

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

const running = () => eventually(async () => world.fake.instances.find(({ state }) => state === 'RUNNING'), 'a run');
const clear = (...jobs: readonly RequestedService[]) =>
  world.engine.port.clearEndedRuns({ driver: 'fake', serviceIds: jobs.map(({ serviceId }) => serviceId) });
const failing = (method: string, cause: 'ENGINE_FAILED' | 'ENGINE_UNREACHABLE') => ({
  before: (call: { readonly method: string }) => {
    if (call.method === method) throw new DriverError({ cause, message: 'no answer' });
  },
});
const dueNow = statement('test_leftovers_due', `update job_schedule set next_at = clock_timestamp() where service_id = $1`);

/** Returns a job that failed while the cluster removed nothing, without a keeper that would clean up later. */
async function leftOver(): Promise<RequestedService> {
  const migrate = job();
  await world.deploy([migrate]);
  const { id } = await running();
  world.fake.print(id, 'no such table');
  world.fake.script = failing('retire', 'ENGINE_FAILED');
  world.fake.kill(id, 3);
  await world.reaches(migrate.serviceId, 'DEPLOYMENT_ERROR');
  await world.engine.stop();
  world.fake.script = {};
  return migrate;
}

test('what a failed run left on the cluster is removed and told; its log and history stay', async () => {
  const migrate = await leftOver();
  const names = world.fake.instances.map(({ name }) => name);
  expect(names).toHaveLength(1);
  expect(await clear(job(), migrate)).toEqual([{ serviceId: migrate.serviceId, instances: names }]);
  expect(world.fake.instances).toEqual([]);
  expect(await clear(migrate)).toEqual([]);
  expect(await world.view(migrate.serviceId)).toMatchObject({ state: 'DEPLOYMENT_ERROR', failure: { code: 'JOB_FAILED' } });
  const { port } = world.engine;
  const { database } = world.database;
  expect(await port.serviceLog(database, migrate.serviceId, 10)).toMatchObject([{ message: 'no such table' }]);
  expect(await port.serviceHistory(database, migrate.serviceId, { page: 1, pageSize: 10 })).toHaveLength(1);
});

test('also on a cluster that a process which only answers requests has not met yet', async () => {
  const east = sites.add('east');
  const migrate = job();
  await world.deploy([migrate], { place: east.place });
  const { id } = await eventually(async () => east.fake.instances.find(({ state }) => state === 'RUNNING'), 'a run');
  east.onCall = ({ method }) => {
    if (method === 'retire') throw new DriverError({ cause: 'ENGINE_FAILED', message: 'not now' });
  };
  east.fake.kill(id, 3);
  await world.reaches(migrate.serviceId, 'DEPLOYMENT_ERROR');
  await world.engine.stop();
  east.onCall = null;
  const answering = createEngine(world.input);
  const cleared = await answering.port.clearEndedRuns({ driver: east.id, serviceIds: [migrate.serviceId] });
  expect(cleared).toMatchObject([{ serviceId: migrate.serviceId }]);
  expect(east.fake.instances).toEqual([]);
  await answering.stop();
});

test('only the jobs that are named are cleaned', async () => {
  await leftOver();
  expect(await clear(job())).toEqual([]);
  expect(world.fake.instances).toHaveLength(1);
});

test('a run of a deployment under way stays, also while Davit is away', async () => {
  const migrate = job();
  await world.deploy([migrate]);
  const { id } = await running();
  expect(await clear(migrate)).toEqual([]);
  await world.engine.stop();
  // The end of the run is not recorded yet.
  world.fake.kill(id, 0);
  expect(await clear(migrate)).toEqual([]);
  await world.restart();
  await world.reaches(migrate.serviceId, 'DEPLOYED');
});

test('a scheduled run under way stays', async () => {
  const schedule = { expression: '0 3 * * *', timezone: 'Etc/UTC' };
  const tick = job({ events: { CRON: { entrypoint: ['/tick'], arguments: [] } }, schedule });
  await world.deploy([tick]);
  await world.reaches(tick.serviceId, 'DEPLOYED');
  await world.database.database.run(dueNow, [tick.serviceId]);
  const { id } = await running();
  expect(await clear(tick)).toEqual([]);
  expect(world.fake.instances).toMatchObject([{ id, state: 'RUNNING' }]);
});

test('a cluster that does not answer is told, and one that nothing can run on has nothing', async () => {
  const migrate = await leftOver();
  world.fake.script = failing('observe', 'ENGINE_UNREACHABLE');
  await expect(clear(migrate)).rejects.toMatchObject({ code: 'CLUSTER_UNREACHABLE' });
  const serviceIds = [migrate.serviceId];
  expect(await world.engine.port.clearEndedRuns({ driver: 'kubernetes', serviceIds })).toEqual([]);
});
