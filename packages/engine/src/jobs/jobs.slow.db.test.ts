import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import type { FakeScript, Instance } from '@davit/drivers';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { JobRelease, ReleaseConfig, RequestedService } from '../port.ts';
import { markLaunched } from '../store/jobs.ts';
import { config } from '../testing/config.ts';
import { withShiftedDates } from '../testing/shifted-dates.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';

let fixture: TestEngine;
beforeEach(async () => {
  fixture = await createTestEngine();
});
afterEach(async () => {
  await fixture.close();
});

const lifecycle: JobRelease = {
  events: {
    START: { entrypoint: ['/up'], arguments: ['--now'] },
    STOP: { entrypoint: [], arguments: ['stop'] },
    DELETE: { entrypoint: [], arguments: ['delete'] },
  },
  schedule: null,
  maximumRestarts: 0,
  maximumSeconds: null,
};

function job(overrides: Partial<JobRelease> = {}, more: Partial<ReleaseConfig> = {}): RequestedService {
  const source = { type: 'IMAGE', image: 'registry.example/migrate', tag: '1', registryId: null } as const;
  const release = config({ name: 'migrate', source, ports: [], instances: 0, job: { ...lifecycle, ...overrides }, ...more });
  return service({
    serviceType: 'JOB',
    name: 'migrate',
    stage: { id: randomUUID(), name: 'JOB DEFAULT', position: 1 },
    config: release,
  });
}

/** Returns the running instance of a job. */
const running = (): Promise<Instance> =>
  eventually(async () => fixture.fake.instances.find(({ state }) => state === 'RUNNING'), 'a running instance');

/** Waits until the state of a run was looked at this many times. */
async function lookedAt({ serviceId }: RequestedService, times: number): Promise<void> {
  const looks = (): number =>
    fixture.fake.calls.filter(({ method, service: of }) => method === 'observe' && of === serviceId).length;
  await eventually(async () => (looks() >= times ? true : undefined), `${times} looks`);
}

async function ends(code: number, ...lines: readonly string[]): Promise<Instance> {
  const instance = await running();
  for (const line of lines) fixture.fake.print(instance.id, line);
  fixture.fake.kill(instance.id, code);
  return instance;
}

async function logOf(serviceId: string): Promise<string[]> {
  return (await fixture.engine.port.serviceLog(fixture.database.database, serviceId, 100)).map(({ message }) => message);
}

describe('a deployment of a lifecycle job', () => {
  test('runs its start command to the end, stores its output and leaves nothing behind', async () => {
    const migrate = job();
    await fixture.deploy([migrate]);
    const instance = await running();
    expect((await fixture.view(migrate.serviceId)).state).toBe('DEPLOYING');
    const workload = fixture.fake.workloads.get(instance.id);
    expect(workload).toMatchObject({ entrypoint: ['/up'], arguments: ['--now'], instances: 1 });
    const action = workload?.environment.find(({ name }) => name === 'DAVIT_JOB_ACTION');
    expect(action?.value.reveal()).toBe('START');
    await ends(0, 'one', 'two');
    const view = await fixture.reaches(migrate.serviceId, 'DEPLOYED');
    expect(view.runningStatus).toBe('COMPLETED');
    expect(view.deployedConfigHash).not.toBeNull();
    expect(fixture.fake.instances).toEqual([]);
    expect(await logOf(migrate.serviceId)).toEqual(['one', 'two']);
  });

  test('hands on what it told when it succeeded', async () => {
    const migrate = job();
    await fixture.deploy([migrate]);
    const { id } = await running();
    fixture.fake.write(id, '/davit-output/davit-output.json', '{"HOST": {"value": "db", "sensitive": true}}');
    await ends(0);
    await fixture.reaches(migrate.serviceId, 'DEPLOYED');
    expect(fixture.outputs.get(migrate.serviceId)).toEqual([{ name: 'HOST', value: 'db', sensitive: true, description: null }]);
  });

  test('that told something that no process could get keeps the rest of it', async () => {
    const migrate = job();
    await fixture.deploy([migrate]);
    const { id } = await running();
    const reported = { HOST: { value: 'db' }, DUMP: { value: 'x'.repeat(204_800) }, NUL: { value: 'a\0b' } };
    fixture.fake.write(id, '/davit-output/davit-output.json', JSON.stringify(reported));
    await ends(0);
    await fixture.reaches(migrate.serviceId, 'DEPLOYED');
    expect(fixture.outputs.get(migrate.serviceId)).toMatchObject([{ name: 'HOST', value: 'db' }]);
    const { lines } = await fixture.engine.port.deploymentLog(fixture.database.database, fixture.environmentId, null);
    const line = lines.find(({ message }) => message.startsWith('Outputs: HOST.'));
    expect(line?.message).toMatch(/DUMP is ignored: its value of 204800 bytes .* NUL is ignored: /);
  });

  test('without a start command runs nothing, and is deployed', async () => {
    const migrate = job({ events: { DELETE: { entrypoint: [], arguments: [] } } });
    await fixture.deploy([migrate]);
    await fixture.reaches(migrate.serviceId, 'DEPLOYED');
    expect(fixture.fake.calls.map(({ method }) => method)).not.toContain('start');
    expect(fixture.fake.calls.map(({ method }) => method)).toContain('pull');
  });

  test('fails with exit code and last lines, and stops what comes after it', async () => {
    const migrate = job();
    const web = service();
    await fixture.deploy([migrate, web]);
    await ends(3, 'no such table');
    const view = await fixture.reaches(migrate.serviceId, 'DEPLOYMENT_ERROR');
    expect(view.failure).toMatchObject({
      code: 'JOB_FAILED',
      message: expect.stringContaining('exit code 3'),
      evidence: { lines: ['no such table'], exit: { code: 3 } },
    });
    expect(view.deployedReleaseId).toBeNull();
    await fixture.reaches(web.serviceId, 'CANCELED');
    expect(fixture.fake.instances).toEqual([]);
  });

  test('is tried again as often as it may be', async () => {
    const migrate = job({ maximumRestarts: 1 });
    await fixture.deploy([migrate]);
    const first = await ends(1);
    const second = await ends(0, 'better');
    expect([first.index, second.index]).toEqual([0, 1]);
    await fixture.reaches(migrate.serviceId, 'DEPLOYED');
    const again = await fixture.deploy([migrate]);
    expect(again).toBeTruthy();
    await ends(1);
    await ends(2);
    const { failure } = await fixture.reaches(migrate.serviceId, 'DEPLOYMENT_ERROR');
    expect(failure).toMatchObject({
      code: 'JOB_FAILED',
      message: expect.stringMatching(/exit code 2 at the last of 2 attempts/),
    });
  });

  test('is killed when it takes longer than it may', async () => {
    const migrate = job({ maximumSeconds: 1, maximumRestarts: 3 });
    await fixture.deploy([migrate]);
    fixture.fake.print((await running()).id, 'still at it');
    const { failure } = await fixture.reaches(migrate.serviceId, 'DEPLOYMENT_ERROR');
    expect(failure).toMatchObject({ code: 'JOB_TIMEOUT', evidence: { lines: ['still at it'] } });
    expect(fixture.fake.instances).toEqual([]);
  });

  test('has its whole time, however late the clock of the machine is that launched it', async () => {
    const migrate = job({ maximumSeconds: 60 });
    await withShiftedDates(-3_600_000, async () => {
      await fixture.deploy([migrate]);
      await running();
      await lookedAt(migrate, 2);
    });
    expect(fixture.fake.instances).toMatchObject([{ state: 'RUNNING' }]);
    await ends(0);
    await fixture.reaches(migrate.serviceId, 'DEPLOYED');
  });

  test('is waited for by a cancel without force, and what comes after it does not run', async () => {
    const migrate = job();
    const web = service();
    await fixture.deploy([migrate, web]);
    const { id } = await running();
    await fixture.engine.port.cancel(fixture.environmentId, false);
    await fixture.restart();
    expect(fixture.fake.instances).toMatchObject([{ id, state: 'RUNNING' }]);
    await ends(0);
    await fixture.reaches(web.serviceId, 'CANCELED');
    expect((await fixture.view(migrate.serviceId)).state).toBe('DEPLOYED');
  });

  test('can be canceled with force, and its container goes', async () => {
    const migrate = job();
    await fixture.deploy([migrate]);
    await running();
    await fixture.engine.port.cancel(fixture.environmentId, false);
    await fixture.engine.port.cancel(fixture.environmentId, true);
    await fixture.reaches(migrate.serviceId, 'CANCELED');
    expect(fixture.fake.instances).toEqual([]);
  });

  test('is not revived once it is done, nor is what a crash left of it', async () => {
    const migrate = job();
    await fixture.deploy([migrate]);
    await ends(0);
    await fixture.reaches(migrate.serviceId, 'DEPLOYED');
    await fixture.restart();
    expect(fixture.fake.calls.map(({ method }) => method)).not.toContain('revive');
    expect(fixture.fake.instances).toEqual([]);
  });
});

describe('after a restart of Davit', () => {
  test('a job that still runs is waited for, not run again', async () => {
    const migrate = job();
    await fixture.deploy([migrate]);
    const before = await running();
    fixture.fake.print(before.id, 'before');
    await eventually(async () => ((await logOf(migrate.serviceId)).length > 0 ? true : undefined), 'the first line');
    await fixture.restart();
    expect(fixture.fake.instances).toMatchObject([{ id: before.id, state: 'RUNNING' }]);
    await ends(0, 'after');
    await fixture.reaches(migrate.serviceId, 'DEPLOYED');
    expect(fixture.fake.calls.filter(({ method }) => method === 'start')).toHaveLength(1);
    expect(await logOf(migrate.serviceId)).toEqual(['before', 'after']);
  });

  test('a job that ended meanwhile is found, with the output that nobody had read', async () => {
    const migrate = job();
    await fixture.deploy([migrate]);
    const instance = await running();
    await fixture.engine.stop();
    fixture.fake.print(instance.id, 'unseen');
    fixture.fake.kill(instance.id, 0);
    await fixture.restart();
    await fixture.reaches(migrate.serviceId, 'DEPLOYED');
    expect(fixture.fake.calls.filter(({ method }) => method === 'start')).toHaveLength(1);
    expect(await logOf(migrate.serviceId)).toEqual(['unseen']);
  });

  test('a job whose container is gone has failed, and is not run again', async () => {
    const migrate = job();
    await fixture.deploy([migrate]);
    await running();
    await fixture.engine.stop();
    const call = { signal: new AbortController().signal, log: () => undefined };
    await fixture.fake.cluster.retire({ service: migrate.serviceId }, 0, call);
    await fixture.restart();
    const { failure } = await fixture.reaches(migrate.serviceId, 'DEPLOYMENT_ERROR');
    expect(failure).toMatchObject({ code: 'JOB_FAILED', message: expect.stringContaining('removed while it ran') });
    expect(fixture.fake.calls.filter(({ method }) => method === 'start')).toHaveLength(1);
  });
});

describe('the other events of a lifecycle job', () => {
  const deployed = async (overrides: Partial<JobRelease> = {}): Promise<RequestedService> => {
    const migrate = job(overrides);
    await fixture.deploy([migrate]);
    await ends(0);
    await fixture.reaches(migrate.serviceId, 'DEPLOYED');
    return migrate;
  };
  const bare = ({ release: _release, ...rest }: RequestedService): RequestedService => rest;
  const requested = async (instance: Instance): Promise<string | undefined> =>
    fixture.fake.workloads
      .get(instance.id)
      ?.environment.find(({ name }) => name === 'DAVIT_JOB_ACTION')
      ?.value.reveal();

  test('are its stop command at a stop', async () => {
    const migrate = await deployed();
    await fixture.deploy([bare(migrate)], { action: 'STOP' });
    const instance = await running();
    expect(await requested(instance)).toBe('STOP');
    expect(fixture.fake.workloads.get(instance.id)).toMatchObject({ arguments: ['stop'], entrypoint: [] });
    expect((await fixture.view(migrate.serviceId)).state).toBe('STOPPING');
    await ends(0);
    await fixture.reaches(migrate.serviceId, 'STOPPED');
    expect(fixture.fake.instances).toEqual([]);
  });

  test('are its delete command before it is removed, and a failing one keeps it', async () => {
    const migrate = await deployed();
    await fixture.deploy([bare(migrate)], { action: 'DELETE' });
    expect(await requested(await running())).toBe('DELETE');
    await ends(1, 'still in use');
    const { failure } = await fixture.reaches(migrate.serviceId, 'DELETE_ERROR');
    expect(failure).toMatchObject({ code: 'JOB_FAILED', evidence: { lines: ['still in use'] } });
    expect(fixture.deleted).toEqual([]);
    expect(fixture.fake.instances).toEqual([]);
    await fixture.deploy([bare(migrate)], { action: 'DELETE' });
    await ends(0);
    await eventually(async () => (fixture.deleted.includes(migrate.serviceId) ? true : undefined), 'the deletion');
  });

  test('are passed over where the job has none', async () => {
    const migrate = await deployed({ events: { START: { entrypoint: [], arguments: [] } } });
    await fixture.deploy([bare(migrate)], { action: 'STOP' });
    await fixture.reaches(migrate.serviceId, 'STOPPED');
    await fixture.deploy([bare(migrate)], { action: 'DELETE' });
    await eventually(async () => (fixture.deleted.includes(migrate.serviceId) ? true : undefined), 'the deletion');
    expect(fixture.fake.calls.filter(({ method }) => method === 'start')).toHaveLength(1);
  });

  test('can be asked for one by one, and leave the rest as it is', async () => {
    const migrate = await deployed();
    const forced = { ...migrate, event: 'DELETE' } as const;
    await fixture.deploy([forced]);
    await fixture.deploy([{ ...migrate, event: 'STOP' }]);
    expect(await requested(await running())).toBe('DELETE');
    await ends(0);
    // The second run is neither merged into the first nor lost.
    const second = await eventually(async () => {
      const instance = fixture.fake.instances.find(({ state }) => state === 'RUNNING');
      return instance !== undefined && (await requested(instance)) === 'STOP' ? instance : undefined;
    }, 'the second event');
    fixture.fake.kill(second.id, 0);
    await eventually(async () => {
      const view = await fixture.view(migrate.serviceId);
      return view.state === 'DEPLOYED' && view.waitingRequests === 0 ? view : undefined;
    }, 'both');
    expect(fixture.deleted).toEqual([]);
  });

  test('go on after a restart of Davit in the middle of a deletion', async () => {
    const migrate = await deployed();
    await fixture.deploy([bare(migrate)], { action: 'DELETE' });
    const before = await running();
    await fixture.restart();
    await ends(0);
    await eventually(async () => (fixture.deleted.includes(migrate.serviceId) ? true : undefined), 'the deletion');
    expect(before.id).toBeTruthy();
    expect(fixture.fake.calls.filter(({ method }) => method === 'start')).toHaveLength(2);
  });
});

const setDue = statement(
  'test_set_due',
  `update job_schedule set next_at = clock_timestamp() + make_interval(secs => $2::integer) where service_id = $1`,
);
const readNext = statement<{ next_at: string }>('test_read_next', `select next_at from job_schedule where service_id = $1`);
const readRuns = statement<{ status: string; failure: { code: string } | null }>(
  'test_read_runs',
  `select status, failure from job_run where service_id = $1 order by created_at`,
);

describe('a cron job', () => {
  const cron = (overrides: Partial<JobRelease> = {}): RequestedService =>
    job({
      events: { CRON: { entrypoint: ['/tick'], arguments: [] } },
      schedule: { expression: '0 3 * * *', timezone: 'Europe/Paris' },
      ...overrides,
    });
  const armed = async (overrides: Partial<JobRelease> = {}): Promise<RequestedService> => {
    const tick = cron(overrides);
    await fixture.deploy([tick]);
    await fixture.reaches(tick.serviceId, 'DEPLOYED');
    return tick;
  };
  const due = ({ serviceId }: RequestedService, inSeconds: number): Promise<number> =>
    fixture.database.database.run(setDue, [serviceId, inSeconds]);
  const next = async ({ serviceId }: RequestedService): Promise<string | undefined> =>
    (await fixture.database.database.maybe(readNext, [serviceId]))?.next_at;
  const runs = ({ serviceId }: RequestedService) => fixture.database.database.many(readRuns, [serviceId]);
  const ended = (tick: RequestedService, ...statuses: readonly string[]) =>
    eventually(async () => {
      const seen = (await runs(tick)).map(({ status }) => status);
      return seen.join() === statuses.join() ? seen : undefined;
    }, `runs that are ${statuses.join()}`);
  const starts = (): number => fixture.fake.calls.filter(({ method }) => method === 'start').length;

  test('is armed by its deployment, and runs nothing before its time', async () => {
    const tick = await armed();
    const at = new Date((await next(tick)) ?? '');
    expect(at.getTime()).toBeGreaterThan(Date.now());
    expect(at.toLocaleTimeString('en-GB', { timeZone: 'Europe/Paris' })).toBe('03:00:00');
    expect(starts()).toBe(0);
  });

  test('is due by the clock of the database, however late the machine of its deployment is', async () => {
    const tick = await withShiftedDates(-3_600_000, () => armed({ schedule: { expression: '* * * * *', timezone: 'UTC' } }));
    expect(Date.parse((await next(tick)) ?? '')).toBeGreaterThan(Date.now() - 60_000);
    expect(await runs(tick)).toEqual([]);
  });

  test('has its whole time on a machine whose clock is ahead of that of the database', async () => {
    const tick = await armed({ maximumSeconds: 60 });
    const now = Date.now.bind(Date);
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000);
    try {
      await due(tick, 0);
      await running();
      await lookedAt(tick, 2);
      expect(fixture.fake.instances).toMatchObject([{ state: 'RUNNING' }]);
      await ends(0);
      await ended(tick, 'SUCCEEDED');
    } finally {
      clock.mockRestore();
    }
  });

  test('whose instance does not go takes no place for ever', async () => {
    const tick = await armed();
    let hangs = true;
    let ends: AbortSignal | undefined;
    const before: FakeScript['before'] = async ({ method, service: id }, signal) => {
      if (!hangs || method !== 'retire' || id !== tick.serviceId) return;
      ends ??= signal;
      await new Promise(() => undefined);
    };
    const over = new AbortController();
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) =>
      hangs ? AbortSignal.any([timeout(milliseconds), over.signal]) : timeout(milliseconds),
    );
    fixture.fake.script = { before };
    await due(tick, 0);
    fixture.fake.kill((await running()).id, 0);
    await ended(tick, 'SUCCEEDED');
    const signal = await eventually(async () => ends, 'its removal');
    expect(signal.aborted).toBe(false);
    hangs = false;
    over.abort();
    expect(signal.aborted).toBe(true);
    await eventually(async () => (fixture.fake.instances.length === 0 ? true : undefined), 'the keeper to remove it');
    vi.restoreAllMocks();
  });

  test('runs when it is due, stores its output, and is due again at the next time', async () => {
    const tick = await armed();
    await due(tick, 0);
    const instance = await running();
    expect(fixture.fake.workloads.get(instance.id)).toMatchObject({ entrypoint: ['/tick'] });
    expect((await fixture.view(tick.serviceId)).runningStatus).toBe('RUNNING');
    expect(Date.parse((await next(tick)) ?? '')).toBeGreaterThan(Date.now());
    await ends(0, 'tack');
    await ended(tick, 'SUCCEEDED');
    await eventually(async () => (fixture.fake.instances.length === 0 ? true : undefined), 'nothing left');
    expect(await logOf(tick.serviceId)).toEqual(['tack']);
    const view = await fixture.view(tick.serviceId);
    expect(view).toMatchObject({ state: 'DEPLOYED', runningStatus: 'COMPLETED' });
  });

  test('that fails says so in its log and in its running status, and runs again at its next time', async () => {
    const tick = await armed();
    await due(tick, 0);
    await ends(4, 'oops');
    await ended(tick, 'FAILED');
    await eventually(
      async () => ((await fixture.view(tick.serviceId)).runningStatus === 'ERROR' ? true : undefined),
      'the error',
    );
    await eventually(async () => ((await logOf(tick.serviceId)).length === 2 ? true : undefined), 'the log');
    expect(await logOf(tick.serviceId)).toEqual(['oops', expect.stringMatching(/failed \(JOB_FAILED\): .*exit code 4/)]);
    await due(tick, 0);
    await ends(0);
    await ended(tick, 'FAILED', 'SUCCEEDED');
  });

  test('does not run twice at a time', async () => {
    const tick = await armed();
    await due(tick, 0);
    await running();
    await due(tick, 0);
    await eventually(async () => (/is skipped/.test((await logOf(tick.serviceId)).join()) ? true : undefined), 'the note');
    await ends(0);
    await ended(tick, 'SUCCEEDED');
    expect(starts()).toBe(1);
  });

  test('that runs while the database is away again and again is waited for', { timeout: 60_000 }, async () => {
    // Fails more often than it is retried at once.
    let failures = 7;
    await fixture.restart((requested) => requested === markLaunched && (failures -= 1) >= 0);
    const tick = await armed();
    await due(tick, 0);
    const { id } = await running();
    await vi.waitFor(() => expect(failures).toBeLessThan(0), { timeout: 40_000 });
    expect((await ends(0)).id).toBe(id);
    await ended(tick, 'SUCCEEDED');
  });

  test('that was due many times while Davit was down runs once', async () => {
    const tick = await armed({ schedule: { expression: '0 0 * * *', timezone: 'Etc/UTC' } });
    await fixture.engine.stop();
    await due(tick, -10 * 86_400);
    await fixture.restart();
    await ends(0);
    await ended(tick, 'SUCCEEDED');
    expect(Date.parse((await next(tick)) ?? '')).toBeGreaterThan(Date.now());
    expect(starts()).toBe(1);
  });

  test('that runs while Davit is restarted is waited for', async () => {
    const tick = await armed();
    await due(tick, 0);
    const before = await running();
    await fixture.restart();
    expect(fixture.fake.instances.map(({ id }) => id)).toEqual([before.id]);
    await ends(0, 'late');
    await ended(tick, 'SUCCEEDED');
    expect(starts()).toBe(1);
    expect(await logOf(tick.serviceId)).toEqual(['late']);
  });

  test('is disarmed by a stop, which ends what runs, and armed again by a deployment', async () => {
    const tick = await armed();
    await due(tick, 0);
    await running();
    const { release: _release, ...bare } = tick;
    await fixture.deploy([bare], { action: 'STOP' });
    await fixture.reaches(tick.serviceId, 'STOPPED');
    await ended(tick, 'CANCELED');
    expect(await next(tick)).toBeUndefined();
    expect(fixture.fake.instances).toEqual([]);
    await fixture.deploy([tick]);
    await fixture.reaches(tick.serviceId, 'DEPLOYED');
    expect(await next(tick)).toBeDefined();
  });

  test('runs once now when that is asked for; a stopped one stays disarmed', async () => {
    const tick = await armed();
    await fixture.deploy([{ ...tick, event: 'CRON' }]);
    await ends(0, 'now');
    await fixture.reaches(tick.serviceId, 'DEPLOYED');
    expect(await next(tick)).toBeDefined();
    const { release: _release, ...bare } = tick;
    await fixture.deploy([bare], { action: 'STOP' });
    await fixture.reaches(tick.serviceId, 'STOPPED');
    await fixture.deploy([{ ...tick, event: 'CRON' }]);
    await ends(0);
    await fixture.reaches(tick.serviceId, 'DEPLOYED');
    expect(await next(tick)).toBeUndefined();
  });
});
