import type { Event, Pod } from 'kubernetes-types/core/v1.js';
import type { CallContext } from '../../driver.ts';
import { DriverError } from '../../errors.ts';
import type { ChartObject, ChartPlace } from '../../helm-driver.ts';
import { explain, type Explained } from '../failures.ts';
import { follow } from '../follow.ts';
import { pathOf } from '../objects.ts';
import { toNumber } from '../quantity.ts';
import type { ClusterScope } from '../start.ts';
import { namespaceOf, type Maker } from './members.ts';
import { judgeRelease, lastSuspect, type SeenRelease, type Suspect } from './suspects.ts';

interface Watched {
  readonly place: ChartPlace;
  readonly objects: readonly ChartObject[];
  readonly work: (signal: AbortSignal) => Promise<void>;
}

const makingKinds = ['Deployment', 'StatefulSet', 'DaemonSet', 'Job'];
const explainWithinMilliseconds = 20_000;

/** See `ClusterCharts.whileWatched`. */
export async function whileWatched(scope: ClusterScope, { place, objects, work }: Watched, context: CallContext): Promise<void> {
  const given = new AbortController();
  const done = new AbortController();
  const makers = objects.filter(({ kind }) => makingKinds.includes(kind));
  const look = new Look(makers, () => given.abort());
  const following = look.follow(scope, place, AbortSignal.any([context.signal, done.signal]));
  try {
    await look.ready;
    await work(AbortSignal.any([context.signal, given.signal]));
  } catch (error) {
    if (context.signal.aborted) throw error;
    const suspect = look.final ?? look.last();
    if (suspect === null) throw error;
    throw await explained(scope, suspect, { context, error });
  } finally {
    done.abort();
    look.close();
    await following;
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
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(explainWithinMilliseconds)]);
  const failure = await explain(scope, of, suspicion, signal);
  const said = error instanceof DriverError ? (error.evidence.lines ?? []) : [];
  return new DriverError({
    cause: failure.code,
    message: `${what}: ${failure.message}`,
    hint: failure.hint,
    evidence: { ...failure.evidence, ...(failure.evidence.lines === undefined && said.length > 0 && { lines: said }) },
    error,
  });
}

/** Keeps up with the pods and events of the namespace. That it cannot is no failure of the work. */
class Look {
  readonly #makers: readonly Maker[];
  readonly #onFinal: () => void;
  readonly #began = Date.now();
  readonly #ready = Promise.withResolvers<void>();
  /** What was there before: pods of the release that is replaced may fail as they like. */
  #former: ReadonlySet<string> | null = null;
  #formerEvents: ReadonlySet<string> | null = null;
  readonly #since = new Map<string, number>();
  #pods: readonly Pod[] = [];
  #events: readonly Event[] = [];
  #timer: NodeJS.Timeout | undefined;
  final: Suspect | null = null;

  constructor(makers: readonly Maker[], onFinal: () => void) {
    this.#makers = makers;
    this.#onFinal = onFinal;
  }

  /** Resolves when it is known what was there before. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  async follow({ api }: ClusterScope, place: ChartPlace, signal: AbortSignal): Promise<void> {
    const namespace = namespaceOf(place);
    const pods = follow<Pod>(
      api,
      { path: pathOf('Pod', { namespace }), query: {} },
      { onChange: (items) => this.#takePods(items) },
      signal,
    );
    const events = follow<Event>(
      api,
      { path: pathOf('Event', { namespace }), query: {} },
      { onChange: (items) => this.#takeEvents([...items.values()]) },
      signal,
    );
    await Promise.allSettled([pods, events]);
    this.#ready.resolve();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  last(): Suspect | null {
    return lastSuspect(this.#seen(Date.now()));
  }

  #takePods(items: ReadonlyMap<string, Pod>): void {
    this.#former ??= new Set(items.keys());
    for (const uid of items.keys()) if (!this.#since.has(uid)) this.#since.set(uid, Date.now());
    this.#pods = [...items].flatMap(([uid, pod]) => (this.#former?.has(uid) === true ? [] : [pod]));
    this.#look();
  }

  #takeEvents(items: readonly Event[]): void {
    const key = ({ metadata, count = 1 }: Event): string => `${metadata.uid} ${count}`;
    this.#formerEvents ??= new Set(items.map(key));
    this.#events = items.filter((event) => this.#formerEvents?.has(key(event)) !== true);
    this.#look();
  }

  #seen(now: number): SeenRelease {
    const pods = this.#pods.map((pod) => ({ pod, since: this.#since.get(pod.metadata?.uid ?? '') ?? now }));
    return { makers: this.#makers, pods, events: this.#events, began: this.#began, now };
  }

  #look(): void {
    if (this.#former === null || this.#formerEvents === null || this.final !== null) return;
    this.#ready.resolve();
    clearTimeout(this.#timer);
    const now = Date.now();
    const { suspect, againAt } = judgeRelease(this.#seen(now));
    if (suspect !== null) {
      this.final = suspect;
      this.#onFinal();
    } else if (againAt < Infinity) this.#timer = setTimeout(() => this.#look(), Math.max(againAt - now, 0) + 1);
  }
}
