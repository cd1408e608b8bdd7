import type { Container, Event, Pod } from 'kubernetes-types/core/v1.js';
import type { Suspicion } from '../diagnosis/failures.ts';
import type { Fault } from '../diagnosis/fault.ts';
import { onlyContainer, statusOf, type InstanceFacts } from '../diagnosis/instance-facts.ts';
import { judgeBegin } from '../diagnosis/judge.ts';
import { faultOf } from '../diagnosis/start-faults.ts';
import { lastEnd, mainStatus } from '../instances/instances.ts';
import { isMadeBy, type Maker } from './members.ts';

/** The known state of the pods of a release. */
export interface SeenRelease {
  /** Controllers of the pods, according to the chart. */
  readonly makers: readonly Maker[];
  /** Pods that appeared since the release began. */
  readonly pods: readonly Pod[];
  /** Events since the release began. */
  readonly events: readonly Event[];
  /** See `Seen.faults`. */
  readonly faults?: ReadonlyMap<string, number> | undefined;
  /** When the release began, in milliseconds since 1970. */
  readonly began: number;
  /** Current time in milliseconds since 1970. Infinity: the wait is over. */
  readonly now: number;
}

/** The part of a release that does not start, and why. */
export interface Suspect {
  /** Description for people: `Deployment web, container app of pod web-1`. */
  readonly what: string;
  readonly suspicion: Suspicion;
  /** The container, or null if no pod is created. */
  readonly container: Pick<Container, 'name' | 'image' | 'resources'> | null;
}

/**
 * Number of restarts after which a container is given up. It is higher than for Davit's own services: charts are
 * written so that one part exits repeatedly until another part is up.
 */
const maxRestarts = 5;

/** Judges a release. `suspect` is a part that cannot recover by itself; `againAt` is when to judge again. Pure. */
export function judgeRelease(seen: SeenRelease): { readonly suspect: Suspect | null; readonly againAt: number } {
  let againAt = Infinity;
  for (const maker of seen.makers) {
    for (const part of partsOf(maker, seen)) {
      const one = judgePart(part);
      if (one.suspect !== null) return { suspect: one.suspect, againAt };
      againAt = Math.min(againAt, one.againAt);
    }
  }
  return { suspect: null, againAt };
}

/**
 * Returns what keeps a release from being ready when its time is over. Includes parts that might still recover. Pure.
 */
export function lastSuspect(seen: SeenRelease): Suspect | null {
  const pods = seen.pods.filter((pod) => !isMadeGood(pod, seen.pods));
  const final = judgeRelease({ ...seen, pods, now: Infinity }).suspect;
  if (final !== null) return final;
  for (const maker of seen.makers) {
    for (const pod of pods.filter((one) => isMadeBy(one, maker))) {
      for (const container of containersOf(pod)) {
        const suspicion = unreadiness(pod, container, seen.events);
        if (suspicion !== null) return { what: wordsFor(maker, pod, container), suspicion, container };
      }
    }
  }
  return null;
}

interface Judged {
  readonly suspect: Suspect | null;
  readonly againAt: number;
}

/** A container of a pod of a controller, or a controller that has created no pod. */
interface Part {
  readonly what: string;
  readonly container: Container | null;
  /** Each container is judged as if it were the only one, as in Davit's own pods. */
  readonly seen: InstanceFacts;
}

/** Returns the faults of all parts of a release. Pure. */
export function faultsOf(seen: SeenRelease): (Fault | null)[] {
  return seen.makers.flatMap((maker) => partsOf(maker, seen)).map((part) => faultOf(part.seen));
}

function partsOf(maker: Maker, release: SeenRelease): Part[] {
  const { faults, began, now } = release;
  const own = release.pods.filter((pod) => isMadeBy(pod, maker) && pod.metadata?.deletionTimestamp === undefined);
  if (own.length === 0) {
    const what = `${maker.kind} ${maker.name}`;
    const events = release.events.filter(({ involvedObject }) => isOf(involvedObject, maker));
    return [{ what, container: null, seen: { name: what, pod: null, events, faults, began, now } }];
  }
  return own.flatMap((pod) => {
    const events = release.events.filter(({ involvedObject }) => involvedObject.name === pod.metadata?.name);
    return containersOf(pod).map((container) => {
      const what = wordsFor(maker, pod, container);
      const one = { pod: onlyContainer(pod, container.name), container: container.name };
      return { what, container, seen: { name: what, ...one, events, faults, began, now } };
    });
  });
}

/** Alphabet of the hash at the end of a ReplicaSet's name (SafeEncodeString of k8s.io/apimachinery). */
const hash = /^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/;

/**
 * Returns whether an event concerns a controller or its ReplicaSet. Excludes other controllers whose names have the
 * same prefix.
 */
function isOf({ kind, name: about = '' }: Event['involvedObject'], { kind: own, name }: Maker): boolean {
  if (kind === own) return about === name;
  return own === 'Deployment' && kind === 'ReplicaSet' && about.startsWith(`${name}-`) && hash.test(about.slice(name.length + 1));
}

function judgePart({ what, container, seen }: Part): Judged {
  const judgement = judgeBegin(seen);
  const suspicion = judgement.type === 'FAILED' ? judgement.suspicion : crashes(seen, container);
  const suspect = suspicion === null ? null : { what, suspicion, container };
  return { suspect, againAt: judgement.type === 'WAIT' ? judgement.againAt : Infinity };
}

function crashes({ pod }: InstanceFacts, container: Container | null): Suspicion | null {
  if (pod === null || container === null) return null;
  const { restartCount = 0, state } = mainStatus(pod) ?? {};
  if (restartCount < maxRestarts || state?.waiting?.reason !== 'CrashLoopBackOff') return null;
  return { type: 'ENDED', pod, container: container.name };
}

/** Returns whether a pod is an earlier attempt of a Job that has succeeded since. */
function isMadeGood(pod: Pod, pods: readonly Pod[]): boolean {
  const [owner] = pod.metadata?.ownerReferences ?? [];
  if (owner?.kind !== 'Job' || pod.status?.phase === 'Succeeded') return false;
  const made = pod.metadata?.creationTimestamp ?? '';
  return pods.some(({ metadata, status }) => {
    const isOfJob = metadata?.ownerReferences?.[0]?.uid === owner.uid;
    return isOfJob && status?.phase === 'Succeeded' && (metadata?.creationTimestamp ?? '') > made;
  });
}

function unreadiness(pod: Pod, container: Container, events: readonly Event[]): Suspicion | null {
  const status = statusOf(pod, container.name);
  // Earlier exits do not count: charts are written so that one part exits until another part is up, and Helm may have
  // failed because of a third part.
  if (status?.ready === true || pod.status?.phase === 'Succeeded') return null;
  const end = lastEnd(status);
  const own = onlyContainer(pod, container.name);
  if (end !== undefined && (end.exitCode !== 0 || (status?.restartCount ?? 0) > 0))
    return { type: 'ENDED', pod: own, container: container.name };
  if (status?.state?.terminated !== undefined || status === undefined) return null;
  const about = events.filter(({ involvedObject }) => involvedObject.name === pod.metadata?.name);
  return { type: 'UNREADY', pod: own, events: about, container: container.name };
}

function containersOf({ spec }: Pod): Container[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
}

function wordsFor({ kind, name }: Maker, { metadata, spec }: Pod, container: Container): string {
  const inside =
    (spec?.containers.length ?? 0) + (spec?.initContainers?.length ?? 0) > 1 ? `container ${container.name} of ` : '';
  return `${kind} ${name}, ${inside}pod ${metadata?.name}`;
}
