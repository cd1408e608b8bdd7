import { statement } from '@davit/db';
import { DriverError, type InstancePressure, type Probe } from '@davit/drivers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { MetricsTotal, RequestedService, ServiceView } from '../index.ts';
import { config } from '../testing/config.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';

/*
 * Tests that faults of instances after their deployment are reported on the service, in its log, on the stream and in
 * the metrics.
 */

let fixture: TestEngine;
beforeEach(async () => {
  fixture = await createTestEngine({ steadySeconds: 1 });
});
afterEach(() => fixture.close());

const events = statement<{ fact: Record<string, unknown> }>(
  'test_fault_events',
  `select fact from stream_event where kind = 'CONDITION' and service_id = $1 order by sequence`,
);
const ownLines = statement<{ message: string }>(
  'test_own_lines',
  `select message from service_log where service_id = $1 and instance_name = 'davit' order by id`,
);

async function deployed(overrides: Parameters<typeof config>[0] = {}): Promise<RequestedService> {
  const one = service({ config: config({ ports: [], ...overrides }) });
  expect(await fixture.ends(await fixture.deploy([one]))).toBe('SUCCEEDED');
  await reaches(one, ({ runningStatus }) => runningStatus === 'RUNNING');
  return one;
}

const of = ({ serviceId }: RequestedService) => fixture.fake.instances.filter((one) => one.service === serviceId);
const idOf = (one: RequestedService, index = 0): string => of(one)[index]?.id ?? '';

function reaches(one: RequestedService, is: (view: ServiceView) => boolean): Promise<ServiceView> {
  return eventually(async () => {
    const view = await fixture.view(one.serviceId);
    return is(view) ? view : undefined;
  }, 'a view of the service');
}

const totals = async (one: RequestedService): Promise<MetricsTotal | undefined> =>
  (await fixture.engine.port.metricTotals(fixture.database.database)).find(({ serviceId }) => serviceId === one.serviceId);
const ends = async (one: RequestedService): Promise<object> => (await totals(one))?.ends ?? {};

async function ended(one: RequestedService, times: number): Promise<ServiceView> {
  return reaches(one, ({ conditions }) =>
    conditions.some(({ kind, occurrences }) => kind === 'INSTANCE_END' && occurrences === times),
  );
}

describe('an instance that ends', () => {
  test('is a fact with cause, evidence and remedy, everywhere, until it has run for a while', async () => {
    const one = await deployed();
    fixture.fake.print(idOf(one), 'cannot open the database');
    // The restart waits until the status has been read.
    const read = Promise.withResolvers<void>();
    fixture.fake.script = { before: ({ method }) => (method === 'revive' ? read.promise : undefined) };
    fixture.fake.kill(idOf(one), 3);
    const { conditions, runningStatus } = await ended(one, 1);
    read.resolve();
    expect(runningStatus).not.toBe('RUNNING');
    expect(conditions).toMatchObject([
      {
        severity: 'WARNING',
        failure: {
          code: 'PROCESS_EXITED',
          message: 'The process exited with code 3. It is restarted immediately.',
          hint: expect.stringContaining('deploy again'),
          evidence: { exit: { code: 3, outOfMemory: false }, lines: ['cannot open the database'] },
        },
      },
    ]);
    expect((await fixture.database.database.many(ownLines, [one.serviceId]))[0]?.message).toMatch(
      /^Davit: WARNING PROCESS_EXITED: \S+: The process exited with code 3\. It is restarted immediately\./,
    );
    expect(await ends(one)).toEqual({ PROCESS_EXITED: 1 });
    await reaches(one, ({ conditions: left, runningStatus: word }) => left.length === 0 && word === 'RUNNING');
    const reported = await fixture.database.database.many(events, [one.serviceId]);
    expect(reported.map(({ fact }) => [fact['code'], fact['severity']])).toEqual([
      ['PROCESS_EXITED', 'WARNING'],
      ['PROCESS_EXITED', null],
    ]);
  });

  test('for its memory says so, with the limit', async () => {
    const one = await deployed();
    fixture.fake.kill(idOf(one), 137, true);
    const { conditions } = await ended(one, 1);
    expect(conditions[0]?.failure).toMatchObject({
      code: 'OUT_OF_MEMORY',
      message: expect.stringContaining('more than its 128 MiB of memory'),
      hint: expect.stringContaining('Raise memory'),
    });
    expect(await ends(one)).toEqual({ OUT_OF_MEMORY: 1 });
  });

  test('again and again is a crash loop: ERROR, with the number of ends and the next pause', async () => {
    const one = await deployed();
    for (let times = 1; times <= 3; times += 1) {
      await eventually(async () => (of(one)[0]?.state === 'RUNNING' ? true : undefined), 'the instance to run');
      fixture.fake.kill(idOf(one), 1);
      await ended(one, times);
    }
    const { conditions, runningStatus } = await reaches(one, ({ runningStatus: word }) => word === 'ERROR');
    expect(runningStatus).toBe('ERROR');
    expect(conditions).toMatchObject([
      {
        severity: 'ERROR',
        failure: { message: expect.stringMatching(/It ended 3 times within 10 minutes\. It is restarted after \d s\./) },
      },
    ]);
    // The instance runs, and may exit again at any time.
    await eventually(async () => (of(one)[0]?.state === 'RUNNING' ? true : undefined), 'the instance to run');
    expect((await fixture.view(one.serviceId)).runningStatus).toBe('ERROR');
  });

  test('again and again beside one that serves is a WARNING', async () => {
    const one = await deployed({ instances: 2 });
    for (let times = 1; times <= 3; times += 1) {
      await eventually(async () => (of(one)[0]?.state === 'RUNNING' ? true : undefined), 'the instance to run');
      fixture.fake.kill(idOf(one), 1);
      await ended(one, times);
    }
    const view = await fixture.view(one.serviceId);
    expect(view.conditions).toMatchObject([{ severity: 'WARNING' }]);
    expect(view.runningStatus).toBe('WARNING');
  });

  test('while Davit is down is noted once, by whoever sees it', async () => {
    const one = await deployed();
    await fixture.engine.stop();
    fixture.fake.kill(idOf(one), 7);
    await fixture.restart();
    await ended(one, 1);
    await fixture.restart();
    await reaches(one, ({ conditions }) => conditions.length === 0);
    expect(await ends(one)).toEqual({ PROCESS_EXITED: 1 });
  });

  test('because a deployment replaces or stops it is no fact', async () => {
    const one = await deployed();
    expect(await fixture.ends(await fixture.deploy([one], { action: 'RESTART' }))).toBe('SUCCEEDED');
    expect(await fixture.ends(await fixture.deploy([one], { action: 'STOP' }))).toBe('SUCCEEDED');
    expect(await ends(one)).toEqual({});
    expect((await fixture.view(one.serviceId)).conditions).toEqual([]);
  });
});

const probe: Probe = {
  check: { type: 'http', port: 3000, path: '/health', scheme: 'HTTP' },
  initialDelaySeconds: 0,
  periodSeconds: 0.02,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
};

describe('a probe that fails', () => {
  const fails = (which: string): void => {
    fixture.fake.probeAnswer = (one) => (one === which ? 'status 503 instead of 200 to 399' : null);
  };

  test('readiness: the transcript, until it succeeds', async () => {
    const one = await deployed({ readiness: probe });
    fails('readiness');
    const view = await reaches(one, ({ conditions }) => conditions.length > 0);
    expect(view.conditions).toMatchObject([
      {
        kind: 'READINESS',
        severity: 'WARNING',
        failure: {
          code: 'PROBE_FAILED',
          message: expect.stringContaining('status 503 instead of 200 to 399'),
          evidence: { probe: expect.arrayContaining([expect.stringContaining('status 503')]) },
        },
      },
    ]);
    await reaches(one, ({ runningStatus }) => runningStatus === 'ERROR');
    fixture.fake.probeAnswer = () => null;
    await reaches(one, ({ conditions, runningStatus }) => conditions.length === 0 && runningStatus === 'RUNNING');
  });

  test('liveness: the transcript, and the restart is counted as its end', async () => {
    const one = await deployed({ liveness: probe });
    fails('liveness');
    const view = await reaches(one, ({ conditions }) => conditions.some(({ kind }) => kind === 'LIVENESS'));
    expect(view.conditions[0]?.failure).toMatchObject({
      code: 'PROBE_FAILED',
      message: expect.stringContaining('The liveness probe failed, and the instance is restarted.'),
      evidence: { probe: expect.arrayContaining([expect.stringContaining('status 503')]) },
    });
    fixture.fake.probeAnswer = () => null;
    await eventually(async () => Object.keys(await ends(one)).length > 0 || undefined, 'the end to be counted');
    expect(await ends(one)).toEqual({ PROBE_FAILED: 1 });
    await reaches(one, ({ conditions, runningStatus }) => conditions.length === 0 && runningStatus === 'RUNNING');
  });

  test('liveness: a restart that did not work is tried again, and is one failure all the same', async () => {
    const one = await deployed({ liveness: probe });
    let tries = 0;
    fixture.fake.script = {
      before: ({ method }) => {
        if (method !== 'revive') return;
        tries += 1;
        if (tries === 1) throw new DriverError({ cause: 'ENGINE_FAILED', message: 'The instance could not be started again.' });
        fixture.fake.probeAnswer = () => null;
      },
    };
    fails('liveness');
    await eventually(async () => Object.keys(await ends(one)).length > 0 || undefined, 'the end to be counted');
    expect(await ends(one)).toEqual({ PROBE_FAILED: 1 });
    expect(tries).toBe(2);
    const reported = await fixture.database.database.many(events, [one.serviceId]);
    expect(reported.filter(({ fact }) => fact['severity'] !== null)).toHaveLength(1);
    await reaches(one, ({ conditions, runningStatus }) => conditions.length === 0 && runningStatus === 'RUNNING');
  });

  test('liveness: one that was started again a moment ago is restarted after a pause', async () => {
    const one = await deployed({ liveness: probe });
    fixture.fake.kill(idOf(one), 3);
    await ended(one, 1);
    await eventually(async () => (of(one)[0]?.state === 'RUNNING' ? true : undefined), 'the instance to run');
    fails('liveness');
    const revived = fixture.fake.calls.filter(({ method }) => method === 'revive').length;
    await reaches(one, ({ conditions }) => conditions.some(({ kind }) => kind === 'LIVENESS'));
    await eventually(
      async () => (fixture.fake.calls.filter(({ method }) => method === 'revive').length > revived ? true : undefined),
      'the restart',
    );
    fixture.fake.probeAnswer = () => null;
    await reaches(one, ({ conditions, runningStatus }) => conditions.length === 0 && runningStatus === 'RUNNING');
    // The restart counts when it has been done, which may be after the probe has succeeded.
    await expect
      .poll(() => ends(one), { timeout: 10_000 })
      .toMatchObject({ PROCESS_EXITED: 1, PROBE_FAILED: expect.any(Number) });
  });
});

describe('an instance that reaches a limit', () => {
  const passes = (): number => fixture.fake.calls.filter(({ method }) => method === 'pressure').length;
  const press = (one: RequestedService, changes: Partial<InstancePressure>): void => {
    fixture.fake.pressure = of(one).map(({ id, service: serviceId, rollout, index, startedAt }) => ({
      id,
      service: serviceId,
      rollout,
      index,
      startedAt: startedAt ?? '',
      processes: { current: 10, limit: 4096, refused: 0, programs: [] },
      memoryKills: 0,
      disks: [],
      ...changes,
    }));
  };

  test('of processes, of memory, of its disks', async () => {
    const one = await deployed();
    press(one, {});
    const before = passes();
    await eventually(async () => (passes() > before + 1 ? true : undefined), 'two passes');
    const disk = { path: '/data', bytes: 1e9, freeBytes: 0, files: 0, freeFiles: 0 };
    press(one, {
      processes: { current: 4096, limit: 4096, refused: 12, programs: ['about 4090 × sleep', '6 × sh'] },
      memoryKills: 2,
      disks: [disk],
    });
    // When no further processes are refused, the message only reports the number of processes. The first message is
    // therefore awaited here.
    const refusing = await reaches(one, ({ conditions }) => conditions.some(({ kind }) => kind === 'PROCESSES'));
    expect(refusing.conditions.find(({ kind }) => kind === 'PROCESSES')?.failure.message).toContain('new ones are refused');
    const view = await reaches(one, ({ conditions }) => conditions.length === 3);
    expect(view.conditions.find(({ kind }) => kind === 'PROCESSES')?.failure.evidence.lines).toEqual([
      'about 4090 × sleep',
      '6 × sh',
    ]);
    expect((await totals(one))?.conditions).toEqual([
      { kind: 'DISK', code: 'DISK_FULL', severity: 'WARNING' },
      { kind: 'MEMORY', code: 'OUT_OF_MEMORY', severity: 'WARNING' },
      { kind: 'PROCESSES', code: 'PROCESS_LIMIT', severity: 'WARNING' },
    ]);
    const found = view.conditions.map(({ kind, failure }) => [kind, failure.code, failure.message]);
    expect(found.toSorted(([a = ''], [b = '']) => a.localeCompare(b))).toEqual([
      ['DISK', 'DISK_FULL', expect.stringContaining('the file system of /data has 0 of 953 MiB left')],
      ['MEMORY', 'OUT_OF_MEMORY', expect.stringContaining('2 processes of the instance were killed')],
      ['PROCESSES', 'PROCESS_LIMIT', expect.stringContaining('its limit is 4096')],
    ]);
    expect(view.conditions.every(({ severity }) => severity === 'WARNING')).toBe(true);
    await reaches(one, ({ runningStatus }) => runningStatus === 'WARNING');
    press(one, { memoryKills: 2 });
    await reaches(one, ({ conditions, runningStatus }) => conditions.length === 0 && runningStatus === 'RUNNING');
  });
});
