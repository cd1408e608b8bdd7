import type { Event, Pod } from 'kubernetes-types/core/v1.js';
import type { CallContext } from '../driver.ts';
import type { DriverError } from '../errors.ts';
import type { Instance, Workload } from '../workload.ts';
import { explain, type Suspicion } from './failures.ts';
import { follow } from './follow.ts';
import { findSelected, gather, toInstance, type Found } from './instances.ts';
import { judgeReady, judgeStart, type Judgement, type Seen } from './judge.ts';
import { label, labelSelector, withRunLabels } from './labels.ts';
import { instanceName, namespaceName } from './names.ts';
import { pathOf } from './objects.ts';
import { translated } from './refusals.ts';
import type { ClusterScope } from './start.ts';

const longestStartMilliseconds = 600_000;

type Judge = (workload: Workload, seen: Seen) => Judgement;

/** Waits until the process of every instance, from `firstInstance` on, has been started once: its image is there by then. */
export async function awaitStarted(scope: ClusterScope, workload: Workload, context: CallContext): Promise<void> {
  await awaitJudged(scope, workload, judgeStart, context);
}

/** The same of a run that a schedule of the cluster began, whose rollout the workload has; at most for a while, as it may be gone. */
export async function awaitRunStarted(scope: ClusterScope, workload: Workload, context: CallContext): Promise<void> {
  const { service } = workload.owner;
  const limited = AbortSignal.any([context.signal, AbortSignal.timeout(longestStartMilliseconds)]);
  try {
    const [run] = await findSelected(scope, { service, rollout: workload.rollout }, limited);
    // What has a pod that ended has begun; without a Job nothing begins any more.
    if (run?.controller === undefined || run.controller === null || toInstance(run).state !== 'CREATED') return;
    await awaitNamed(scope, { workload, names: [run.name], judge: judgeStart }, { ...context, signal: limited });
  } catch (error) {
    context.signal.throwIfAborted();
    if (!limited.aborted) throw translated(error, `${workload.name} could not be started on the cluster`);
  }
}

/** See `ClusterDriver.awaitReady`. The instances are those of the moment in which all of them were ready. */
export async function awaitReady(scope: ClusterScope, workload: Workload, context: CallContext): Promise<readonly Instance[]> {
  const found = await awaitJudged(scope, workload, judgeReady, context);
  return found.map(toInstance);
}

/** Keeps up with pods and events of the namespace, and judges after each change, and when a judgement wants to be asked again. */
async function awaitJudged(scope: ClusterScope, workload: Workload, judge: Judge, context: CallContext): Promise<Found[]> {
  const names = indicesOf(workload).map((index) => instanceName(workload, index));
  return awaitNamed(scope, { workload, names, judge }, context);
}

interface Awaited {
  readonly workload: Workload;
  /** Of instances. */
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
    const judgements = this.#names.map((name) => this.#judgeOne(name, now));
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

  // A timer has nobody above it: what goes wrong here must end the wait and not the process.
  #lookAgain(): void {
    try {
      this.#look();
    } catch (error) {
      this.#outcome.reject(error);
    }
  }

  #judgeOne(name: string, now: number): { readonly judgement: Judgement; readonly found: Found | null } {
    const own = [...(this.#pods?.values() ?? [])].filter(({ metadata }) => metadata?.labels?.[label.instance] === name);
    const [found = null] = gather([], own);
    // Of its pods, and of what makes them: their names begin with its own.
    const events = this.#events.filter(({ involvedObject }) => {
      const about = involvedObject.name ?? '';
      return about === name || about.startsWith(`${name}-`);
    });
    const pod = found?.pods.find(({ metadata }) => metadata?.deletionTimestamp === undefined) ?? null;
    return { judgement: this.#judge(this.#workload, { name, pod, events, began: this.#began, now }), found };
  }
}
