import type { ContainerStatus, Event, Pod } from 'kubernetes-types/core/v1.js';
import type { Workload } from '../workload.ts';
import type { Suspicion } from './failures.ts';
import { lastEnd, mainStatus } from './instances.ts';
import { meaningOf } from './refusals.ts';

/** What is known of one instance. */
export interface Seen {
  readonly name: string;
  /** Null: none was made yet. */
  readonly pod: Pod | null;
  /** About the instance's pods, and what makes them. */
  readonly events: readonly Event[];
  /** When the waiting began, and now; in milliseconds since 1970. */
  readonly began: number;
  readonly now: number;
}

export type Judgement =
  | { readonly type: 'DONE' }
  | { readonly type: 'FAILED'; readonly suspicion: Suspicion }
  /** Nothing to say before something changes, or the time comes (Infinity: only a change matters). */
  | { readonly type: 'WAIT'; readonly againAt: number };

/** For how long a cluster may look for room: the scheduler tries again, and a cluster that grows by itself says so. */
const scheduleMilliseconds = 60_000;
const growMilliseconds = 600_000;
/** For how long nodes may try to reach a registry, or to attach a volume, again. */
const registryMilliseconds = 60_000;
const volumeMilliseconds = 120_000;
/** For how long a quota or policy may refuse the pods of an instance: others may be on their way out. */
const refusalMilliseconds = 10_000;
/** After so many ends an instance is given up: it was started again twice. */
const mostEnds = 3;
/** How long a workload without ports and probe must run: a second, and another one as Kubernetes tells times in whole ones. */
const steadyMilliseconds = 2000;

/** Whether the process of an instance has been started. Pure. */
export function judgeStart(_: Workload, seen: Seen): Judgement {
  return judgeBegin(seen);
}

/** The same of any pod with a `mainContainer`. Pure. */
export function judgeBegin(seen: Seen): Judgement {
  const { pod, began, now } = seen;
  if (pod === null) return judgeUnmade(seen);
  const status = mainStatus(pod);
  if (status?.state?.running || lastEnd(status)) return judgeRefusedProgram(status) ?? { type: 'DONE' };
  if (isUnscheduled(pod)) return judgeUnscheduled(seen, pod);
  return judgeWaiting(status, seen) ?? judgeVolume(seen, began, now) ?? waitUntil(Infinity);
}

/** Whether an instance is ready. Pure. */
export function judgeReady(workload: Workload, seen: Seen): Judgement {
  const { pod, began, now } = seen;
  const started = judgeStart(workload, seen);
  if (started.type === 'FAILED' || pod === null) return started;
  const status = mainStatus(pod);
  // Ready counts, whatever was before: an instance that is adopted may have ended many times in its life.
  const isReady = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
  if (isReady && status?.state?.running) return judgeSteady(workload, status, now);
  const ends = (status?.restartCount ?? 0) + (status?.state?.running ? 0 : lastEnd(status) ? 1 : 0);
  if (lastEnd(status)?.reason === 'OOMKilled' || ends >= mostEnds) return failed({ type: 'ENDED', pod });
  const deadline = began + workload.readyTimeoutSeconds * 1000;
  if (now < deadline) return waitUntil(deadline);
  return failed(ends > 0 ? { type: 'ENDED', pod } : { type: 'UNREADY', pod, events: seen.events });
}

function judgeSteady({ ports, readiness }: Workload, status: ContainerStatus, now: number): Judgement {
  if (readiness !== null || ports.some(({ protocol }) => protocol !== 'UDP')) return { type: 'DONE' };
  const steadyAt = Date.parse(String(status.state?.running?.startedAt)) + steadyMilliseconds;
  return now < steadyAt ? waitUntil(steadyAt) : { type: 'DONE' };
}

/** The controller makes no pod: the cluster refuses to have it. */
function judgeUnmade({ events, began, now }: Seen): Judgement {
  const refusal = events.find(({ reason }) => reason === 'FailedCreate');
  if (refusal === undefined) return waitUntil(Infinity);
  const known = meaningOf(refusal.message ?? '');
  // A policy does not change its mind; a quota is free again when others have ended.
  if (known?.cause === 'ADMISSION_REFUSED' || now >= began + refusalMilliseconds)
    return failed({ type: 'REFUSED', words: refusal.message ?? '' });
  return waitUntil(began + refusalMilliseconds);
}

function isUnscheduled(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'PodScheduled' && status === 'False') === true;
}

function judgeUnscheduled({ events, began, now }: Seen, pod: Pod): Judgement {
  const grows = events.some(({ reason }) => reason === 'TriggeredScaleUp' || reason === 'Nominated');
  const until = began + (grows ? growMilliseconds : scheduleMilliseconds);
  if (now < until) return waitUntil(until);
  const condition = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  return failed({ type: 'UNSCHEDULED', words: condition?.message ?? 'the scheduler does not say why' });
}

/** What keeps a container from being started, by the kubelet's reason. */
function judgeWaiting(status: ContainerStatus | undefined, seen: Seen): Judgement | null {
  const { reason = '', message = '' } = status?.state?.waiting ?? {};
  switch (reason) {
    case 'ErrImagePull':
    case 'ImagePullBackOff':
    case 'ErrImageNeverPull':
    case 'InvalidImageName':
    case 'RegistryUnavailable':
      return judgeImage(reason, message, seen);
    case 'CreateContainerConfigError':
    case 'CreateContainerError':
    case 'RunContainerError':
      return judgeUnstartable(reason, message, seen);
    default:
      return null;
  }
}

/** A node tries again what its runtime could not do; a program that is not there, or must not run as it would, stays so. */
function judgeUnstartable(reason: string, words: string, { began, now }: Seen): Judgement {
  const until = began + refusalMilliseconds;
  const stays = /runAsNonRoot|run as root|no such file|executable file|exec format|permission denied|no command specified/i.test(
    words,
  );
  return stays || now >= until ? failed({ type: 'UNSTARTABLE', reason, words }) : waitUntil(until);
}

/** What a node says of an image that it cannot have. Pure. */
export function imageFault(words: string): 'MISSING' | 'NOT_FOUND' | 'DENIED' | 'UNREACHABLE' | null {
  if (/ErrImageNeverPull|InvalidImageName|couldn't parse image name|invalid reference format/i.test(words)) return 'MISSING';
  if (/unauthorized|authentication required|denied|forbidden|no basic auth|\b40[13]\b/i.test(words)) return 'DENIED';
  if (/not found|manifest unknown|name unknown|no such image|\b404\b/i.test(words)) return 'NOT_FOUND';
  if (
    /dial tcp|no such host|timeout|connection refused|connection reset|x509|tls:|EOF|too many requests|\b(?:429|5\d\d)\b/i.test(
      words,
    )
  )
    return 'UNREACHABLE';
  return null;
}

function judgeImage(reason: string, message: string, { events, began, now }: Seen): Judgement {
  // While it waits for the next attempt, a node says no more than that; the warning of the attempt says why.
  const told = events
    .filter(({ reason }) => reason === 'Failed' || reason === 'InspectFailed')
    .map((event) => event.message ?? '');
  const words = [message, ...told.toReversed()].find((one) => imageFault(one) !== null) ?? message;
  const fault = reason === 'ErrImageNeverPull' || reason === 'InvalidImageName' ? 'MISSING' : imageFault(words);
  const until = began + registryMilliseconds;
  if ((fault === null || fault === 'UNREACHABLE') && now < until) return waitUntil(until);
  return failed({ type: 'IMAGE', fault: fault ?? 'UNREACHABLE', words });
}

/** The kernel refused the program: the container has ended without its process having begun. */
function judgeRefusedProgram(status: ContainerStatus | undefined): Judgement | null {
  const end = lastEnd(status);
  if (end?.reason !== 'StartError' && end?.reason !== 'ContainerCannotRun') return null;
  return failed({ type: 'UNSTARTABLE', reason: end.reason, words: end.message ?? `exit code ${end.exitCode}` });
}

function judgeVolume({ events }: Seen, began: number, now: number): Judgement | null {
  // Images are pulled once all volumes are there: what was said before has passed.
  if (events.some(({ reason }) => reason === 'Pulling' || reason === 'Pulled')) return null;
  const fault = events.find(({ reason }) => /^(?:FailedMount|FailedAttachVolume|ProvisioningFailed)$/.test(reason ?? ''));
  if (fault === undefined) return null;
  const until = began + volumeMilliseconds;
  return now < until ? waitUntil(until) : failed({ type: 'VOLUME', words: fault.message ?? '' });
}

function waitUntil(againAt: number): Judgement {
  return { type: 'WAIT', againAt };
}

function failed(suspicion: Suspicion): Judgement {
  return { type: 'FAILED', suspicion };
}
