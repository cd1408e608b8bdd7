import { abortablePause, backoffMilliseconds } from '@davit/base';
import type { CallContext } from '../driver.ts';
import { DriverError } from '../errors.ts';
import type { Instance, Probe, Workload } from '../workload.ts';
import { call, EngineRefusal } from './engine-api.ts';
import { sayEarly } from './early-words.ts';
import { exitFailure, unreadyFailure } from './failures.ts';
import { inspect, toInstance, type Inspection, type ReadyScope, type Scope } from './instances.ts';
import { isReachable } from '../shared/listening.ts';
import { listenersHere, listenersOf } from './listeners-of.ts';
import { instanceName } from './names.ts';
import { probeOnce } from './probes/probe.ts';
import { probeTcp } from './probes/tcp.ts';
import { translated } from './refusals.ts';

/** Times that an instance is restarted if it exits before it is ready. A pause precedes each restart. */
const revivals = 2;
const firstRevivalPauseMilliseconds = 500;
/** Milliseconds that an instance without ports and without a readiness probe must run to count as ready. */
const steadyMilliseconds = 1000;
/** A run that is shorter than this has hardly begun. */
const shortRunMilliseconds = 2000;
/** Number of probe attempts that are kept as evidence. */
const keptAttempts = 10;

/** Result of waiting for one run of an instance. */
type Outcome =
  | { readonly type: 'READY' }
  | { readonly type: 'EXITED' }
  | { readonly type: 'LATE'; readonly attempts: readonly string[]; readonly closedPorts: readonly number[] };

/** Waits until all instances of a rollout are ready. See `ClusterDriver.awaitReady`. */
export async function awaitReady(scope: ReadyScope, workload: Workload, context: CallContext): Promise<readonly Instance[]> {
  const first = workload.firstInstance ?? 0;
  const indices = Array.from({ length: workload.instances - first }, (_, index) => first + index);
  const found = await Promise.all(indices.map((index) => inspectOwn(scope, workload, index, context.signal)));
  const deadline = Date.now() + workload.readyTimeoutSeconds * 1000;
  // The first instance that fails ends the wait for the others: the rollout has failed as a whole.
  const giveUp = new AbortController();
  const signal = AbortSignal.any([context.signal, giveUp.signal]);
  const waits = found.map((inspection) => awaitInstance({ scope, workload, context, deadline, signal }, inspection));
  try {
    return await Promise.all(waits);
  } catch (error) {
    giveUp.abort(error);
    await Promise.allSettled(waits);
    context.signal.throwIfAborted();
    throw error;
  }
}

// Inspects the container by name instead of listing containers. A missing instance must not count as ready, and listing
// is slow on Podman.
async function inspectOwn(scope: Scope, workload: Workload, index: number, signal: AbortSignal): Promise<Inspection> {
  const found = await inspect(scope.docker, instanceName(workload, index), signal);
  if (found) return found;
  throw new DriverError({
    cause: 'ENGINE_FAILED',
    message: `Instance ${index} no longer exists on the engine: something other than Davit removed it.`,
  });
}

interface Wait {
  readonly scope: ReadyScope;
  readonly workload: Workload;
  readonly context: CallContext;
  readonly deadline: number;
  readonly signal: AbortSignal;
}

async function awaitInstance(wait: Wait, first: Inspection): Promise<Instance> {
  const { scope, signal, context } = wait;
  let inspection = first;
  let exited: Exited | null = null;
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await awaitRun(wait, inspection, exited);
    // The instance has just passed its check, so it is not inspected again.
    if (outcome.type === 'READY') return toInstance(inspection, scope);
    const now = await inspectAgain(wait, inspection);
    if (outcome.type === 'LATE' && now.State.Running) {
      if (exited !== null && isLikelyToExit(now, exited)) throw counted(exited.failure, attempt);
      throw await unreadyFailure(scope, wait.workload, { inspection: now, ...outcome }, signal);
    }
    const failure = await exitFailure(scope, now, signal);
    if (attempt > revivals || failure.code !== 'PROCESS_EXITED' || Date.now() >= wait.deadline) throw counted(failure, attempt);
    context.log(`Instance ${toInstance(now, scope).index}: ${failure.message} Starting it again (${attempt} of ${revivals}).`);
    exited = { failure, ranMilliseconds: Date.parse(now.State.FinishedAt) - Date.parse(now.State.StartedAt) };
    await abortablePause(backoffMilliseconds(attempt, firstRevivalPauseMilliseconds, 1000), signal);
    await startAgain(wait, now);
    inspection = await inspectAgain(wait, now);
  }
}

/** The last exit of an instance that is not ready yet. */
interface Exited {
  readonly failure: DriverError;
  /** How long that run lasted. */
  readonly ranMilliseconds: number;
}

/**
 * Returns whether the present run of an instance has lasted so short that the exit of the former run explains best why
 * the instance is not ready. If the deadline passes just after a restart, no port is open, and that says nothing.
 */
function isLikelyToExit({ State }: Inspection, { ranMilliseconds }: Exited): boolean {
  return Date.now() - Date.parse(State.StartedAt) < Math.max(2 * ranMilliseconds, shortRunMilliseconds);
}

/**
 * Waits until a run has outlasted the former one. Many processes open their port before they fail, for example because
 * a database is missing. Without this wait, an instance that exits again and again would be ready whenever its port is
 * observed open.
 */
async function untilOutlasted({ State }: Inspection, { ranMilliseconds }: Exited, signal: AbortSignal): Promise<void> {
  const until = Date.parse(State.StartedAt) + ranMilliseconds + shortRunMilliseconds;
  await abortablePause(Math.max(until - Date.now(), 0), signal);
}

function counted(failure: DriverError, attempts: number): DriverError {
  if (attempts > 1 && failure.code === 'PROCESS_EXITED') failure.message += ` It was started ${attempts} times.`;
  return failure;
}

async function inspectAgain(wait: Wait, before: Inspection): Promise<Inspection> {
  const now = await inspect(wait.scope.docker, before.Id, wait.signal);
  // The container was removed by somebody else. The last inspection is returned, marked as not running.
  return now ?? { ...before, State: { ...before.State, Running: false, Status: 'exited' } };
}

async function startAgain(wait: Wait, inspection: Inspection): Promise<void> {
  try {
    const path = `/containers/${inspection.Id}/start`;
    await call(wait.scope.docker, { method: 'POST', path, signal: wait.signal, accept: [304] });
  } catch (error) {
    throw translated(error, 'The instance could not be started again');
  }
}

/**
 * Waits for one run of an instance until it is ready, has exited, or the deadline has passed. `exited` is the exit of
 * the former run, if there was one.
 */
async function awaitRun(wait: Wait, inspection: Inspection, exited: Exited | null): Promise<Outcome> {
  if (!inspection.State.Running) return { type: 'EXITED' };
  const decided = new AbortController();
  const signal = AbortSignal.any([wait.signal, decided.signal]);
  const seen: Observed = { attempts: [], closedPorts: new Set() };
  const late = async (): Promise<Outcome> => {
    await abortablePause(Math.max(wait.deadline - Date.now(), 0), signal);
    return { type: 'LATE', attempts: seen.attempts, closedPorts: [...seen.closedPorts] };
  };
  const ready = async (): Promise<Outcome> => {
    const outcome = await untilReady(wait, inspection, { signal, seen });
    if (exited !== null) await untilOutlasted(inspection, exited, signal);
    return outcome;
  };
  const racers = [untilExit(wait.scope, inspection, signal), ready(), late()];
  const early = sayEarly(
    wait.scope,
    {
      inspection,
      missing: () => awaitedPorts(wait.workload, seen),
      say: (line) => wait.context.log(`Instance ${toInstance(inspection, wait.scope).index}: ${line}`),
    },
    signal,
  );
  try {
    return await Promise.race(racers);
  } finally {
    decided.abort(new Error('decided'));
    await Promise.allSettled([...racers, early]);
  }
}

/** Returns the ports that must still become reachable before the instance is ready. */
function awaitedPorts({ readiness }: Workload, { closedPorts }: Observed): readonly number[] {
  if (readiness === null) return [...closedPorts];
  return readiness.check.type === 'exec' ? [] : [readiness.check.port];
}

async function untilExit(scope: Scope, inspection: Inspection, signal: AbortSignal): Promise<Outcome> {
  const request = {
    method: 'POST',
    path: `/containers/${inspection.Id}/wait`,
    // Podman polls the container at this interval. Docker is notified by the kernel and ignores the parameter.
    query: { condition: 'not-running', interval: '100ms' },
    signal,
    timeoutMilliseconds: 0,
    accept: [404],
  } as const;
  try {
    await call(scope.docker, request);
  } catch (error) {
    if (!(error instanceof EngineRefusal)) throw error;
    throw translated(error, 'The engine would not wait for the instance');
  }
  return { type: 'EXITED' };
}

/** Observations so far. They become the evidence if the deadline passes. */
interface Observed {
  attempts: string[];
  closedPorts: Set<number>;
}

interface Watch {
  readonly signal: AbortSignal;
  readonly seen: Observed;
}

async function untilReady(wait: Wait, inspection: Inspection, watch: Watch): Promise<Outcome> {
  const { workload } = wait;
  const instance = toInstance(inspection, wait.scope);
  const ports = workload.ports.filter(({ protocol }) => protocol !== 'UDP').map(({ internalPort }) => internalPort);
  if (workload.readiness) await untilProbed(wait, workload.readiness, { ...watch, instance });
  else if (ports.length > 0) await untilListening(wait, inspection, { ...watch, instance, ports });
  else return untilSteady(wait, inspection, watch.signal);
  return { type: 'READY' };
}

// Inspects the container after the pause, because Podman reports an exit up to one polling interval late.
async function untilSteady(wait: Wait, inspection: Inspection, signal: AbortSignal): Promise<Outcome> {
  await abortablePause(Math.max(Date.parse(inspection.State.StartedAt) + steadyMilliseconds - Date.now(), 0), signal);
  const now = await inspect(wait.scope.docker, inspection.Id, signal);
  return { type: now?.State.Running ? 'READY' : 'EXITED' };
}

/**
 * Waits until the readiness probe succeeds `successThreshold` times in a row. Before the first success it probes far
 * more often than `periodSeconds`, because most instances are ready long before one period is over. A failed probe
 * never ends the wait; only the deadline does. A slow start is not a fault (Kubernetes handles it the same way).
 */
async function untilProbed(wait: Wait, probe: Probe, watch: Watch & { readonly instance: Instance }): Promise<void> {
  const { seen, signal } = watch;
  let successes = 0;
  const began = performance.now();
  for (let attempt = 1; ; attempt += 1) {
    const found = await probeOnce(wait.scope, probe, watch.instance, signal);
    signal.throwIfAborted();
    successes = found === null ? successes + 1 : 0;
    if (successes >= probe.successThreshold) return;
    if (found !== null) note(seen, found);
    const period = Math.max(probe.periodSeconds, 1) * 1000;
    const pause =
      found?.endsWith('connection refused') === true
        ? closedPauseMilliseconds(performance.now() - began)
        : pauseAfter(probe, attempt);
    await abortablePause(successes > 0 ? period : Math.min(period, pause), signal);
  }
}

// A probe that connects may add a line to the instance's log, and a command starts a process. Probing a closed port
// costs the instance nothing: see `closedPauseMilliseconds`.
function pauseAfter(probe: Probe, attempt: number): number {
  return backoffMilliseconds(attempt, probe.check.type === 'exec' ? 50 : 20, 1000);
}

/**
 * Returns the milliseconds to pause after an attempt that met a closed port: 5 in the first half second of attempts, 15
 * until two seconds, then 50. Attempts are not counted, because an attempt may run a command in the instance. Pure.
 */
export function closedPauseMilliseconds(elapsedMilliseconds: number): number {
  if (elapsedMilliseconds < 500) return 5;
  return elapsedMilliseconds < 2_000 ? 15 : 50;
}

function note(seen: Observed, found: string): void {
  const last = seen.attempts.at(-1);
  const repeated = /^(.*) \((\d+) times\)$/s.exec(last ?? '');
  if (last === found) seen.attempts.splice(-1, 1, `${found} (2 times)`);
  else if (repeated && repeated[1] === found) seen.attempts.splice(-1, 1, `${found} (${Number(repeated[2]) + 1} times)`);
  else seen.attempts.push(found);
  if (seen.attempts.length > keptAttempts) seen.attempts.shift();
}

/** Waits until every port accepts a connection. */
async function untilListening(
  wait: Wait,
  inspection: Inspection,
  watch: Watch & { readonly instance: Instance; readonly ports: readonly number[] },
): Promise<void> {
  const { seen, signal } = watch;
  seen.closedPorts = new Set(watch.ports);
  const began = performance.now();
  for (;;) {
    const open = await openPorts(wait.scope, inspection, watch.instance, { ports: [...seen.closedPorts], signal });
    for (const port of open) seen.closedPorts.delete(port);
    if (seen.closedPorts.size === 0) return;
    await abortablePause(closedPauseMilliseconds(performance.now() - began), signal);
  }
}

async function openPorts(
  scope: ReadyScope,
  inspection: Inspection,
  instance: Instance,
  { ports, signal }: { readonly ports: readonly number[]; readonly signal: AbortSignal },
): Promise<number[]> {
  // Behind a proxy of the engine, an accepted connection proves little. The listening sockets of the instance are read
  // instead where that is cheap.
  if (!scope.isDirect) {
    const listeners = await listenersOf(scope.docker, inspection, scope.isLocal, signal);
    signal.throwIfAborted();
    if (listeners) return ports.filter((port) => listeners.some((listener) => listener.port === port && isReachable(listener)));
  }
  const answers = await Promise.all(
    ports.map(async (port) => {
      const endpoint = instance.endpoints.find(({ internalPort }) => internalPort === port);
      if (!endpoint) return false;
      const target = { host: endpoint.host, port: endpoint.port, isProxied: !scope.isDirect };
      return (await probeTcp(target, 1000, signal)) === null;
    }),
  );
  signal.throwIfAborted();
  const answering = ports.filter((_, position) => answers[position]);
  return answering.length === 0 ? [] : ownPorts(scope, inspection, answering, signal);
}

/**
 * Returns those ports on which the instance itself responds. An engine assigns an address to the next instance as soon
 * as the previous one has exited, so a connection may have reached a different instance.
 */
async function ownPorts(
  scope: ReadyScope,
  inspection: Inspection,
  ports: readonly number[],
  signal: AbortSignal,
): Promise<number[]> {
  const listeners = await listenersHere(inspection, scope.isLocal);
  if (listeners) return ports.filter((port) => listeners.some((listener) => listener.port === port));
  const now = await inspect(scope.docker, inspection.Id, signal);
  return now?.State.Running === true && now.State.StartedAt === inspection.State.StartedAt ? [...ports] : [];
}
