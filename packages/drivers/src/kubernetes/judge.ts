import type { ContainerStatus, Event, Pod } from 'kubernetes-types/core/v1.js';
import type { Workload } from '../workload.ts';
import { withoutReferences } from '../shared/image-words.ts';
import type { Suspicion } from './failures.ts';
import { isRejected, lastEnd, mainStatus } from './instances.ts';
import { label } from './labels.ts';
import { meaningOf } from './refusals.ts';

/** What is known of one instance. */
export interface Seen {
  readonly name: string;
  /** Null: none was made yet. */
  readonly pod: Pod | null;
  /** About the instance's pods, and what makes them. */
  readonly events: readonly Event[];
  /** How many of its pods a node refused, or gave up, before their process began. Absent: it is not waited for one pod alone. */
  readonly rejected?: number;
  /** When its present process was first seen to run, by the clock of this machine, as nodes have their own. Absent: now. */
  readonly runningSince?: number | undefined;
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
/** For how long a node may try to make the pod itself: its network, its place. */
const sandboxMilliseconds = 120_000;
/** After this a node that has not even done so, and does not say why, is taken for one that never will. Pulls begin later. */
const silentMilliseconds = 600_000;
/** For how long a quota or policy may refuse the pods of an instance: others may be on their way out. */
const refusalMilliseconds = 10_000;
/** For how long what the API server asks before it takes a pod may be away. */
const awayMilliseconds = 60_000;
/** After so many ends an instance is given up: it was started again twice. */
const mostEnds = 3;
/** How long a workload without ports and probe must run. */
const steadyMilliseconds = 1000;

/** Whether the process of an instance has been started. Pure. */
export function judgeStart(_: Workload, seen: Seen): Judgement {
  return judgeBegin(seen);
}

/** The same of any pod with a `mainContainer`. Pure. */
export function judgeBegin(seen: Seen): Judgement {
  const { pod } = seen;
  if (pod === null) return judgeUnmade(seen);
  const status = mainStatus(pod);
  if (status?.state?.running || lastEnd(status)) return judgeRefusedProgram(status) ?? { type: 'DONE' };
  if (isRejected(pod)) return judgeRejected(seen, pod);
  if (isUnscheduled(pod)) return judgeUnscheduled(seen, pod);
  return judgeWaiting(status, seen) ?? (isMade(seen, pod) ? waitUntil(Infinity) : judgeMaking(seen, pod));
}

/** Whether an instance is ready. Pure. */
export function judgeReady(workload: Workload, seen: Seen): Judgement {
  const { pod, began, now } = seen;
  const started = judgeStart(workload, seen);
  if (started.type === 'FAILED' || pod === null) return started;
  const status = mainStatus(pod);
  // Ready counts, whatever was before: an instance that is adopted may have ended many times in its life.
  const isReady = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
  if (isReady && status?.state?.running) return judgeSteady(workload, seen);
  const ends = (status?.restartCount ?? 0) + (status?.state?.running ? 0 : lastEnd(status) ? 1 : 0);
  if (lastEnd(status)?.reason === 'OOMKilled' || ends >= mostEnds) return failed({ type: 'ENDED', pod });
  const deadline = began + workload.readyTimeoutSeconds * 1000;
  if (now < deadline) return waitUntil(deadline);
  return failed(ends > 0 ? { type: 'ENDED', pod } : { type: 'UNREADY', pod, events: seen.events });
}

function judgeSteady({ ports, readiness }: Workload, { now, runningSince = now }: Seen): Judgement {
  if (readiness !== null || ports.some(({ protocol }) => protocol !== 'UDP')) return { type: 'DONE' };
  const steadyAt = runningSince + steadyMilliseconds;
  return now < steadyAt ? waitUntil(steadyAt) : { type: 'DONE' };
}

/** The controller makes no pod: the cluster refuses to have it. */
function judgeUnmade({ events, began, now }: Seen): Judgement {
  const refusal = events.find(({ reason }) => reason === 'FailedCreate');
  if (refusal === undefined) return waitUntil(Infinity);
  const known = meaningOf(refusal.message ?? '');
  // A policy does not change its mind; a quota is free again when others have ended; a webhook that is away is started again.
  const until = began + (known?.retryable === true ? awayMilliseconds : refusalMilliseconds);
  if (known?.cause === 'ADMISSION_REFUSED' || now >= until) return failed({ type: 'REFUSED', words: refusal.message ?? '' });
  return waitUntil(until);
}

/**
 * The Job of a run makes no other pod, that of a schedule's run may, what makes those of services does: such a one is given up when it has gone on
 * for a while.
 */
function judgeRejected({ rejected = 0, began, now }: Seen, pod: Pod): Judgement {
  const isOfJob = pod.spec?.restartPolicy === 'Never';
  if (rejected < (isOfJob ? 1 : mostEnds)) return waitUntil(Infinity);
  const until = began + (isOfJob && pod.metadata?.labels?.[label.schedule] === undefined ? 0 : scheduleMilliseconds);
  return now < until ? waitUntil(until) : failed(rejection(pod, false));
}

/** Why a pod that `isRejected` is. Pure. */
export function rejection({ status }: Pod, isFinal: boolean): Extract<Suspicion, { readonly type: 'REJECTED' }> {
  return { type: 'REJECTED', reason: status?.reason ?? 'Failed', words: status?.message ?? '', isFinal };
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

/** What a node says of an image that it cannot have, whatever those that it may speak of are called. Pure. */
export function imageFault(
  said: string,
  images: readonly string[] = [],
): 'MISSING' | 'NOT_FOUND' | 'DENIED' | 'UNREACHABLE' | null {
  const words = withoutReferences(said, images);
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

function judgeImage(reason: string, message: string, { pod, events, began, now }: Seen): Judgement {
  const images = [...(pod?.spec?.initContainers ?? []), ...(pod?.spec?.containers ?? [])].map(({ image = '' }) => image);
  // While it waits for the next attempt, a node says no more than that; the warning of the attempt says why.
  const told = events
    .filter(({ reason }) => reason === 'Failed' || reason === 'InspectFailed')
    .map((event) => event.message ?? '');
  const words = [message, ...told.toReversed()].find((one) => imageFault(one, images) !== null) ?? message;
  const fault = reason === 'ErrImageNeverPull' || reason === 'InvalidImageName' ? 'MISSING' : imageFault(words, images);
  // A node may hear of a pod before it may read the pod's Secret, and then pulls without credentials; it tries again every ten seconds and more.
  const mayLackCredentials = fault === 'DENIED' && (pod?.spec?.imagePullSecrets ?? []).length > 0;
  const until = began + registryMilliseconds;
  if ((fault === null || fault === 'UNREACHABLE' || mayLackCredentials) && now < until) return waitUntil(until);
  return failed({ type: 'IMAGE', fault: fault ?? 'UNREACHABLE', words });
}

/** The kernel refused the program: the container has ended without its process having begun. */
function judgeRefusedProgram(status: ContainerStatus | undefined): Judgement | null {
  const end = lastEnd(status);
  if (end?.reason !== 'StartError' && end?.reason !== 'ContainerCannotRun') return null;
  return failed({ type: 'UNSTARTABLE', reason: end.reason, words: end.message ?? `exit code ${end.exitCode}` });
}

/** Whether the pod has its volumes and its network, so that images are pulled: what was said before has passed. */
function isMade({ events }: Seen, pod: Pod): boolean {
  return conditionOf(pod) === 'True' || events.some(({ reason }) => reason === 'Pulling' || reason === 'Pulled');
}

/** Of nodes older than Kubernetes 1.29 nothing. */
function conditionOf({ status }: Pod): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'PodReadyToStartContainers')?.status;
}

function judgeMaking(seen: Seen, pod: Pod): Judgement {
  return judgeVolume(seen) ?? judgeSandbox(seen) ?? judgeSilence(seen, pod) ?? waitUntil(Infinity);
}

function judgeSandbox({ events, began, now }: Seen): Judgement | null {
  const reasons = /^(?:FailedCreatePodSandBox|FailedCreatePodContainer|FailedMakePodDataDirectories|NetworkNotReady)$/;
  const fault = events.findLast(({ reason }) => reasons.test(reason ?? ''));
  if (fault === undefined) return null;
  const until = began + sandboxMilliseconds;
  if (now < until) return waitUntil(until);
  return failed({ type: 'UNMADE', reason: fault.reason ?? '', words: fault.message ?? '' });
}

function judgeSilence({ began, now }: Seen, pod: Pod): Judgement | null {
  const { metadata, spec, status } = pod;
  const isSilent = status?.startTime === undefined || conditionOf(pod) === 'False';
  if (spec?.nodeName === undefined || !isSilent) return null;
  const made = Date.parse(metadata?.creationTimestamp ?? '') || 0;
  const until = Math.max(began, made) + silentMilliseconds;
  if (now < until) return waitUntil(until);
  return failed({ type: 'UNMADE', reason: spec.nodeName, words: 'the node has not begun to make it, and does not say why' });
}

function judgeVolume({ events, began, now }: Seen): Judgement | null {
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
