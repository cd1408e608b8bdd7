import type { Container, ContainerStatus, Event, Pod } from 'kubernetes-types/core/v1.js';
import type { Suspicion } from '../failures.ts';
import { lastEnd } from '../instances.ts';
import { judgeBegin } from '../judge.ts';
import { mainContainer } from '../manifests/pod.ts';
import { isMadeBy, type Maker } from './members.ts';

/** What is known of the pods that come of a release. */
export interface SeenRelease {
  /** What makes pods, by what the chart says. */
  readonly makers: readonly Maker[];
  /** Those that came since the release was begun, with when they were seen first, in milliseconds since 1970. */
  readonly pods: readonly { readonly pod: Pod; readonly since: number }[];
  /** Since then. */
  readonly events: readonly Event[];
  readonly began: number;
  /** Infinity: nothing is waited for any more. */
  readonly now: number;
}

/** Why something of a release does not come up. */
export interface Suspect {
  /** For people: `Deployment web, container app of pod web-1`. */
  readonly what: string;
  readonly suspicion: Suspicion;
  /** Of the container; null: no pod is made. */
  readonly container: Pick<Container, 'name' | 'image' | 'resources'> | null;
}

/**
 * After so many starts a container is given up. More than of a service of Davit's own: charts are written so that one part ends again and
 * again until another one is there.
 */
const mostRestarts = 5;

/** What can be told of a release, and when to look again; `suspect`: what cannot become right by itself. Pure. */
export function judgeRelease(seen: SeenRelease): { readonly suspect: Suspect | null; readonly againAt: number } {
  let againAt = Infinity;
  for (const maker of seen.makers) {
    const own = seen.pods.filter(({ pod }) => isMadeBy(pod, maker) && pod.metadata?.deletionTimestamp === undefined);
    const judged =
      own.length === 0 ? [judgeUnmade(maker, seen)] : own.flatMap(({ pod, since }) => judgePod(maker, { pod, since }, seen));
    for (const one of judged) {
      if (one.suspect !== null) return { suspect: one.suspect, againAt };
      againAt = Math.min(againAt, one.againAt);
    }
  }
  return { suspect: null, againAt };
}

/** What keeps a release from being ready when the time is over: also what might still become right. Pure. */
export function lastSuspect(seen: SeenRelease): Suspect | null {
  const final = judgeRelease({ ...seen, now: Infinity }).suspect;
  if (final !== null) return final;
  for (const maker of seen.makers) {
    for (const { pod } of seen.pods.filter((one) => isMadeBy(one.pod, maker))) {
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

function judgeUnmade(maker: Maker, { events, began, now }: SeenRelease): Judged {
  const { kind, name } = maker;
  const about = events.filter(({ involvedObject }) => isOf(involvedObject, maker));
  const judgement = judgeBegin({ name, pod: null, events: about, began, now });
  const suspect =
    judgement.type === 'FAILED' ? { what: `${kind} ${name}`, suspicion: judgement.suspicion, container: null } : null;
  return { suspect, againAt: judgement.type === 'WAIT' ? judgement.againAt : Infinity };
}

/** Signs of the hash behind the name of a ReplicaSet (SafeEncodeString of k8s.io/apimachinery). */
const hash = /^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/;

/** Whether an event is about what makes pods, or about the ReplicaSet by which it does: not of another whose name begins as its own. */
function isOf({ kind, name: about = '' }: Event['involvedObject'], { kind: own, name }: Maker): boolean {
  if (kind === own) return about === name;
  return own === 'Deployment' && kind === 'ReplicaSet' && about.startsWith(`${name}-`) && hash.test(about.slice(name.length + 1));
}

function judgePod(maker: Maker, { pod, since }: SeenRelease['pods'][number], { events, now }: SeenRelease): Judged[] {
  const name = pod.metadata?.name ?? '';
  const about = events.filter(({ involvedObject }) => involvedObject.name === name);
  return containersOf(pod).map((container): Judged => {
    const what = wordsFor(maker, pod, container);
    // Each container as if it were the only one, as it is in the pods of Davit.
    const judgement = judgeBegin({ name, pod: alone(pod, container.name), events: about, began: since, now });
    if (judgement.type === 'FAILED') return { suspect: { what, suspicion: judgement.suspicion, container }, againAt: Infinity };
    const status = statusOf(pod, container.name);
    if ((status?.restartCount ?? 0) >= mostRestarts && status?.state?.waiting?.reason === 'CrashLoopBackOff') {
      return {
        suspect: { what, suspicion: { type: 'ENDED', pod: alone(pod, container.name), container: container.name }, container },
        againAt: Infinity,
      };
    }
    return { suspect: null, againAt: judgement.type === 'WAIT' ? judgement.againAt : Infinity };
  });
}

function unreadiness(pod: Pod, container: Container, events: readonly Event[]): Suspicion | null {
  const status = statusOf(pod, container.name);
  const end = lastEnd(status);
  const own = alone(pod, container.name);
  if (end !== undefined && (end.exitCode !== 0 || (status?.restartCount ?? 0) > 0))
    return { type: 'ENDED', pod: own, container: container.name };
  if (status?.ready === true || status?.state?.terminated !== undefined || status === undefined) return null;
  const about = events.filter(({ involvedObject }) => involvedObject.name === pod.metadata?.name);
  return { type: 'UNREADY', pod: own, events: about, container: container.name };
}

function containersOf({ spec }: Pod): Container[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
}

function statusOf({ status }: Pod, name: string): ContainerStatus | undefined {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find((one) => one.name === name);
}

function alone(pod: Pod, name: string): Pod {
  const status = statusOf(pod, name);
  const containerStatuses = status === undefined ? [] : [{ ...status, name: mainContainer }];
  return { ...pod, status: { ...pod.status, containerStatuses } };
}

function wordsFor({ kind, name }: Maker, { metadata, spec }: Pod, container: Container): string {
  const inside =
    (spec?.containers.length ?? 0) + (spec?.initContainers?.length ?? 0) > 1 ? `container ${container.name} of ` : '';
  return `${kind} ${name}, ${inside}pod ${metadata?.name}`;
}
