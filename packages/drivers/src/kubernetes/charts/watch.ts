import { pause } from '@davit/base';
import type { Event, Pod } from 'kubernetes-types/core/v1.js';
import type { CallContext } from '../../driver.ts';
import { DriverError } from '../../errors.ts';
import type { ChartObject, ChartRef } from '../../helm-driver.ts';
import { ApiRefusal, call, unreachable, type Api, type KubernetesObject } from '../client/api.ts';
import type { ClusterScope } from '../client/cluster-scope.ts';
import { follow } from '../client/follow.ts';
import { pathOf } from '../client/objects.ts';
import { explain, type Explained } from '../diagnosis/failures.ts';
import { withFirstSeen } from '../diagnosis/fault.ts';
import { toNumber } from '../names/quantity.ts';
import { namespaceOf, type Maker } from './members.ts';
import { faultsOf, judgeRelease, lastSuspect, type SeenRelease, type Suspect } from './suspects.ts';

interface Watched {
  readonly chart: ChartRef;
  readonly objects: readonly ChartObject[];
  readonly work: (signal: AbortSignal) => Promise<void>;
}

const makingKinds = ['Deployment', 'StatefulSet', 'DaemonSet', 'Job'];
const answerWithinMilliseconds = 10_000;
/** Pause between two attempts to follow a list. */
const followAgainMilliseconds = 2_000;

/** See `ClusterCharts.whileWatched`. */
export async function whileWatched(scope: ClusterScope, { chart, objects, work }: Watched, context: CallContext): Promise<void> {
  const given = new AbortController();
  const done = new AbortController();
  const makers = objects.filter(({ kind }) => makingKinds.includes(kind));
  const look = new Look(makers, () => given.abort());
  const following = look.follow(scope, chart, AbortSignal.any([context.signal, done.signal]));
  try {
    await look.ready;
    await work(AbortSignal.any([context.signal, given.signal]));
  } catch (error) {
    if (context.signal.aborted) throw error;
    await refuseAway(scope.api, context.signal);
    const suspect = look.final ?? look.last();
    if (suspect === null) throw error;
    throw await explained(scope, suspect, { context, error });
  } finally {
    done.abort();
    look.close();
    await following;
  }
}

/**
 * Fails with ENGINE_UNREACHABLE if the API server is unreachable. Helm failed for that reason then, and the known state
 * of the pods is old.
 */
async function refuseAway(api: Api, signal: AbortSignal): Promise<void> {
  const deadline = AbortSignal.timeout(answerWithinMilliseconds);
  try {
    await call(api, { method: 'GET', path: '/version', signal: AbortSignal.any([signal, deadline]) });
  } catch (error) {
    signal.throwIfAborted();
    // A server that refuses the request is reachable. A proxy in front of an unreachable server responds with 502 or
    // 503.
    if (error instanceof ApiRefusal && error.status < 500) return;
    if (error instanceof DriverError) throw error;
    throw unreachable(deadline.aborted ? `gave no answer within ${answerWithinMilliseconds / 1000} s` : 'does not work', error);
  }
}

async function explained(
  scope: ClusterScope,
  { what, suspicion, container }: Suspect,
  { context, error }: { readonly context: CallContext; readonly error: unknown },
): Promise<DriverError> {
  const of: Explained = {
    image: container?.image ?? '',
    memoryMiB: Math.round(toNumber(container?.resources?.limits?.['memory']) / 2 ** 20),
    readyTimeoutSeconds: 0,
    ports: [],
    readiness: null,
  };
  const failure = await explain(scope, of, suspicion, context.signal);
  const output = error instanceof DriverError ? (error.evidence.lines ?? []) : [];
  // Work that was aborted because of the suspect has no message of its own. Work that failed by itself may have failed
  // for another reason.
  const behind = error instanceof DriverError ? `${failure.message.endsWith('.') ? '' : '.'} ${error.message}` : '';
  return new DriverError({
    cause: failure.code,
    message: `${what}: ${failure.message}${behind}`,
    hint: failure.hint,
    evidence: { ...failure.evidence, ...(failure.evidence.lines === undefined && output.length > 0 && { lines: output }) },
    error,
  });
}

const lists = ['Pod', 'Event'] as const;
type List = (typeof lists)[number];

/**
 * Follows the pods and events of the namespace, and retries if that fails: such a failure is not one of the work. While
 * one of the two lists is not followed, no pod is judged, because the known state may be outdated.
 */
class Look {
  readonly #makers: readonly Maker[];
  readonly #onFinal: () => void;
  readonly #began = Date.now();
  readonly #ready = Promise.withResolvers<void>();
  /** Lists whose first read has succeeded or failed. */
  readonly #attempted = new Set<List>();
  readonly #followed = new Set<List>();
  /** Pods that existed before. Pods of the replaced release may fail. */
  #former: ReadonlySet<string> | null = null;
  #formerEvents: ReadonlySet<string> | null = null;
  #faults: ReadonlyMap<string, number> = new Map();
  #pods: readonly Pod[] = [];
  #events: readonly Event[] = [];
  #timer: NodeJS.Timeout | undefined;
  final: Suspect | null = null;

  constructor(makers: readonly Maker[], onFinal: () => void) {
    this.#makers = makers;
    this.#onFinal = onFinal;
  }

  /** Resolves when the previous pods and events are known, as far as the cluster returns them. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  async follow({ api }: ClusterScope, chart: ChartRef, signal: AbortSignal): Promise<void> {
    const namespace = namespaceOf(chart);
    await Promise.all([
      this.#keepUp<Pod>(api, 'Pod', { namespace, signal, take: (items) => this.#takePods(items) }),
      this.#keepUp<Event>(api, 'Event', { namespace, signal, take: (items) => this.#takeEvents([...items.values()]) }),
    ]);
  }

  async #keepUp<T extends KubernetesObject>(
    api: Api,
    list: List,
    { namespace, signal, take }: { namespace: string; signal: AbortSignal; take: (items: ReadonlyMap<string, T>) => void },
  ): Promise<void> {
    const onChange = (items: ReadonlyMap<string, T>): void => {
      this.#followed.add(list);
      take(items);
      this.#attempt(list);
    };
    while (!signal.aborted) {
      try {
        await follow<T>(api, { path: pathOf(list, { namespace }), query: {} }, { onChange }, signal);
      } catch {
        // The list is read again; the work continues in the meantime.
      }
      this.#followed.delete(list);
      clearTimeout(this.#timer);
      this.#attempt(list);
      await pause(followAgainMilliseconds, signal);
    }
  }

  #attempt(list: List): void {
    this.#attempted.add(list);
    if (this.#attempted.size === lists.length) this.#ready.resolve();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  last(): Suspect | null {
    return this.#isFollowing() ? lastSuspect(this.#seen(Date.now())) : null;
  }

  #isFollowing(): boolean {
    return this.#followed.size === lists.length;
  }

  #takePods(items: ReadonlyMap<string, Pod>): void {
    // If the first attempt failed, the work has already begun. Pods that appeared since do not count as former ones.
    this.#former ??= new Set(
      [...items].flatMap(([uid, pod]) => (this.#isFormer('Pod', pod.metadata?.creationTimestamp) ? [uid] : [])),
    );
    this.#pods = [...items].flatMap(([uid, pod]) => (this.#former?.has(uid) === true ? [] : [pod]));
    this.#look();
  }

  #takeEvents(items: readonly Event[]): void {
    const key = ({ metadata, count = 1 }: Event): string => `${metadata.uid} ${count}`;
    this.#formerEvents ??= new Set(items.filter((event) => this.#isFormer('Event', timeOf(event))).map(key));
    this.#events = items.filter((event) => this.#formerEvents?.has(key(event)) !== true);
    this.#look();
  }

  #isFormer(list: List, at: string | undefined): boolean {
    return !this.#attempted.has(list) || Date.parse(at ?? '') < this.#began;
  }

  #seen(now: number): SeenRelease {
    return { makers: this.#makers, pods: this.#pods, events: this.#events, began: this.#began, now };
  }

  #look(): void {
    if (!this.#isFollowing() || this.final !== null) return;
    clearTimeout(this.#timer);
    const now = Date.now();
    const seen = this.#seen(now);
    this.#faults = withFirstSeen(this.#faults, faultsOf(seen), now);
    const { suspect, againAt } = judgeRelease({ ...seen, faults: this.#faults });
    if (suspect !== null) {
      this.final = suspect;
      this.#onFinal();
    } else if (againAt < Infinity) this.#timer = setTimeout(() => this.#look(), Math.max(againAt - now, 0) + 1);
  }
}

function timeOf({ lastTimestamp, eventTime, metadata }: Event): string | undefined {
  return lastTimestamp ?? eventTime ?? metadata.creationTimestamp;
}
