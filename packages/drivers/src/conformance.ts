import { randomUUID } from 'node:crypto';
import type { describe, expect, it } from 'vitest';
import type { CallContext, ClusterDriver, InstanceEvent } from './driver.ts';
import { DriverError, type Cause } from './errors.ts';
import type { LogLine, Probe, Selector, Workload } from './workload.ts';

/**
 * What a program of the suite does. Each prints `hello` on stdout and `careful` on stderr first, and ends on SIGTERM.
 *
 * - SERVES: answers HTTP on port 8080: 200 for `/`, 404 for `/missing`.
 * - SERVES_ELSEWHERE: the same on port 9090.
 * - EXITS: ends at once with code 3.
 */
export type Behaviour = 'SERVES' | 'SERVES_ELSEWHERE' | 'EXITS';

export interface ConformanceSubject {
  /** Makes a driver for an installation; called several times for the same cluster. */
  driver(installation: string): Promise<ClusterDriver>;
  /** How this cluster is made to run such a program. */
  program(behaviour: Behaviour): Pick<Workload, 'image' | 'entrypoint' | 'arguments'>;
}

/** Vitest, handed in so that this file can be part of the package and not of a test. */
export interface Suite {
  readonly describe: typeof describe;
  readonly it: typeof it;
  readonly expect: typeof expect;
}

/** An installation of its own on the cluster, with what the tests of it need. */
class Stage {
  readonly installation: string;
  readonly environment: string = randomUUID();
  readonly logged: string[] = [];
  readonly driver: ClusterDriver;
  readonly #subject: ConformanceSubject;
  readonly #environments: Set<string>;

  private constructor(subject: ConformanceSubject, driver: ClusterDriver, installation: string) {
    this.#subject = subject;
    this.driver = driver;
    this.installation = installation;
    this.#environments = new Set([this.environment]);
  }

  static async open(subject: ConformanceSubject): Promise<Stage> {
    const installation = `conformance-${randomUUID()}`;
    return new Stage(subject, await subject.driver(installation), installation);
  }

  context(signal: AbortSignal = never()): CallContext {
    return { signal, log: (line) => this.logged.push(line) };
  }

  workload(behaviour: Behaviour, changes: Partial<Workload> & { environmentId?: string } = {}): Workload {
    const { environmentId = this.environment, ...rest } = changes;
    this.#environments.add(environmentId);
    return {
      owner: {
        installation: this.installation,
        organization: 'organization',
        project: 'project',
        environment: environmentId,
        service: randomUUID(),
      },
      name: 'Conformance',
      release: randomUUID(),
      rollout: randomUUID(),
      ...this.#subject.program(behaviour),
      environment: [],
      files: [],
      ports: [{ id: 'port', internalPort: 8080, protocol: 'HTTP' }],
      volumes: [],
      cpuMillicores: 500,
      memoryMiB: 64,
      instances: 1,
      hostnames: [],
      readiness: null,
      liveness: null,
      readyTimeoutSeconds: 20,
      terminationGraceSeconds: 2,
      ...rest,
    };
  }

  async run(workload: Workload): Promise<readonly string[]> {
    await this.driver.start(workload, this.context());
    return (await this.driver.awaitReady(workload, this.context())).map(({ id }) => id);
  }

  async ids(selector: Selector): Promise<string[]> {
    return (await this.driver.observe(selector, never())).map(({ id }) => id);
  }

  async close(): Promise<void> {
    for (const environment of this.#environments) await this.driver.removeEnvironment(environment, this.context());
  }
}

function never(): AbortSignal {
  return new AbortController().signal;
}

const httpProbe = (path: string): Probe => ({
  check: { type: 'http', port: 8080, path, scheme: 'HTTP' },
  initialDelaySeconds: 0,
  periodSeconds: 1,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
});

type Test = (name: string, body: (stage: Stage) => Promise<void>) => void;

/** What every `ClusterDriver` does, as tests: call it inside a test file. Each test has an installation of its own and removes it. */
export function conformsToClusterDriver(name: string, suite: Suite, subject: () => ConformanceSubject): void {
  const test: Test = (sentence, body) => {
    suite.it(sentence, async () => {
      const stage = await Stage.open(subject());
      try {
        await body(stage);
      } finally {
        await stage.close();
      }
    });
  };
  suite.describe(`${name} as a cluster driver`, () => {
    startTests(test, suite.expect, subject);
    scaleTests(test, suite.expect);
    failureTests(test, suite.expect);
    lifeTests(test, suite.expect);
    removalTests(test, suite.expect, subject);
    logTests(test, suite.expect);
    metricTests(test, suite.expect, subject);
  });
}

/** Of the optional power; a cluster without it passes. */
function metricTests(test: Test, expect: Suite['expect'], subject: () => ConformanceSubject): void {
  test('tells what each instance uses, and of those of other installations nothing', async (stage) => {
    if (stage.driver.metrics === undefined) return;
    const workload = stage.workload('SERVES', { instances: 2 });
    const ids = await stage.run(workload);
    const first = await stage.driver.metrics.usage(never());
    expect(new Set(first.map(({ id }) => id))).toEqual(new Set(ids));
    const { environment, service } = workload.owner;
    for (const usage of first) expect(usage).toMatchObject({ environment, service, rollout: workload.rollout });
    expect(new Set(first.map(({ index }) => index))).toEqual(new Set([0, 1]));
    for (const { memoryBytes } of first) expect(memoryBytes).toBeGreaterThan(0);
    const again = await stage.driver.metrics.usage(never());
    for (const { id, cpuMilliseconds, at } of again) {
      const before = first.find((usage) => usage.id === id);
      expect(cpuMilliseconds).toBeGreaterThanOrEqual(before?.cpuMilliseconds ?? Infinity);
      expect(at).toBeGreaterThanOrEqual(before?.at ?? Infinity);
    }
    const stranger = await subject().driver(`conformance-${randomUUID()}`);
    expect(await stranger.metrics?.usage(never())).toEqual([]);
  });
}

function startTests(test: Test, expect: Suite['expect'], subject: () => ConformanceSubject): void {
  test('describes the engine and how large it is', async ({ driver }) => {
    const description = await driver.describe(never());
    expect(description.engine).not.toBe('');
    expect(description.cpuMillicores).toBeGreaterThan(0);
    expect(description.memoryMiB).toBeGreaterThan(0);
  });

  test('starts as many instances as asked, and tells where their ports are reached', async (stage) => {
    const workload = stage.workload('SERVES', { instances: 2 });
    await stage.driver.start(workload, stage.context());
    const ready = await stage.driver.awaitReady(workload, stage.context());
    expect(ready.map(({ index, state, rollout }) => ({ index, state, rollout }))).toEqual([
      { index: 0, state: 'RUNNING', rollout: workload.rollout },
      { index: 1, state: 'RUNNING', rollout: workload.rollout },
    ]);
    for (const instance of ready) {
      expect(instance).toMatchObject({ release: workload.release, service: workload.owner.service, exit: null });
      expect(instance.endpoints.map(({ internalPort }) => internalPort)).toEqual([8080]);
    }
    expect(await stage.driver.observe({ rollout: workload.rollout }, never())).toEqual(ready);
  });

  test('adopts on a second start what the first one made', async (stage) => {
    const workload = stage.workload('SERVES', { instances: 2 });
    const first = await stage.run(workload);
    const second = await stage.run(workload);
    expect(second).toEqual(first);
    expect(await stage.ids({ service: workload.owner.service })).toEqual(first);
  });

  test('makes nothing twice when two start the same rollout at once', async (stage) => {
    const workload = stage.workload('SERVES', { instances: 2 });
    await Promise.all([stage.driver.start(workload, stage.context()), stage.driver.start(workload, stage.context())]);
    expect(await stage.run(workload)).toHaveLength(2);
    expect(await stage.ids({ service: workload.owner.service })).toHaveLength(2);
  });

  test('leaves instances of other rollouts alone', async (stage) => {
    const old = stage.workload('SERVES');
    const [kept] = await stage.run(old);
    const next = { ...old, rollout: randomUUID(), release: randomUUID() };
    const [made] = await stage.run(next);
    expect(new Set(await stage.ids({ service: old.owner.service }))).toEqual(new Set([kept, made]));
  });

  test('does not show one installation what another one made', async (stage) => {
    const workload = stage.workload('SERVES');
    const made = await stage.run(workload);
    const stranger = await subject().driver(`conformance-${randomUUID()}`);
    expect(await stranger.observe({ environment: stage.environment }, never())).toEqual([]);
    expect(await stage.ids({ environment: stage.environment })).toEqual(made);
  });
}

/** More instances of a rollout, and fewer again. */
function scaleTests(test: Test, expect: Suite['expect']): void {
  test('adds instances to a rollout, waits for these, and takes the last ones away again', async (stage) => {
    const workload = stage.workload('SERVES');
    const [kept = ''] = await stage.run(workload);
    const more = { ...workload, instances: 3, firstInstance: 1 };
    await stage.driver.start(more, stage.context());
    const added = await stage.driver.awaitReady(more, stage.context());
    expect(added.map(({ index }) => index)).toEqual([1, 2]);
    const { service, rollout } = { ...workload.owner, ...workload };
    expect(await stage.ids({ service })).toHaveLength(3);
    await stage.driver.retire({ service, rollout, fromIndex: 1 }, 1, stage.context());
    expect(await stage.ids({ service })).toEqual([kept]);
  });
}

function failureTests(test: Test, expect: Suite['expect']): void {
  const failure = async (stage: Stage, workload: Workload): Promise<DriverError> => {
    try {
      await stage.run(workload);
    } catch (error) {
      if (error instanceof DriverError) return error;
      throw error;
    }
    throw new Error('the workload became ready');
  };
  const expectCause = (error: DriverError, cause: Cause): void => {
    expect({ code: error.code, retryable: error.retryable }).toEqual({ code: cause, retryable: false });
    expect(error.hint).not.toBe('');
  };

  test('fails with PROCESS_EXITED, code and last lines for a process that ends', async (stage) => {
    const error = await failure(stage, stage.workload('EXITS'));
    expectCause(error, 'PROCESS_EXITED');
    expect(error.evidence.exit).toEqual({ code: 3, outOfMemory: false });
    expect(error.evidence.lines).toContain('hello');
  });

  test('fails with PORT_NOT_LISTENING, and names the port that is open', async (stage) => {
    const error = await failure(stage, stage.workload('SERVES_ELSEWHERE', { readyTimeoutSeconds: 2 }));
    expectCause(error, 'PORT_NOT_LISTENING');
    expect(error.message).toMatch(/8080.*9090/);
    expect(error.evidence.listening?.some((address) => address.endsWith(':9090'))).toBe(true);
  });

  test('fails with PROBE_FAILED, and says what the probe was answered', async (stage) => {
    const error = await failure(stage, stage.workload('SERVES', { readiness: httpProbe('/missing'), readyTimeoutSeconds: 2 }));
    expectCause(error, 'PROBE_FAILED');
    expect(error.message).toContain('404');
    expect(error.evidence.probe?.join()).toContain('404');
  });

  test('fails with IMAGE_MISSING for an image that the cluster does not have', async (stage) => {
    const image = `davit-conformance/${randomUUID()}:missing`;
    expectCause(await failure(stage, stage.workload('SERVES', { image })), 'IMAGE_MISSING');
  });

  test('stops waiting soon after an abort, with the reason of the signal', async (stage) => {
    const workload = stage.workload('SERVES_ELSEWHERE', { readyTimeoutSeconds: 60 });
    await stage.driver.start(workload, stage.context());
    const abort = new AbortController();
    const waiting = stage.driver.awaitReady(workload, stage.context(abort.signal));
    const began = Date.now();
    abort.abort(new Error('cancelled by the user'));
    await expect(waiting).rejects.toThrow('cancelled by the user');
    expect(Date.now() - began).toBeLessThan(2000);
  });
}

function lifeTests(test: Test, expect: Suite['expect']): void {
  test('shows an instance that ended with its exit code, and revives it', async (stage) => {
    const workload = stage.workload('EXITS', { readyTimeoutSeconds: 3 });
    await stage.driver.start(workload, stage.context());
    await expect(stage.driver.awaitReady(workload, stage.context())).rejects.toThrow();
    const [ended] = await stage.driver.observe({ rollout: workload.rollout }, never());
    expect(ended).toMatchObject({ state: 'EXITED', endpoints: [], exit: { code: 3, outOfMemory: false } });
    const before = ended?.startedAt ?? '';
    await stage.driver.revive(ended?.id ?? '', stage.context());
    const [revived] = await stage.driver.observe({ rollout: workload.rollout }, never());
    expect(revived?.id).toBe(ended?.id);
    expect(Date.parse(revived?.startedAt ?? '')).toBeGreaterThan(Date.parse(before));
  });

  test('restarts an instance that runs when it is revived', async (stage) => {
    const workload = stage.workload('SERVES');
    const [id = ''] = await stage.run(workload);
    const [before] = await stage.driver.observe({ rollout: workload.rollout }, never());
    await stage.driver.revive(id, stage.context());
    const [after] = await stage.driver.awaitReady(workload, stage.context());
    expect(after?.id).toBe(id);
    expect(Date.parse(after?.startedAt ?? '')).toBeGreaterThan(Date.parse(before?.startedAt ?? ''));
  });

  test('answers a probe with null, or with what was seen', async (stage) => {
    const workload = stage.workload('SERVES', { readiness: httpProbe('/'), liveness: httpProbe('/missing') });
    await stage.driver.start(workload, stage.context());
    const [instance] = await stage.driver.awaitReady(workload, stage.context());
    if (!instance) throw new Error('no instance');
    expect(await stage.driver.probe(workload, instance, 'readiness', never())).toBeNull();
    expect(await stage.driver.probe(workload, instance, 'liveness', never())).toContain('404');
  });

  test('tells of starts, ends and removals while it is watched', async (stage) => {
    const events: InstanceEvent[] = [];
    const stop = new AbortController();
    const watching = stage.driver.watch((event) => events.push(event), stop.signal);
    try {
      const workload = stage.workload('SERVES');
      const [id] = await stage.run(workload);
      await stage.driver.retire({ rollout: workload.rollout }, 1, stage.context());
      const service = workload.owner.service;
      await until(() => events.some(({ type, instance }) => type === 'REMOVED' && instance === id));
      for (const type of ['STARTED', 'DIED', 'REMOVED'] as const) expect(events).toContainEqual({ type, service, instance: id });
    } finally {
      stop.abort();
      await watching;
    }
  });
}

function removalTests(test: Test, expect: Suite['expect'], subject: () => ConformanceSubject): void {
  test('retires what is selected and nothing else, and does not mind when it is gone', async (stage) => {
    const old = stage.workload('SERVES', { instances: 2 });
    await stage.run(old);
    const next = { ...old, rollout: randomUUID() };
    const kept = await stage.run(next);
    const selector = { service: old.owner.service, exceptRollout: next.rollout };
    await stage.driver.retire(selector, 1, stage.context());
    expect(await stage.ids({ service: old.owner.service })).toEqual(kept);
    await stage.driver.retire(selector, 1, stage.context());
    expect(await stage.ids({ service: old.owner.service })).toEqual(kept);
  });

  test('removes a service, and leaves its neighbours', async (stage) => {
    const [gone, neighbour] = [stage.workload('SERVES'), stage.workload('SERVES')];
    await stage.run(gone);
    const kept = await stage.run(neighbour);
    await stage.driver.removeService(stage.environment, gone.owner.service, stage.context());
    await stage.driver.removeService(stage.environment, gone.owner.service, stage.context());
    expect(await stage.ids({ environment: stage.environment })).toEqual(kept);
  });

  test('removes an environment, twice without a fault, and leaves other environments and installations', async (stage) => {
    const elsewhere = randomUUID();
    await stage.run(stage.workload('SERVES'));
    const kept = await stage.run(stage.workload('SERVES', { environmentId: elsewhere }));
    const stranger = await subject().driver(`conformance-${randomUUID()}`);
    await stranger.removeEnvironment(elsewhere, stage.context());
    await stage.driver.removeEnvironment(stage.environment, stage.context());
    await stage.driver.removeEnvironment(stage.environment, stage.context());
    expect(await stage.ids({})).toEqual(kept);
  });
}

function logTests(test: Test, expect: Suite['expect']): void {
  const texts = (lines: readonly LogLine[], stream: LogLine['stream']): string[] =>
    lines.filter((line) => line.stream === stream).map(({ text }) => text);

  test('gives the lines of both streams, and ends when the instance ends', async (stage) => {
    const workload = stage.workload('SERVES');
    const [id = ''] = await stage.run(workload);
    const lines: LogLine[] = [];
    const following = stage.driver.followLogs(id, null, (line) => lines.push(line), never());
    await until(() => lines.length >= 2);
    await stage.driver.retire({ rollout: workload.rollout }, 1, stage.context());
    await following;
    expect(texts(lines, 'stdout')[0]).toBe('hello');
    expect(texts(lines, 'stderr')[0]).toBe('careful');
    for (const { timestamp } of lines) expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  });

  test('resumes after a line without repeating or losing one', async (stage) => {
    const workload = stage.workload('SERVES');
    const [id = ''] = await stage.run(workload);
    const all = await linesOf(stage.driver, { id, since: null, count: 2 });
    const rest = await linesOf(stage.driver, { id, since: all[0]?.timestamp ?? '', count: 1 });
    expect(rest).toEqual(all.slice(1));
  });

  test('keeps an instance reachable while its neighbours come and go', async (stage) => {
    const serving = stage.workload('SERVES');
    await stage.run(serving);
    const [instance] = await stage.driver.observe({ service: serving.owner.service }, never());
    const [endpoint] = instance?.endpoints ?? [];
    if (endpoint === undefined) throw new Error('the instance has no endpoint');
    const url = `http://${endpoint.host}:${endpoint.port}/`;
    await answers(url, 1_500);
    const neighbours = stage.workload('SERVES', { instances: 6 });
    await stage.run(neighbours);
    await answers(url, 1_500);
    await stage.driver.retire({ service: neighbours.owner.service }, 1, stage.context());
    await answers(url, 1_500);
  });

  test('follows nothing, without a fault, for an instance that is gone', async (stage) => {
    const workload = stage.workload('SERVES');
    const [id = ''] = await stage.run(workload);
    await stage.driver.retire({ rollout: workload.rollout }, 1, stage.context());
    await stage.driver.followLogs(id, null, () => undefined, never());
  });

  test('follows and watches nothing, without a fault, when that was ended before it began', async (stage) => {
    const [id = ''] = await stage.run(stage.workload('SERVES'));
    await stage.driver.followLogs(id, null, () => undefined, AbortSignal.abort());
    await stage.driver.watch(() => undefined, AbortSignal.abort());
  });
}

/**
 * Asks for so long, each time over a new connection. Throws when an answer does not come. Longer than the second in which a
 * kernel does not change again what it learnt of a neighbour.
 */
async function answers(url: string, milliseconds: number): Promise<void> {
  const until = Date.now() + milliseconds;
  while (Date.now() < until) {
    // A segment that is lost now and then is sent again within a second.
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000), headers: { connection: 'close' } });
    await response.text();
  }
}

async function linesOf(
  driver: ClusterDriver,
  { id, since, count }: { readonly id: string; readonly since: string | null; readonly count: number },
): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  const stop = new AbortController();
  const onLine = (line: LogLine): void => {
    lines.push(line);
    if (lines.length >= count) stop.abort();
  };
  await driver.followLogs(id, since, onLine, stop.signal);
  return lines;
}

/** Waits for a condition; the time-out of the test bounds it. */
async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('the condition did not come true within 20 s');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
