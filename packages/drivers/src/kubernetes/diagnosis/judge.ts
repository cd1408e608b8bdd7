import type { Container, ContainerStatus, Event, Pod } from 'kubernetes-types/core/v1.js';
import { withoutReferences } from '../../shared/image-words.ts';
import type { Workload } from '../../workload.ts';
import { meaningOf } from '../client/meanings.ts';
import { isRejected, lastEnd, mainStatus } from '../instances/instances.ts';
import { helperContainer, mainContainer } from '../manifests/pod.ts';
import { label } from '../names/labels.ts';
import type { Suspicion } from './failures.ts';

/** What is known of one instance. */
export interface Seen {
  readonly name: string;
  /** Null: none was made yet. */
  readonly pod: Pod | null;
  /** The name of the one container that the pod is here (see `alone`). Absent: the `mainContainer`, and the helper where it has one. */
  readonly container?: string;
  /** About the instance's pods, and what makes them. */
  readonly events: readonly Event[];
  /** How many of its pods a node refused, or gave up, before their process began. Absent: it is not waited for one pod alone. */
  readonly rejected?: number;
  /** When the first of them was seen. Absent: when the waiting began. */
  readonly rejectedSince?: number | undefined;
  /** When its present process was first seen to run, by the clock of this machine, as nodes have their own. Absent: now. */
  readonly runningSince?: number | undefined;
  /** When the faults that last were first seen, by their ids and the same clock. Absent: when the waiting began. */
  readonly faults?: ReadonlyMap<string, number> | undefined;
  /** When the waiting began, and now; in milliseconds since 1970. */
  readonly began: number;
  readonly now: number;
}

export type Judgement =
  | { readonly type: 'DONE' }
  | { readonly type: 'FAILED'; readonly suspicion: Suspicion }
  /** Nothing to say before something changes, or the time comes (Infinity: only a change matters). */
  | { readonly type: 'WAIT'; readonly againAt: number };

/** What keeps an instance from beginning. Its time counts from when it was first seen: a node that comes late may fail at first, too. */
export interface Fault {
  /** Stays the same for as long as the same pod has the same kind of fault. */
  readonly id: string;
  /** For how long it may last until it is taken for one that stays. */
  readonly milliseconds: number;
  readonly suspicion: Suspicion;
}

/** For how long a cluster may look for room: the scheduler tries again, and a cluster that grows by itself says so. */
const scheduleMilliseconds = 60_000;
const growMilliseconds = 600_000;
/** For how long nodes may try to reach a registry, or to attach a volume, again. */
const registryMilliseconds = 60_000;
/** So many refusals of a registry are none of a node that had no credentials yet. */
const knowingDenials = 2;
const volumeMilliseconds = 120_000;
/** For how long a node may try to make the pod itself: its network, its place. */
const sandboxMilliseconds = 120_000;
/** After this a node that has not even done so, and does not say why, is taken for one that never will. Pulls begin later. */
const silentMilliseconds = 600_000;
/** For how long a node may try to start a container again, which it does after 10 to 15 s. */
const unstartableMilliseconds = 20_000;
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
  if (seen.pod !== null && isRejected(seen.pod)) return judgeRejected(seen, seen.pod);
  return judgeFault(faultOf(seen), seen);
}

/** The same, where it is known what keeps it from beginning. Pure. */
export function judgeFault(fault: Fault | null, seen: Seen): Judgement {
  const { pod, faults, began, now } = seen;
  if (fault === null) return pod !== null && hasBegun(pod) && hasHelper(seen, pod) ? { type: 'DONE' } : waitUntil(Infinity);
  const until = (faults?.get(fault.id) ?? began) + fault.milliseconds;
  return now < until ? waitUntil(until) : failed(fault.suspicion);
}

function hasBegun(pod: Pod): boolean {
  return hasRun(mainStatus(pod));
}

function hasRun(status: ContainerStatus | undefined): boolean {
  return status?.state?.running !== undefined || lastEnd(status) !== undefined;
}

/** Whether what the process leaves in its folders is held, where a helper is to hold it. In a pod that is over nothing begins any more. */
function hasHelper(seen: Seen, pod: Pod): boolean {
  return helperOf(seen, pod) === undefined || isOver(pod) || hasRun(statusOf(pod, helperContainer));
}

/** Pods of charts may have a container of that name, and it is none; those that Davit made before there were helpers have none. */
function helperOf({ container }: Seen, { spec }: Pod): Container | undefined {
  if (container !== undefined) return undefined;
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].find(({ name }) => name === helperContainer);
}

/** Whether no container of a pod is started any more. Pure. */
export function isOver({ metadata, status }: Pod): boolean {
  return metadata?.deletionTimestamp !== undefined || status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

/** Pure. */
export function statusOf({ status }: Pod, name: string): ContainerStatus | undefined {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find((one) => one.name === name);
}

/** A pod as if that container were the only one, and the `mainContainer`. Pure. */
export function alone(pod: Pod, name: string): Pod {
  const status = statusOf(pod, name);
  const containerStatuses = status === undefined ? [] : [{ ...status, name: mainContainer }];
  return { ...pod, status: { ...pod.status, containerStatuses } };
}

/** What keeps an instance from beginning; null: nothing that is known. Of a pod that a node refused it is told by `judgeBegin`. Pure. */
export function faultOf(seen: Seen): Fault | null {
  const { pod } = seen;
  if (pod === null) return unmade(seen);
  if (hasBegun(pod)) return refusedProgram(seen, pod) ?? helperFault(seen, pod);
  if (isRejected(pod)) return null;
  if (isUnscheduled(pod)) return unscheduled(seen, pod);
  return heldUp(seen, pod) ?? helperFault(seen, pod) ?? (isMade(seen, pod) ? null : making(seen, pod));
}

/**
 * What keeps the helper from running. Without it a process may do its work and nobody ever reads what it left; and one whose helper
 * has to run first waits for it as long as it may.
 */
function helperFault(seen: Seen, pod: Pod): Fault | null {
  const helper = helperOf(seen, pod);
  if (helper === undefined || statusOf(pod, helperContainer)?.state?.running !== undefined) return null;
  const own = alone(pod, helperContainer);
  // By another name, so that its fault has a time of its own.
  const view = { ...seen, name: `${seen.name} ${helperContainer}`, container: helperContainer, pod: own };
  const fault = refusedProgram(view, own) ?? (isOver(pod) ? null : heldUp(view, own));
  if (fault?.suspicion.type !== 'IMAGE' && fault?.suspicion.type !== 'UNSTARTABLE') return fault;
  return { ...fault, suspicion: { ...fault.suspicion, helper: helper.image ?? '' } };
}

/** Since when each fault has been seen: those of before that last, and new ones from now on. Pure. */
export function lasting(
  before: ReadonlyMap<string, number>,
  faults: readonly (Fault | null)[],
  now: number,
): ReadonlyMap<string, number> {
  const lasts = new Map<string, number>();
  for (const fault of faults) if (fault !== null) lasts.set(fault.id, before.get(fault.id) ?? now);
  return lasts;
}

/** `milliseconds`: 0 for what does not pass. `kind` tells apart what is waited for one after the other. Pure. */
export function toFault({ name, pod }: Seen, milliseconds: number, suspicion: Suspicion, kind: string = suspicion.type): Fault {
  return { id: [name, pod?.metadata?.uid ?? '', kind].join(' '), milliseconds, suspicion };
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
  if (now < deadline) return waitUntil(Math.min(deadline, started.type === 'WAIT' ? started.againAt : Infinity));
  return failed(ends > 0 ? { type: 'ENDED', pod } : { type: 'UNREADY', pod, events: seen.events });
}

function judgeSteady({ ports, readiness }: Workload, { now, runningSince = now }: Seen): Judgement {
  if (readiness !== null || ports.some(({ protocol }) => protocol !== 'UDP')) return { type: 'DONE' };
  const steadyAt = runningSince + steadyMilliseconds;
  return now < steadyAt ? waitUntil(steadyAt) : { type: 'DONE' };
}

/** The controller makes no pod: the cluster refuses to have it. */
function unmade(seen: Seen): Fault | null {
  const refusal = seen.events.find(({ reason }) => reason === 'FailedCreate');
  if (refusal === undefined) return null;
  const { message: words = '' } = refusal;
  const known = meaningOf(words);
  // A policy does not change its mind; a quota is free again when others have ended; a webhook that is away is started again.
  if (known?.cause === 'ADMISSION_REFUSED') return toFault(seen, 0, { type: 'REFUSED', words });
  return toFault(seen, known?.retryable === true ? awayMilliseconds : refusalMilliseconds, { type: 'REFUSED', words });
}

/**
 * The Job of a run makes no other pod, that of a schedule's run may, what makes those of services does: such a one is given up when it has gone on
 * for a while.
 */
function judgeRejected({ rejected = 0, began, rejectedSince = began, now }: Seen, pod: Pod): Judgement {
  const isOfJob = pod.spec?.restartPolicy === 'Never';
  if (rejected < (isOfJob ? 1 : mostEnds)) return waitUntil(Infinity);
  const until = rejectedSince + (isOfJob && pod.metadata?.labels?.[label.schedule] === undefined ? 0 : scheduleMilliseconds);
  return now < until ? waitUntil(until) : failed(rejection(pod, false));
}

/** Why a pod that `isRejected` is. Pure. */
export function rejection({ status }: Pod, isFinal: boolean): Extract<Suspicion, { readonly type: 'REJECTED' }> {
  return { type: 'REJECTED', reason: status?.reason ?? 'Failed', words: status?.message ?? '', isFinal };
}

function isUnscheduled(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'PodScheduled' && status === 'False') === true;
}

function unscheduled(seen: Seen, pod: Pod): Fault {
  const grows = seen.events.some(({ reason }) => reason === 'TriggeredScaleUp' || reason === 'Nominated');
  const condition = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const words = condition?.message ?? 'the scheduler does not say why';
  return toFault(seen, grows ? growMilliseconds : scheduleMilliseconds, { type: 'UNSCHEDULED', words });
}

/** What keeps a container from being started, by the kubelet's reason. */
function heldUp(seen: Seen, pod: Pod): Fault | null {
  const { reason = '', message = '' } = mainStatus(pod)?.state?.waiting ?? {};
  switch (reason) {
    case 'ErrImagePull':
    case 'ImagePullBackOff':
    case 'ErrImageNeverPull':
    case 'InvalidImageName':
    case 'RegistryUnavailable':
      return withoutImage(reason, message, { seen, pod });
    case 'CreateContainerConfigError':
    case 'CreateContainerError':
    case 'RunContainerError':
      return unstartable(reason, message, seen);
    default:
      return null;
  }
}

/** A node tries again what its runtime could not do; a program that is not there, or must not run as it would, stays so. */
function unstartable(reason: string, words: string, seen: Seen): Fault {
  const stays =
    /runAsNonRoot|run as root|no such file|executable file|exec: \S+ not found|exec format|permission denied|no command specified/i.test(
      words,
    );
  return toFault(seen, stays ? 0 : unstartableMilliseconds, { type: 'UNSTARTABLE', reason, words });
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

/** How often a registry refused the same; nodes count what they say again. */
function denials(events: readonly Event[], images: readonly string[]): number {
  const denied = events.filter(({ reason, message = '' }) => reason === 'Failed' && imageFault(message, images) === 'DENIED');
  return Math.max(0, ...denied.map(({ count, series }) => series?.count ?? count ?? 1));
}

/** What is said of a pod, without what is said of another one of its containers alone: the kubelet names the field. */
function eventsOf({ events, container = mainContainer }: Seen): Event[] {
  return events.filter(({ involvedObject: { fieldPath = '' } }) => {
    const name = /\{(.+)\}$/.exec(fieldPath)?.[1];
    return name === undefined || name === container;
  });
}

function withoutImage(reason: string, message: string, { seen, pod }: { readonly seen: Seen; readonly pod: Pod }): Fault {
  const events = eventsOf(seen);
  const images = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])].map(({ image = '' }) => image);
  // While it waits for the next attempt, a node says no more than that; the warning of the attempt says why.
  const told = events
    .filter(({ reason }) => reason === 'Failed' || reason === 'InspectFailed')
    .map((event) => event.message ?? '');
  const words = [message, ...told.toReversed()].find((one) => imageFault(one, images) !== null) ?? message;
  const fault = reason === 'ErrImageNeverPull' || reason === 'InvalidImageName' ? 'MISSING' : imageFault(words, images);
  // A node may hear of a pod before it may read the pod's Secret, and then pulls without credentials; when it tries again, after ten seconds, it has them.
  const mayLackCredentials =
    fault === 'DENIED' && (pod.spec?.imagePullSecrets ?? []).length > 0 && denials(events, images) < knowingDenials;
  const passes = fault === null || fault === 'UNREACHABLE' || mayLackCredentials;
  return toFault(seen, passes ? registryMilliseconds : 0, { type: 'IMAGE', fault: fault ?? 'UNREACHABLE', words });
}

/** The container has ended without its process having begun: the kernel refused the program, or the runtime could not start it then. */
function refusedProgram(seen: Seen, pod: Pod): Fault | null {
  const status = mainStatus(pod);
  const end = lastEnd(status);
  // Another start has succeeded since.
  if (status?.state?.running !== undefined) return null;
  if (end?.reason !== 'StartError' && end?.reason !== 'ContainerCannotRun') return null;
  if (end.message !== undefined) return unstartable(end.reason, end.message, seen);
  return toFault(seen, 0, { type: 'UNSTARTABLE', reason: end.reason, words: `exit code ${end.exitCode}` });
}

/** Whether the pod has its volumes and its network, so that images are pulled: what was said before has passed. */
export function isMade({ events }: Pick<Seen, 'events'>, pod: Pod): boolean {
  return conditionOf(pod) === 'True' || events.some(({ reason }) => reason === 'Pulling' || reason === 'Pulled');
}

/** Of nodes older than Kubernetes 1.29 nothing. */
function conditionOf({ status }: Pod): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'PodReadyToStartContainers')?.status;
}

function making(seen: Seen, pod: Pod): Fault | null {
  return withoutVolume(seen) ?? withoutSandbox(seen) ?? silence(seen, pod);
}

function withoutSandbox(seen: Seen): Fault | null {
  const reasons = /^(?:FailedCreatePodSandBox|FailedCreatePodContainer|FailedMakePodDataDirectories|NetworkNotReady)$/;
  const said = seen.events.findLast(({ reason }) => reasons.test(reason ?? ''));
  if (said === undefined) return null;
  return toFault(seen, sandboxMilliseconds, { type: 'UNMADE', reason: said.reason ?? '', words: said.message ?? '' });
}

function silence(seen: Seen, pod: Pod): Fault | null {
  const { spec, status } = pod;
  const isSilent = status?.startTime === undefined || conditionOf(pod) === 'False';
  if (spec?.nodeName === undefined || !isSilent) return null;
  const words = 'the node has not begun to make it, and does not say why';
  return toFault(seen, silentMilliseconds, { type: 'UNMADE', reason: spec.nodeName, words }, 'SILENCE');
}

function withoutVolume(seen: Seen): Fault | null {
  const said = seen.events.find(({ reason }) => /^(?:FailedMount|FailedAttachVolume|ProvisioningFailed)$/.test(reason ?? ''));
  return said === undefined ? null : toFault(seen, volumeMilliseconds, { type: 'VOLUME', words: said.message ?? '' });
}

function waitUntil(againAt: number): Judgement {
  return { type: 'WAIT', againAt };
}

function failed(suspicion: Suspicion): Judgement {
  return { type: 'FAILED', suspicion };
}
