import type { Event, Pod } from 'kubernetes-types/core/v1.js';
import { follow } from '../client/follow.ts';
import { byAge, pathOf, type Scope } from '../client/objects.ts';
import { eventsOfInstance } from '../diagnosis/events.ts';
import type { Suspicion } from '../diagnosis/failures.ts';
import { withFirstSeen, toFault, type Fault } from '../diagnosis/fault.ts';
import { isSetUp, type InstanceFacts } from '../diagnosis/instance-facts.ts';
import { judgeFault } from '../diagnosis/judge.ts';
import { faultOf } from '../diagnosis/start-faults.ts';
import { mainStatus } from '../instances/instances.ts';
import { label } from '../names/labels.ts';

/** How long a node may try to set up the pod. A node without user namespaces for pods never succeeds. */
const sandboxMilliseconds = 30_000;

/** How the pod of a build ended during the build. */
export type PodEnd =
  | { readonly type: 'OUT_OF_MEMORY' }
  /** The node removed the pod: its disk, or the pod's share of the disk, is full, or the node is drained. */
  | { readonly type: 'EVICTED' | 'GONE'; readonly words: string }
  /** The daemon ended. */
  | { readonly type: 'ENDED'; readonly code: number };

/** Returns how the daemon of a pod ended, or null if it has not ended. Pure. */
export function endOf(pod: Pod): PodEnd | null {
  const { reason, message = '' } = pod.status ?? {};
  if (reason === 'Evicted') return { type: 'EVICTED', words: message.trim() };
  const ended = mainStatus(pod)?.state?.terminated;
  if (ended?.reason === 'OOMKilled') return { type: 'OUT_OF_MEMORY' };
  if (pod.metadata?.deletionTimestamp !== undefined) return { type: 'GONE', words: disruption(pod) };
  if (ended !== undefined) return { type: 'ENDED', code: ended.exitCode };
  return pod.status?.phase === 'Failed' ? { type: 'GONE', words: message } : null;
}

function disruption(pod: Pod): string {
  return pod.status?.conditions?.find(({ type }) => type === 'DisruptionTarget')?.message ?? 'somebody deleted it';
}

/** Returns whether both containers run. Pure. */
export function isUp(pod: Pod): boolean {
  const statuses = pod.status?.containerStatuses ?? [];
  return statuses.length > 0 && statuses.every(({ state }) => state?.running !== undefined);
}

export type Beginning = { readonly type: 'UP'; readonly pod: Pod } | { readonly type: 'FAILED'; readonly suspicion: Suspicion };

/** Follows the pod of a build, from before the pod exists until `close`. */
export class BuildPod {
  /** Rejects if the cluster can no longer be watched. */
  readonly begun: Promise<Beginning | { readonly type: 'ENDED'; readonly end: PodEnd }>;
  /** Rejects if the cluster can no longer be watched. */
  readonly ended: Promise<PodEnd>;
  readonly #begun = Promise.withResolvers<Awaited<BuildPod['begun']>>();
  readonly #ended = Promise.withResolvers<PodEnd>();
  readonly #done = new AbortController();
  readonly #name: string;
  readonly #since = Date.now();
  #pod: Pod | null = null;
  #events: readonly Event[] = [];
  #faults: ReadonlyMap<string, number> = new Map();
  #timer: NodeJS.Timeout | undefined;

  constructor({ api, installation }: Scope, { namespace, name }: { readonly namespace: string; readonly name: string }) {
    this.#name = name;
    this.begun = this.#begun.promise;
    this.ended = this.#ended.promise;
    // A waiting caller gets the rejection, but there may be no caller.
    for (const promise of [this.begun, this.ended]) promise.catch(() => undefined);
    const { signal } = this.#done;
    const labelSelector = `${label.installation}=${installation},${label.instance}=${name}`;
    const pods = { path: pathOf('Pod', { namespace }), query: { labelSelector } };
    const events = { path: pathOf('Event', { namespace }), query: {} };
    const following = [
      follow<Pod>(api, pods, { onChange: (items) => this.#seePods([...items.values()]) }, signal),
      follow<Event>(api, events, { onChange: (items) => this.#seeEvents([...items.values()]) }, signal),
    ];
    Promise.all(following).catch((error: unknown) => {
      this.#begun.reject(error);
      this.#ended.reject(error);
    });
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#done.abort();
  }

  #seePods(pods: readonly Pod[]): void {
    const was = this.#pod;
    this.#pod = byAge(pods)[0] ?? null;
    if (this.#pod === null && was !== null) this.#end({ type: 'GONE', words: disruption(was) });
    this.#look();
  }

  #seeEvents(events: readonly Event[]): void {
    this.#events = events;
    this.#look();
  }

  #end(end: PodEnd): void {
    this.#ended.resolve(end);
    this.#begun.resolve({ type: 'ENDED', end });
  }

  #look(): void {
    clearTimeout(this.#timer);
    const pod = this.#pod;
    const end = pod === null ? null : endOf(pod);
    if (end !== null) this.#end(end);
    else if (pod !== null && isUp(pod)) this.#begun.resolve({ type: 'UP', pod });
    else this.#judge(pod);
  }

  #judge(pod: Pod | null): void {
    const now = Date.now();
    const [name, began] = [this.#name, this.#since];
    const events = eventsOfInstance(this.#events, { name, pods: pod === null ? [] : [pod], began });
    const seen = { name, pod, events, began, now };
    const fault = buildFaultOf(seen);
    this.#faults = withFirstSeen(this.#faults, [fault], now);
    const judgement = judgeFault(fault, { ...seen, faults: this.#faults });
    if (judgement.type === 'FAILED') this.#begun.resolve({ type: 'FAILED', suspicion: judgement.suspicion });
    if (judgement.type === 'WAIT' && judgement.againAt < Infinity)
      this.#timer = setTimeout(() => this.#look(), Math.max(judgement.againAt - now, 0) + 1);
  }
}

/** Works like `faultOf`, but gives less time to a node that cannot set up the pod. Pure. */
export function buildFaultOf(seen: InstanceFacts): Fault | null {
  const { pod, events } = seen;
  const output = events.find(({ reason }) => reason === 'FailedCreatePodSandBox');
  if (output === undefined || pod === null || isSetUp(seen, pod)) return faultOf(seen);
  return toFault(
    seen,
    sandboxMilliseconds,
    { type: 'UNSTARTABLE', reason: output.reason ?? '', words: output.message ?? '' },
    'SANDBOX',
  );
}
