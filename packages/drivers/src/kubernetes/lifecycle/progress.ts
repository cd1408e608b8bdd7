import type { Event, Pod } from 'kubernetes-types/core/v1.js';
import type { CallContext } from '../../driver.ts';
import type { DriverError } from '../../errors.ts';
import type { Instance, Workload } from '../../workload.ts';
import type { ClusterScope } from '../client/cluster-scope.ts';
import { follow } from '../client/follow.ts';
import { pathOf } from '../client/objects.ts';
import { translated } from '../client/refusals.ts';
import { clockMilliseconds, eventsOfInstance } from '../diagnosis/events.ts';
import { explain, type Suspicion } from '../diagnosis/failures.ts';
import { withFirstSeen } from '../diagnosis/fault.ts';
import type { InstanceFacts } from '../diagnosis/instance-facts.ts';
import { judgeReady, judgeStart, rejection, type Judgement } from '../diagnosis/judge.ts';
import { faultOf } from '../diagnosis/start-faults.ts';
import { findSelected, gather, isRejected, mainStatus, toInstance, type Found } from '../instances/instances.ts';
import { label, labelSelector, withRunLabels } from '../names/labels.ts';
import { instanceName, namespaceName } from '../names/names.ts';

const longestStartMilliseconds = 600_000;

type Judge = (workload: Workload, seen: InstanceFacts) => Judgement;

/**
 * Waits until the process of each instance, from `firstInstance` on, has started once. Its image has been pulled by
 * then.
 */
export async function awaitStarted(scope: ClusterScope, workload: Workload, context: CallContext): Promise<void> {
  await awaitJudged(scope, workload, judgeStart, context);
}

/**
 * Works like `awaitStarted`, for a run that a schedule of the cluster began; the workload carries the run's rollout.
 * The wait has a limit, because the run may be gone.
 */
export async function awaitRunStarted(scope: ClusterScope, workload: Workload, context: CallContext): Promise<void> {
  const { service } = workload.owner;
  const limited = AbortSignal.any([context.signal, AbortSignal.timeout(longestStartMilliseconds)]);
  try {
    const [run] = await findSelected(scope, { service, rollout: workload.rollout }, limited);
    // A run with a pod that has ended has started. Without a Job, nothing starts any more.
    if (run?.controller === undefined || run.controller === null) return;
    const { state } = toInstance(run);
    const [last] = run.pods;
    // A run that exceeded its deadline is reported by its exit instead.
    if (state === 'EXITED' && last !== undefined && isRejected(last) && last.status?.reason !== 'DeadlineExceeded')
      throw await failureOf(scope, workload, rejection(last, true), context);
    if (state !== 'CREATED') return;
    await awaitNamed(scope, { workload, names: [run.name], judge: judgeStart }, { ...context, signal: limited });
  } catch (error) {
    context.signal.throwIfAborted();
    if (!limited.aborted) throw translated(error, `${workload.name} could not be started on the cluster`);
  }
}

/** See `ClusterDriver.awaitReady`. Returns the instances as they were at the moment when all of them were ready. */
export async function awaitReady(scope: ClusterScope, workload: Workload, context: CallContext): Promise<readonly Instance[]> {
  const found = await awaitJudged(scope, workload, judgeReady, context);
  return found.map(toInstance);
}

/** Follows pods and events of the namespace. Judges after each change, and at the time that a judgement asks for. */
async function awaitJudged(scope: ClusterScope, workload: Workload, judge: Judge, context: CallContext): Promise<Found[]> {
  const names = indicesOf(workload).map((index) => instanceName(workload, index));
  return awaitNamed(scope, { workload, names, judge }, context);
}

interface Awaited {
  readonly workload: Workload;
  /** Names of the instances. */
  readonly names: readonly string[];
  readonly judge: Judge;
}

async function awaitNamed(scope: ClusterScope, { workload, names, judge }: Awaited, context: CallContext): Promise<Found[]> {
  if (names.length === 0) return [];
  const look = new Look(workload, names, judge);
  const done = new AbortController();
  const signal = AbortSignal.any([context.signal, done.signal]);
  const following = look.follow(scope, signal);
  try {
    const verdict = await Promise.race([look.verdict, following.then(() => look.verdict), aborted(context.signal)]);
    if (verdict.type === 'FAILED') throw await failureOf(scope, workload, verdict.suspicion, context);
    return verdict.found;
  } catch (error) {
    context.signal.throwIfAborted();
    throw translated(error, `The instances of ${workload.name} could not be watched`);
  } finally {
    done.abort();
    look.close();
    await following.catch(() => undefined);
  }
}

function failureOf(scope: ClusterScope, workload: Workload, suspicion: Suspicion, context: CallContext): Promise<DriverError> {
  return explain(scope, workload, suspicion, context.signal);
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = (): void => reject(signal.reason); // oxlint-disable-line typescript/prefer-promise-reject-errors -- the caller's own reason
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

function indicesOf({ firstInstance: first = 0, instances }: Workload): number[] {
  return Array.from({ length: Math.max(instances - first, 0) }, (_, offset) => first + offset);
}

type Verdict = { readonly type: 'DONE'; readonly found: Found[] } | { readonly type: 'FAILED'; readonly suspicion: Suspicion };

class Look {
  readonly #workload: Workload;
  readonly #names: readonly string[];
  readonly #judge: Judge;
  readonly #began = Date.now();
  readonly #outcome = Promise.withResolvers<Verdict>();
  #pods: ReadonlyMap<string, Pod> | null = null;
  #events: readonly Event[] = [];
  /**
   * For each instance name, the uids of the rejected pods and when they were seen. Some controllers remove such a pod
   * at once.
   */
  readonly #rejected = new Map<string, Map<string, number>>();
  /** For each instance name, the process that runs and when it was first seen. */
  readonly #running = new Map<string, { readonly process: string; readonly since: number }>();
  /** See `Seen.faults`. */
  #faults: ReadonlyMap<string, number> = new Map();
  #timer: NodeJS.Timeout | undefined;

  constructor(workload: Workload, names: readonly string[], judge: Judge) {
    this.#workload = workload;
    this.#names = names;
    this.#judge = judge;
  }

  get verdict(): Promise<Verdict> {
    return this.#outcome.promise;
  }

  async follow({ api, installation }: ClusterScope, signal: AbortSignal): Promise<void> {
    const { owner } = this.#workload;
    const namespace = namespaceName(owner.installation, owner.environment);
    const query = { labelSelector: labelSelector(installation, 'instance', { service: owner.service }) };
    const pods = follow<Pod>(
      api,
      { path: pathOf('Pod', { namespace }), query },
      {
        onChange: (items) => {
          this.#pods = new Map([...items].map(([uid, pod]) => [uid, withRunLabels(pod)]));
          this.#look();
        },
      },
      signal,
    );
    const events = follow<Event>(
      api,
      { path: pathOf('Event', { namespace }), query: {} },
      {
        onChange: (items) => {
          this.#events = [...items.values()];
          this.#look();
        },
      },
      signal,
    );
    await Promise.all([pods, events]);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #look(): void {
    if (this.#pods === null) return;
    clearTimeout(this.#timer);
    const now = Date.now();
    const judgements = this.#judgeAll(now);
    const failed = judgements.find(({ judgement }) => judgement.type === 'FAILED');
    if (failed?.judgement.type === 'FAILED') {
      this.#outcome.resolve({ type: 'FAILED', suspicion: failed.judgement.suspicion });
      return;
    }
    const waits = judgements.flatMap(({ judgement }) => (judgement.type === 'WAIT' ? [judgement.againAt] : []));
    if (waits.length === 0) {
      this.#outcome.resolve({ type: 'DONE', found: judgements.flatMap(({ found }) => (found ? [found] : [])) });
      return;
    }
    const next = Math.min(...waits);
    if (next < Infinity) this.#timer = setTimeout(() => this.#lookAgain(), Math.max(next - now, 0) + 1);
  }

  // A timer has no caller: an error here must end the wait, not the process.
  #lookAgain(): void {
    try {
      this.#look();
    } catch (error) {
      this.#outcome.reject(error);
    }
  }

  #judgeAll(now: number): readonly { readonly judgement: Judgement; readonly found: Found | null }[] {
    const all = this.#names.map((name) => this.#see(name, now));
    const present = all.map(({ seen }) => faultOf(seen));
    const faults = withFirstSeen(this.#faults, present, now);
    this.#faults = faults;
    return all.map(({ seen, found }) => ({ judgement: this.#judge(this.#workload, { ...seen, faults }), found }));
  }

  #see(name: string, now: number): { readonly seen: InstanceFacts; readonly found: Found | null } {
    const own = [...(this.#pods?.values() ?? [])].filter(({ metadata }) => metadata?.labels?.[label.instance] === name);
    const [found = null] = gather([], own);
    const events = eventsOfInstance(this.#events, { name, pods: own, began: this.#began });
    const pod = found?.pods.find(({ metadata }) => metadata?.deletionTimestamp === undefined) ?? null;
    const rejected = this.#rejectedOf(name, own, now);
    const runningSince = this.#runningSince(name, pod, now);
    return { seen: { name, pod, events, ...rejected, runningSince, began: this.#began, now }, found };
  }

  #runningSince(name: string, pod: Pod | null, now: number): number | undefined {
    const { state, containerID, restartCount } = mainStatus(pod ?? undefined) ?? {};
    if (state?.running === undefined) {
      this.#running.delete(name);
      return undefined;
    }
    const process = [pod?.metadata?.uid, containerID, restartCount].join(' ');
    const known = this.#running.get(name);
    const one = known?.process === process ? known : { process, since: now };
    this.#running.set(name, one);
    return one.since;
  }

  #rejectedOf(name: string, pods: readonly Pod[], now: number): Pick<InstanceFacts, 'rejected' | 'rejectedSince'> {
    const known = this.#rejected.get(name) ?? new Map<string, number>();
    this.#rejected.set(name, known);
    // Pods that a service lost before the wait began say nothing about the pods that are created now.
    const counts = (pod: Pod): boolean =>
      pod.spec?.restartPolicy === 'Never' ||
      Date.parse(String(pod.metadata?.creationTimestamp)) >= this.#began - clockMilliseconds;
    for (const pod of pods) {
      const uid = pod.metadata?.uid ?? '';
      if (isRejected(pod) && counts(pod) && !known.has(uid)) known.set(uid, now);
    }
    return { rejected: known.size, rejectedSince: known.values().next().value };
  }
}
