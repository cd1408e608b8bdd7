import { backoffMilliseconds } from '@davit/base';
import type { CallContext } from '../driver.ts';
import { DriverError } from '../errors.ts';
import type { Instance, Probe, Workload } from '../workload.ts';
import { call, EngineRefusal } from './engine-api.ts';
import { sayEarly } from './early-words.ts';
import { exitFailure, unreadyFailure } from './failures.ts';
import { inspect, toInstance, type Inspection, type Scope } from './instances.ts';
import { isReachable } from '../shared/listening.ts';
import { listenersHere, listenersOf } from './listeners-of.ts';
import { instanceName } from './names.ts';
import { pause } from '../shared/pause.ts';
import { probeOnce } from './probes/probe.ts';
import { probeTcp } from './probes/tcp.ts';
import { translated } from './refusals.ts';

export interface ReadyScope extends Scope {
  readonly isLocal: boolean;
}

/** How often an instance that exits before it is ready is started again, and the pauses before. */
const revivals = 2;
const firstRevivalPauseMilliseconds = 500;
/** How long a workload without ports and probe must run. */
const steadyMilliseconds = 1000;
/** Attempts of a probe that are kept as evidence. */
const keptAttempts = 10;

/** What came of waiting for one run of an instance. */
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
  // One that fails ends the wait for the others: the rollout has failed as a whole.
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

// By its name, not from a list: an instance that is not there must not count as ready, and on Podman a list takes its time.
async function inspectOwn(scope: Scope, workload: Workload, index: number, signal: AbortSignal): Promise<Inspection> {
  const found = await inspect(scope.docker, instanceName(workload, index), signal);
  if (found) return found;
  throw new DriverError({ cause: 'ENGINE_FAILED', message: `Instance ${index} is not on the engine: somebody removed it.` });
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
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await awaitRun(wait, inspection);
    // It has just answered: it is not asked for once more.
    if (outcome.type === 'READY') return toInstance(inspection, scope.isDirect);
    const now = await inspectAgain(wait, inspection);
    if (outcome.type === 'LATE') throw await unreadyFailure(scope, wait.workload, { inspection: now, ...outcome }, signal);
    const failure = await exitFailure(scope, now, signal);
    if (attempt > revivals || failure.code !== 'PROCESS_EXITED' || Date.now() >= wait.deadline) throw counted(failure, attempt);
    context.log(`Instance ${toInstance(now, true).index}: ${failure.message} Starting it again (${attempt} of ${revivals}).`);
    await pause(backoffMilliseconds(attempt, firstRevivalPauseMilliseconds, 1000), signal);
    await startAgain(wait, now);
    inspection = await inspectAgain(wait, now);
  }
}

function counted(failure: DriverError, attempts: number): DriverError {
  if (attempts > 1 && failure.code === 'PROCESS_EXITED') failure.message += ` It was started ${attempts} times.`;
  return failure;
}

async function inspectAgain(wait: Wait, before: Inspection): Promise<Inspection> {
  const now = await inspect(wait.scope.docker, before.Id, wait.signal);
  // Removed behind our back: what was known last says that it does not run any more.
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

/** One run of an instance: until it is ready, has exited, or the time is up. */
async function awaitRun(wait: Wait, inspection: Inspection): Promise<Outcome> {
  if (!inspection.State.Running) return { type: 'EXITED' };
  const decided = new AbortController();
  const signal = AbortSignal.any([wait.signal, decided.signal]);
  const seen: Seen = { attempts: [], closedPorts: new Set() };
  const late = async (): Promise<Outcome> => {
    await pause(Math.max(wait.deadline - Date.now(), 0), signal);
    return { type: 'LATE', attempts: seen.attempts, closedPorts: [...seen.closedPorts] };
  };
  const racers = [untilExit(wait.scope, inspection, signal), untilReady(wait, inspection, { signal, seen }), late()];
  const early = sayEarly(
    wait.scope,
    {
      inspection,
      missing: () => awaitedPorts(wait.workload, seen),
      say: (line) => wait.context.log(`Instance ${toInstance(inspection, true).index}: ${line}`),
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

/** Ports that have to be reached before the instance is ready, as far as that is not done. */
function awaitedPorts({ readiness }: Workload, { closedPorts }: Seen): readonly number[] {
  if (readiness === null) return [...closedPorts];
  return readiness.check.type === 'exec' ? [] : [readiness.check.port];
}

async function untilExit(scope: Scope, inspection: Inspection, signal: AbortSignal): Promise<Outcome> {
  const request = {
    method: 'POST',
    path: `/containers/${inspection.Id}/wait`,
    // Podman looks at it in intervals, and knows this parameter; Docker is told by the kernel.
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

/** What was seen so far: the evidence if the time is up. */
interface Seen {
  attempts: string[];
  closedPorts: Set<number>;
}

interface Watch {
  readonly signal: AbortSignal;
  readonly seen: Seen;
}

async function untilReady(wait: Wait, inspection: Inspection, watch: Watch): Promise<Outcome> {
  const { workload } = wait;
  const instance = toInstance(inspection, wait.scope.isDirect);
  const ports = workload.ports.filter(({ protocol }) => protocol !== 'UDP').map(({ internalPort }) => internalPort);
  if (workload.readiness) await untilProbed(wait, workload.readiness, { ...watch, instance });
  else if (ports.length > 0) await untilListening(wait, inspection, { ...watch, instance, ports });
  else return untilSteady(wait, inspection, watch.signal);
  return { type: 'READY' };
}

// Looked at when the time is up, as Podman tells of an end up to an interval late.
async function untilSteady(wait: Wait, inspection: Inspection, signal: AbortSignal): Promise<Outcome> {
  await pause(Math.max(Date.parse(inspection.State.StartedAt) + steadyMilliseconds - Date.now(), 0), signal);
  const now = await inspect(wait.scope.docker, inspection.Id, signal);
  return { type: now?.State.Running ? 'READY' : 'EXITED' };
}

/**
 * Until the readiness probe succeeds `successThreshold` times in a row. Before its first success it is asked far more often than
 * `periodSeconds`: most instances are ready long before a period is over. Failures never end the wait, the time does: slow
 * starts are no faults (Kubernetes takes it the same way).
 */
async function untilProbed(wait: Wait, probe: Probe, watch: Watch & { readonly instance: Instance }): Promise<void> {
  const { seen, signal } = watch;
  let successes = 0;
  for (let attempt = 1; ; attempt += 1) {
    const found = await probeOnce(wait.scope, probe, watch.instance, signal);
    signal.throwIfAborted();
    successes = found === null ? successes + 1 : 0;
    if (successes >= probe.successThreshold) return;
    if (found !== null) note(seen, found);
    const period = Math.max(probe.periodSeconds, 1) * 1000;
    await pause(successes > 0 ? period : Math.min(period, pauseAfter(found ?? '', probe, attempt)), signal);
  }
}

// A closed port costs the instance nothing to be asked again; an answer may be a line in its log, a command is a process.
function pauseAfter(found: string, probe: Probe, attempt: number): number {
  if (found.endsWith('connection refused')) return backoffMilliseconds(attempt, 5, attempt < 60 ? 15 : 50);
  return backoffMilliseconds(attempt, probe.check.type === 'exec' ? 50 : 20, 1000);
}

function note(seen: Seen, found: string): void {
  const last = seen.attempts.at(-1);
  const repeated = /^(.*) \((\d+) times\)$/s.exec(last ?? '');
  if (last === found) seen.attempts.splice(-1, 1, `${found} (2 times)`);
  else if (repeated && repeated[1] === found) seen.attempts.splice(-1, 1, `${found} (${Number(repeated[2]) + 1} times)`);
  else seen.attempts.push(found);
  if (seen.attempts.length > keptAttempts) seen.attempts.shift();
}

/** Until every port accepts a connection. */
async function untilListening(
  wait: Wait,
  inspection: Inspection,
  watch: Watch & { readonly instance: Instance; readonly ports: readonly number[] },
): Promise<void> {
  const { seen, signal } = watch;
  seen.closedPorts = new Set(watch.ports);
  for (let attempt = 1; ; attempt += 1) {
    const open = await openPorts(wait.scope, inspection, watch.instance, { ports: [...seen.closedPorts], signal });
    for (const port of open) seen.closedPorts.delete(port);
    if (seen.closedPorts.size === 0) return;
    await pause(backoffMilliseconds(attempt, 5, attempt < 60 ? 15 : 50), signal);
  }
}

async function openPorts(
  scope: ReadyScope,
  inspection: Inspection,
  instance: Instance,
  { ports, signal }: { readonly ports: readonly number[]; readonly signal: AbortSignal },
): Promise<number[]> {
  // Behind a proxy of the engine a connection tells little, so the instance's own table is asked where that is cheap.
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
 * Those of the ports that the instance itself answers at. Engines give an address to the next instance as soon as the former one
 * has ended, so that a connection may have reached another one.
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
