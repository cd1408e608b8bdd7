import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { DriverError, type Instance } from '@davit/drivers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { EnvironmentRef, JobRelease, ReleaseConfig, RequestedService } from '../port.ts';
import { config } from '../testing/config.ts';
import { withShiftedDates } from '../testing/shifted-dates.ts';
import { Sites, type Site } from '../testing/sites.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';

/* Cron jobs on clusters that start their runs by themselves. */

let fixture: TestEngine;
let east: Site;
let west: Site;
beforeEach(async () => {
  const sites = new Sites(true, false, true);
  east = sites.add('east');
  west = sites.add('west');
  fixture = await createTestEngine({}, sites);
});
afterEach(() => fixture.close());

const readRuns = statement<{ id: string; status: string; failure: { code: string } | null; by_cluster: boolean }>(
  'test_read_cluster_runs',
  'select id, status, failure, by_cluster from job_run where service_id = $1 order by due_at',
);
const readSchedule = statement<{ driver: string | null; at: string }>(
  'test_read_cluster_schedule',
  'select driver, next_at::text as at from job_schedule where service_id = $1',
);
const setDue = statement('test_set_cluster_due', 'update job_schedule set next_at = clock_timestamp() where service_id = $1');
const endOf = statement<{ status: string }>(
  'test_cluster_runs_end',
  `select status from deployment where id = $1 and status not in ('QUEUED', 'RUNNING')`,
);

const cron = (overrides: Partial<JobRelease> = {}, more: Partial<ReleaseConfig> = {}): RequestedService => {
  const job: JobRelease = {
    events: { CRON: { entrypoint: ['/tick'], arguments: [] } },
    schedule: { expression: '0 3 * * *', timezone: 'Europe/Paris' },
    maximumRestarts: 2,
    maximumSeconds: 600,
    ...overrides,
  };
  const source = { type: 'IMAGE', image: 'registry.example/tick', tag: '1', registryId: null } as const;
  return service({
    serviceType: 'JOB',
    name: 'tick',
    stage: { id: randomUUID(), name: 'JOB DEFAULT', position: 1 },
    config: config({ name: 'tick', source, ports: [], instances: 0, job, ...more }),
  });
};
const bare = ({ release: _none, ...rest }: RequestedService): RequestedService => rest;
const ended = (id: string): Promise<string> =>
  eventually(async () => (await fixture.database.database.maybe(endOf, [id]))?.status, 'the end of the deployment');
const deploy = async (one: RequestedService, environment: EnvironmentRef = east.environment, more: object = {}): Promise<void> =>
  expect(await ended(await fixture.deploy([one], { environment, ...more }))).toBe('SUCCEEDED');
const armed = async (one = cron()): Promise<RequestedService> => {
  await deploy(one);
  return one;
};
const runs = ({ serviceId }: RequestedService) => fixture.database.database.many(readRuns, [serviceId]);
const schedule = ({ serviceId }: RequestedService) => fixture.database.database.maybe(readSchedule, [serviceId]);
const statuses = (one: RequestedService, ...wanted: readonly string[]) =>
  eventually(async () => {
    const seen = await runs(one);
    return seen.map(({ status }) => status).join() === wanted.join() ? seen : undefined;
  }, `runs that are ${wanted.join()}`);
const logOf = async ({ serviceId }: RequestedService): Promise<string[]> =>
  (await fixture.engine.port.serviceLog(fixture.database.database, serviceId, 100)).map(({ message }) => message);
const nothingLeft = (site: Site) =>
  eventually(async () => (site.fake.instances.length === 0 ? true : undefined), 'nothing left on the cluster');

/** Makes the cluster start a run of the job. */
function due(one: RequestedService, site = east, at = new Date()): Instance {
  const instance = site.fake.schedules.due(one.serviceId, at);
  if (instance === null) throw new Error('the cluster begins no run');
  return instance;
}

describe('a cron job', () => {
  test('is put on the cluster with all that a run needs, and Davit starts none of its runs', async () => {
    const tick = await armed();
    const there = east.fake.schedules.armed.get(tick.serviceId);
    expect(there).toMatchObject({
      expression: '0 3 * * *',
      timezone: 'Europe/Paris',
      maxSeconds: 600,
      maxRestarts: 2,
      holdSeconds: 300,
      isSuspended: false,
      workload: { entrypoint: ['/tick'], runsOnce: true, folders: ['/davit-output'] },
    });
    const action = there?.workload.environment.find(({ name }) => name === 'DAVIT_JOB_ACTION');
    expect(action?.value.reveal()).toBe('CRON');
    expect(await schedule(tick)).toEqual({ driver: east.id, at: 'infinity' });
    expect(east.fake.instances).toEqual([]);
  });

  test('that the cluster began is waited for, its output and log are kept, and nothing is left', async () => {
    const tick = await armed();
    const { id, rollout } = due(tick);
    await statuses(tick, 'RUNNING');
    await eventually(
      async () => ((await fixture.view(tick.serviceId)).runningStatus === 'RUNNING' ? true : undefined),
      'the running status',
    );
    east.fake.print(id, 'tack');
    east.fake.write(id, '/davit-output/davit-output.json', '{"HOST": {"value": "db"}}');
    east.fake.kill(id, 0);
    expect(await statuses(tick, 'SUCCEEDED')).toMatchObject([{ id: rollout, by_cluster: true }]);
    await nothingLeft(east);
    expect(await logOf(tick)).toEqual(['tack']);
    expect(fixture.outputs.get(tick.serviceId)).toMatchObject([{ name: 'HOST', value: 'db' }]);
    await eventually(
      async () => ((await fixture.view(tick.serviceId)).runningStatus === 'COMPLETED' ? true : undefined),
      'the running status',
    );
    expect(east.fake.calls.map(({ method }) => method)).not.toContain('start');
  });

  test('that fails says so, and is not tried again by Davit, as the cluster has done that', async () => {
    const tick = await armed();
    const { id } = due(tick);
    east.fake.print(id, 'no such table');
    east.fake.kill(id, 4);
    expect(await statuses(tick, 'FAILED')).toMatchObject([{ failure: { code: 'JOB_FAILED' } }]);
    await nothingLeft(east);
    expect(await logOf(tick)).toEqual(['no such table', expect.stringMatching(/failed \(JOB_FAILED\): .*exit code 4/)]);
    expect(east.fake.calls.map(({ method }) => method)).not.toContain('start');
    expect((await fixture.view(tick.serviceId)).runningStatus).toBe('ERROR');
  });

  test('whose image is missing fails at once, and not when its time is over', async () => {
    const tick = await armed();
    east.onCall = ({ method }) => {
      if (method === 'awaitRunStarted') throw new DriverError({ cause: 'IMAGE_NOT_FOUND', message: 'no such tag' });
    };
    due(tick);
    expect(await statuses(tick, 'FAILED')).toMatchObject([{ failure: { code: 'IMAGE_NOT_FOUND' } }]);
    await nothingLeft(east);
  });

  test('that the cluster ended for its time has run too long', async () => {
    const tick = await armed(cron({ maximumSeconds: 1 }));
    await fixture.engine.stop();
    const { id } = due(tick);
    const began = Date.now();
    await expect.poll(() => Date.now() - began).toBeGreaterThan(1_000);
    east.fake.kill(id, 137);
    await fixture.restart();
    expect(await statuses(tick, 'FAILED')).toMatchObject([{ failure: { code: 'JOB_TIMEOUT' } }]);
  });
});

describe('on a cluster whose clock is an hour late', () => {
  const late = <Result>(action: () => Result): Promise<Result> => withShiftedDates(-3_600_000, action);

  test('a run has its whole time', async () => {
    const tick = await armed(cron({ maximumSeconds: 600 }));
    const { id } = await late(() => due(tick));
    await statuses(tick, 'RUNNING');
    const looks = (): number =>
      east.fake.calls.filter(({ method, service: of }) => method === 'observe' && of === tick.serviceId).length;
    await eventually(async () => (looks() > 1 ? true : undefined), 'a second look');
    expect(east.fake.instances).toMatchObject([{ id, state: 'RUNNING' }]);
    await late(() => east.fake.kill(id, 0));
    await statuses(tick, 'SUCCEEDED');
  });

  test.each([
    ['within', 600, 0, 'JOB_FAILED'],
    ['at the end of', 1, 1_000, 'JOB_TIMEOUT'],
  ])('a run that ended %s its time says so', async (_when, maximumSeconds, minMilliseconds, code) => {
    const tick = await armed(cron({ maximumSeconds }));
    await fixture.engine.stop();
    const { id } = await late(() => due(tick));
    const began = Date.now();
    await expect.poll(() => Date.now() - began).toBeGreaterThanOrEqual(minMilliseconds);
    await late(() => east.fake.kill(id, 143));
    await fixture.restart();
    expect(await statuses(tick, 'FAILED')).toMatchObject([{ failure: { code } }]);
  });
});

describe('while Davit is down', () => {
  test('runs go on, and each is known once afterwards, with what it printed', async () => {
    const tick = await armed();
    await fixture.engine.stop();
    for (const hour of [1, 2, 3]) {
      const { id } = due(tick, east, new Date(Date.UTC(2026, 0, 1, hour)));
      east.fake.print(id, `at ${hour}`);
      east.fake.kill(id, hour === 2 ? 1 : 0);
    }
    const under = due(tick, east, new Date(Date.UTC(2026, 0, 1, 4)));
    await fixture.restart();
    await statuses(tick, 'SUCCEEDED', 'FAILED', 'SUCCEEDED', 'RUNNING');
    expect((await logOf(tick)).filter((line) => line.startsWith('at '))).toEqual(['at 1', 'at 2', 'at 3']);
    await fixture.restart();
    expect(east.fake.instances).toMatchObject([{ id: under.id, state: 'RUNNING' }]);
    east.fake.kill(under.id, 0);
    await statuses(tick, 'SUCCEEDED', 'FAILED', 'SUCCEEDED', 'SUCCEEDED');
    await nothingLeft(east);
  });

  test('a run is known once, wherever Davit was killed', async () => {
    const tick = await armed();
    // The call never ends, as in a process that dies there.
    for (const method of ['scheduledRuns', 'readFile', 'retire']) {
      let isReached: () => void = () => undefined;
      const reached = new Promise<void>((resolve) => (isReached = resolve));
      let isOver = false;
      east.onCall = async (call) => {
        if (call.method !== method || isOver) return;
        isReached();
        await new Promise(() => undefined);
      };
      const { id } = due(tick, east, new Date());
      east.fake.print(id, method);
      east.fake.kill(id, 0);
      await reached;
      isOver = true;
      await fixture.restart();
      await nothingLeft(east);
    }
    await statuses(tick, 'SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED');
    expect(await logOf(tick)).toEqual(['scheduledRuns', 'readFile', 'retire']);
  });

  test('a schedule that somebody else removed is there again, and one that is no longer wanted goes', async () => {
    const tick = await armed();
    const there = east.fake.schedules.armed.get(tick.serviceId);
    await fixture.engine.stop();
    east.fake.schedules.armed.clear();
    if (there !== undefined) {
      const service = randomUUID();
      const workload = { ...there.workload, owner: { ...there.workload.owner, service } };
      east.fake.schedules.armed.set(service, { ...there, workload });
    }
    await fixture.restart();
    await eventually(
      async () => (east.fake.schedules.armed.get(tick.serviceId)?.isSuspended === false ? true : undefined),
      'the schedule',
    );
    await expect.poll(() => east.fake.schedules.armed.size).toBe(1);
  });
});

test('a cluster that is away runs on, and what it did is known when it is back', async () => {
  const tick = await armed();
  const first = due(tick);
  await statuses(tick, 'RUNNING');
  east.isDown = true;
  east.fake.print(first.id, 'alone');
  east.fake.kill(first.id, 0);
  const second = due(tick, east, new Date(Date.now() + 60_000));
  east.fake.kill(second.id, 0);
  east.isDown = false;
  await statuses(tick, 'SUCCEEDED', 'SUCCEEDED');
  await nothingLeft(east);
  expect(await logOf(tick)).toEqual(['alone']);
});

describe('a run that the cluster goes on with, though its end is recorded,', () => {
  const looks = (): number => east.fake.calls.filter(({ method }) => method === 'scheduledRuns').length;
  const lookedTwice = async (): Promise<void> => {
    const before = looks();
    await eventually(async () => (looks() > before + 1 ? true : undefined), 'two more looks');
  };

  test('stays where Davit lost sight of it, until it is over', async () => {
    const tick = await armed();
    east.onCall = ({ method, service: of }) => {
      if (method === 'observe' && of === tick.serviceId) throw new DriverError({ cause: 'ENGINE_FAILED', message: 'not now' });
    };
    const { id } = due(tick);
    expect(await statuses(tick, 'FAILED')).toMatchObject([{ failure: { code: 'ENGINE_FAILED' } }]);
    east.onCall = null;
    expect(await fixture.engine.port.clearEndedRuns({ driver: east.id, serviceIds: [tick.serviceId] })).toEqual([]);
    expect(east.fake.instances).toMatchObject([{ id, state: 'RUNNING' }]);
    await fixture.restart();
    await lookedTwice();
    expect(east.fake.instances).toMatchObject([{ id, state: 'RUNNING' }]);
    east.fake.kill(id, 0);
    await nothingLeft(east);
    due(tick);
    await statuses(tick, 'FAILED', 'RUNNING');
  });

  test.each([
    ['its time was over', 'JOB_TIMEOUT', 1],
    ['it cannot begin', 'IMAGE_NOT_FOUND', 600],
  ])('goes where %s', async (_why, code, maximumSeconds) => {
    const tick = await armed(cron({ maximumSeconds }));
    east.onCall = ({ method }) => {
      if (method === 'retire') throw new DriverError({ cause: 'ENGINE_FAILED', message: 'not now' });
      if (method === 'awaitRunStarted' && code === 'IMAGE_NOT_FOUND')
        throw new DriverError({ cause: code, message: 'no such tag' });
    };
    const { id } = due(tick);
    expect(await statuses(tick, 'FAILED')).toMatchObject([{ failure: { code } }]);
    expect(east.fake.instances).toMatchObject([{ id, state: 'RUNNING' }]);
    east.onCall = null;
    await nothingLeft(east);
  });
});

test('a cluster that was away for one question does not make its run fail', async () => {
  const tick = await armed();
  let refusals = 0;
  east.onCall = ({ method, service: of }) => {
    if (method !== 'observe' || of !== tick.serviceId || (refusals += 1) > 3) return;
    throw new DriverError({ cause: 'ENGINE_UNREACHABLE', message: 'answers with 503', retryable: true });
  };
  const { id, rollout } = due(tick);
  await eventually(async () => (refusals > 3 ? true : undefined), 'an answer');
  expect(await statuses(tick, 'RUNNING')).toMatchObject([{ id: rollout }]);
  east.fake.kill(id, 0);
  await statuses(tick, 'SUCCEEDED');
});

test('a run that began for a release that is gone keeps no later run from being noted', async () => {
  const tick = await armed();
  const { armed: schedules } = east.fake.schedules;
  const own = schedules.get(tick.serviceId);
  if (own === undefined) throw new Error('it has no schedule');
  schedules.set(tick.serviceId, { ...own, workload: { ...own.workload, release: randomUUID() } });
  east.fake.kill(due(tick).id, 0);
  schedules.set(tick.serviceId, own);
  const { rollout } = due(tick, east, new Date(Date.now() + 60_000));
  expect(await statuses(tick, 'RUNNING')).toMatchObject([{ id: rollout }]);
});

describe('a deployment', () => {
  test('replaces what the schedule runs, while a run under way goes on as it began', async () => {
    const tick = await armed();
    const before = due(tick);
    await statuses(tick, 'RUNNING');
    const next = cron({ events: { CRON: { entrypoint: ['/tock'], arguments: [] } } });
    await deploy({ ...next, serviceId: tick.serviceId });
    expect(east.fake.instances).toMatchObject([{ id: before.id, state: 'RUNNING' }]);
    expect(east.fake.schedules.armed.get(tick.serviceId)?.workload.entrypoint).toEqual(['/tock']);
    east.fake.kill(before.id, 0);
    await statuses(tick, 'SUCCEEDED');
    await nothingLeft(east);
    const after = due(tick);
    expect(after.release).not.toBe(before.release);
    await statuses(tick, 'SUCCEEDED', 'RUNNING');
  });

  test('that stops the job takes the schedule away and ends the run under way', async () => {
    const tick = await armed();
    due(tick);
    await statuses(tick, 'RUNNING');
    await deploy(bare(tick), east.environment, { action: 'STOP' });
    expect(east.fake.schedules.armed.size).toBe(0);
    await statuses(tick, 'CANCELED');
    expect(east.fake.instances).toEqual([]);
    expect(await schedule(tick)).toBeUndefined();
    await deploy(tick);
    expect(east.fake.schedules.armed.get(tick.serviceId)?.isSuspended).toBe(false);
  });

  test('that deletes the job leaves nothing', async () => {
    const tick = await armed();
    due(tick);
    await statuses(tick, 'RUNNING');
    await fixture.deploy([bare(tick)], { environment: east.environment, action: 'DELETE' });
    await eventually(async () => (fixture.deleted.includes(tick.serviceId) ? true : undefined), 'the deletion');
    expect(east.fake.schedules.armed.size).toBe(0);
    expect(east.fake.instances).toEqual([]);
    expect(await runs(tick)).toEqual([]);
  });

  test('that runs the job now waits for the run of the schedule, which begins none meanwhile', async () => {
    const tick = await armed();
    const scheduled = due(tick);
    await statuses(tick, 'RUNNING');
    const id = await fixture.deploy([{ ...tick, event: 'CRON' }], { environment: east.environment });
    await eventually(
      async () => (east.fake.schedules.armed.get(tick.serviceId)?.isSuspended === true ? true : undefined),
      'the suspension',
    );
    expect(east.fake.instances.map((one) => one.id)).toEqual([scheduled.id]);
    east.fake.kill(scheduled.id, 0);
    const forced = await eventually(
      async () => east.fake.instances.find((one) => one.scheduled !== true && one.state === 'RUNNING'),
      'the run that was asked for',
    );
    expect(east.fake.schedules.due(tick.serviceId)).toBeNull();
    east.fake.kill(forced.id, 0);
    expect(await ended(id)).toBe('SUCCEEDED');
    expect(east.fake.schedules.armed.get(tick.serviceId)?.isSuspended).toBe(false);
    await statuses(tick, 'SUCCEEDED');
  });

  test('that runs the job now and fails leaves the schedule as it was', async () => {
    const tick = await armed();
    const id = await fixture.deploy([{ ...tick, event: 'CRON' }], { environment: east.environment });
    for (const attempt of [0, 1, 2]) {
      const instance = await eventually(
        async () => east.fake.instances.find((one) => one.index === attempt && one.state === 'RUNNING'),
        'an attempt',
      );
      east.fake.kill(instance.id, 1);
    }
    expect(await ended(id)).toBe('FAILED');
    await fixture.restart();
    await eventually(
      async () => (east.fake.schedules.armed.get(tick.serviceId)?.isSuspended === false ? true : undefined),
      'the schedule',
    );
  });

  test('says why where the cluster does not start runs, and Davit does', async () => {
    east.fake.schedules.unable = 'know L (the last day) in schedules';
    const tick = await armed();
    expect(east.fake.schedules.armed.size).toBe(0);
    expect(await schedule(tick)).toMatchObject({ driver: null });
    await fixture.database.database.run(setDue, [tick.serviceId]);
    const [run] = await statuses(tick, 'RUNNING');
    expect(run?.by_cluster).toBe(false);
    east.fake.schedules.unable = null;
    // Davit ends the runs that it started, and the cluster starts none meanwhile.
    await deploy(tick);
    expect(east.fake.schedules.armed.get(tick.serviceId)?.isSuspended).toBe(true);
    const instance = await eventually(async () => east.fake.instances[0], 'its instance');
    expect(instance.scheduled).toBeUndefined();
    east.fake.kill(instance.id, 0);
    await statuses(tick, 'SUCCEEDED');
    expect(await schedule(tick)).toEqual({ driver: east.id, at: 'infinity' });
    await fixture.restart();
    await expect.poll(() => east.fake.schedules.armed.get(tick.serviceId)?.isSuspended).toBe(false);
  });

  test.each(['applySchedule', 'resumeSchedule'])('goes on where it was when the server ends at %s', async (method) => {
    const tick = await armed();
    const release = east.fake.schedules.armed.get(tick.serviceId)?.workload.release;
    let isReached: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => (isReached = resolve));
    let isOver = false;
    east.onCall = async (call) => {
      if (call.method !== method || isOver) return;
      isReached();
      await new Promise(() => undefined);
    };
    const id = await fixture.deploy([tick], { environment: east.environment });
    await reached;
    isOver = true;
    await fixture.restart();
    expect(await ended(id)).toBe('SUCCEEDED');
    const there = east.fake.schedules.armed.get(tick.serviceId);
    expect(there?.isSuspended).toBe(false);
    expect(there?.workload.release).not.toBe(release);
  });
});

describe('a move', () => {
  const to = (site: Site): EnvironmentRef => ({ ...east.environment, clusterId: site.id, driver: site.id });

  test('to another cluster takes the schedule along, and back', async () => {
    const tick = await armed();
    await deploy(tick, to(west));
    expect([east.fake.schedules.armed.size, west.fake.schedules.armed.size]).toEqual([0, 1]);
    const { id } = due(tick, west);
    west.fake.kill(id, 0);
    await statuses(tick, 'SUCCEEDED');
    await deploy(tick, to(east));
    expect([east.fake.schedules.armed.size, west.fake.schedules.armed.size]).toEqual([1, 0]);
  });

  test('to this machine makes Davit start the runs, and back the cluster', async () => {
    const tick = await armed();
    const local = { ...east.environment, clusterId: fixture.environment.clusterId, driver: 'fake' };
    await deploy(tick, local);
    expect(east.fake.schedules.armed.size).toBe(0);
    expect(await schedule(tick)).toMatchObject({ driver: null });
    await fixture.database.database.run(setDue, [tick.serviceId]);
    const instance = await eventually(async () => fixture.fake.instances[0], 'a run here');
    fixture.fake.kill(instance.id, 0);
    await statuses(tick, 'SUCCEEDED');
    await deploy(tick, to(east));
    expect(await schedule(tick)).toEqual({ driver: east.id, at: 'infinity' });
    expect(east.fake.schedules.armed.size).toBe(1);
  });
});

test('failed runs are cleaned, those under way or not yet known are not', async () => {
  const tick = await armed();
  east.onCall = ({ method }) => {
    if (method === 'scheduledRuns') throw new DriverError({ cause: 'ENGINE_FAILED', message: 'not now' });
  };
  const { id } = due(tick);
  const clear = () => fixture.engine.port.clearEndedRuns({ driver: east.id, serviceIds: [tick.serviceId] });
  expect(await clear()).toEqual([]);
  expect(east.fake.instances).toMatchObject([{ id, state: 'RUNNING' }]);
  east.onCall = ({ method }) => {
    if (method === 'retire') throw new DriverError({ cause: 'ENGINE_FAILED', message: 'not now' });
  };
  east.fake.kill(id, 1);
  await statuses(tick, 'FAILED');
  east.onCall = null;
  await fixture.engine.stop();
  await clear();
  expect(east.fake.instances).toEqual([]);
});
