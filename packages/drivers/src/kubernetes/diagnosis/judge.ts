import type { Container, ContainerStatus, Event, Pod } from 'kubernetes-types/core/v1.js';
import { withoutReferences } from '../../shared/image-words.ts';
import type { Workload } from '../../workload.ts';
import { meaningOf } from '../client/meanings.ts';
import { isRejected, lastEnd, mainStatus } from '../instances/instances.ts';
import { helperContainer, mainContainer } from '../manifests/pod.ts';
import { label } from '../names/labels.ts';
import type { Suspicion } from './failures.ts';

/** The known state of one instance. */
export interface InstanceFacts {
  readonly name: string;
  /** Null if no pod has been created yet. */
  readonly pod: Pod | null;
  /**
   * Name of the only container in this view of the pod (see `alone`). If absent, the view has the `mainContainer`, and
   * the helper if the pod has one.
   */
  readonly container?: string;
  /** Events of the instance's pods and of their controllers. */
  readonly events: readonly Event[];
  /**
   * Number of pods that a node refused or gave up before their process started. If absent, the wait is not for a single
   * pod.
   */
  readonly rejected?: number;
  /** When the first rejected pod was seen. If absent, when the wait began. */
  readonly rejectedSince?: number | undefined;
  /**
   * When the current process was first seen running, by the clock of this machine, as nodes have their own clocks. If
   * absent, now.
   */
  readonly runningSince?: number | undefined;
  /** When each current fault was first seen, by fault id and by the same clock. If absent, when the wait began. */
  readonly faults?: ReadonlyMap<string, number> | undefined;
  /** When the wait began, and the current time, in milliseconds since 1970. */
  readonly began: number;
  readonly now: number;
}

export type Judgement =
  | { readonly type: 'DONE' }
  | { readonly type: 'FAILED'; readonly suspicion: Suspicion }
  /** No judgement until something changes or `againAt` is reached (Infinity: only a change matters). */
  | { readonly type: 'WAIT'; readonly againAt: number };

/**
 * A cause that keeps an instance from starting. Its time counts from when the fault was first seen, because a node that
 * joins late may also fail at first.
 */
export interface Fault {
  /** Unchanged as long as the same pod has the same kind of fault. */
  readonly id: string;
  /** How long the fault may last before it counts as permanent. */
  readonly milliseconds: number;
  readonly suspicion: Suspicion;
}

/**
 * How long a cluster may look for room. The scheduler retries. A cluster with an autoscaler reports that it grows, and
 * gets `growMilliseconds`.
 */
const scheduleMilliseconds = 60_000;
const growMilliseconds = 600_000;
/** How long nodes may retry to reach a registry, or to attach a volume. */
const registryMilliseconds = 60_000;
/** From this number on, refusals by a registry are not those of a node that had no credentials yet. */
const knowingDenials = 2;
const volumeMilliseconds = 120_000;
/** How long a node may try to set up the pod itself: its network and its folders. */
const sandboxMilliseconds = 120_000;
/**
 * How long a node may do none of this and give no reason. After that it counts as one that never will. Image pulls
 * begin later.
 */
const silentMilliseconds = 600_000;
/** Kind of the fault of such a node, the last word of the fault's id. */
export const silenceKind = 'SILENCE';
/** How long a node may retry to start a container. It retries after 10 to 15 s. */
const unstartableMilliseconds = 20_000;
/** How long a quota or policy may refuse the pods of an instance. Other pods may just be ending. */
const refusalMilliseconds = 10_000;
/** How long a webhook that the API server calls before it accepts a pod may be unreachable. */
const awayMilliseconds = 60_000;
/** Number of exits after which an instance is given up: it has been restarted twice by then. */
const maxEnds = 3;
/** How long a workload without ports and without a probe must run. */
const steadyMilliseconds = 1000;

/** Judges whether the process of an instance has started. Pure. */
export function judgeStart(_: Workload, seen: InstanceFacts): Judgement {
  return judgeBegin(seen);
}

/** Works like `judgeStart`, for any pod with a `mainContainer`. Pure. */
export function judgeBegin(seen: InstanceFacts): Judgement {
  if (seen.pod !== null && isRejected(seen.pod)) return judgeRejected(seen, seen.pod);
  return judgeFault(faultOf(seen), seen);
}

/** Works like `judgeBegin`, if the fault that prevents the start is known. Pure. */
export function judgeFault(fault: Fault | null, seen: InstanceFacts): Judgement {
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

/**
 * Returns whether the process's folders are held, if a helper must hold them. In a pod that is over, no container
 * starts any more.
 */
function hasHelper(seen: InstanceFacts, pod: Pod): boolean {
  return helperOf(seen, pod) === undefined || isOver(pod) || hasRun(statusOf(pod, helperContainer));
}

/**
 * Returns the helper of a pod. Pods of charts may have a container of that name that is not a helper. Pods that Davit
 * created before helpers existed have none.
 */
function helperOf({ container }: InstanceFacts, { spec }: Pod): Container | undefined {
  if (container !== undefined) return undefined;
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].find(({ name }) => name === helperContainer);
}

/** Returns whether no container of a pod is started any more. Pure. */
export function isOver({ metadata, status }: Pod): boolean {
  return metadata?.deletionTimestamp !== undefined || status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

/** Returns the status of a container or init container of a pod. Pure. */
export function statusOf({ status }: Pod, name: string): ContainerStatus | undefined {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find((one) => one.name === name);
}

/** Returns a view of a pod in which one container is the only one, named `mainContainer`. Pure. */
export function alone(pod: Pod, name: string): Pod {
  const status = statusOf(pod, name);
  const containerStatuses = status === undefined ? [] : [{ ...status, name: mainContainer }];
  return { ...pod, status: { ...pod.status, containerStatuses } };
}

/**
 * Returns the fault that keeps an instance from starting, or null if none is known. Pods that a node rejected are
 * handled by `judgeBegin`. Pure.
 */
export function faultOf(seen: InstanceFacts): Fault | null {
  const { pod } = seen;
  if (pod === null) return unmade(seen);
  if (hasBegun(pod)) return refusedProgram(seen, pod) ?? helperFault(seen, pod);
  if (isRejected(pod)) return null;
  if (isUnscheduled(pod)) return unscheduled(seen, pod);
  return heldUp(seen, pod) ?? helperFault(seen, pod) ?? (isMade(seen, pod) ? null : making(seen, pod));
}

/**
 * Returns the fault that keeps the helper from running. Without a helper, a process may do its work and nobody ever
 * reads its output. A process whose helper must start first waits for the helper as long as it is allowed to.
 */
function helperFault(seen: InstanceFacts, pod: Pod): Fault | null {
  const helper = helperOf(seen, pod);
  if (helper === undefined || statusOf(pod, helperContainer)?.state?.running !== undefined) return null;
  const own = alone(pod, helperContainer);
  // The different name gives the helper's fault a time of its own.
  const view = { ...seen, name: `${seen.name} ${helperContainer}`, container: helperContainer, pod: own };
  const fault = refusedProgram(view, own) ?? (isOver(pod) ? null : heldUp(view, own));
  if (fault?.suspicion.type !== 'IMAGE' && fault?.suspicion.type !== 'UNSTARTABLE') return fault;
  return { ...fault, suspicion: { ...fault.suspicion, helper: helper.image ?? '' } };
}

/** Returns when each fault was first seen: earlier times for faults that persist, `now` for new ones. Pure. */
export function lasting(
  before: ReadonlyMap<string, number>,
  faults: readonly (Fault | null)[],
  now: number,
): ReadonlyMap<string, number> {
  const lasts = new Map<string, number>();
  for (const fault of faults) if (fault !== null) lasts.set(fault.id, before.get(fault.id) ?? now);
  return lasts;
}

/**
 * Creates a fault. `milliseconds` is 0 for a permanent fault. `kind` separates faults whose waits follow each other.
 * Pure.
 */
export function toFault(
  { name, pod }: InstanceFacts,
  milliseconds: number,
  suspicion: Suspicion,
  kind: string = suspicion.type,
): Fault {
  return { id: [name, pod?.metadata?.uid ?? '', kind].join(' '), milliseconds, suspicion };
}

/** Judges whether an instance is ready. Pure. */
export function judgeReady(workload: Workload, seen: InstanceFacts): Judgement {
  const { pod, began, now } = seen;
  const started = judgeStart(workload, seen);
  if (started.type === 'FAILED' || pod === null) return started;
  const status = mainStatus(pod);
  // The condition Ready counts, whatever happened before: an adopted instance may have exited many times in its life.
  const isReady = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
  if (isReady && status?.state?.running) return judgeSteady(workload, seen);
  const ends = (status?.restartCount ?? 0) + (status?.state?.running ? 0 : lastEnd(status) ? 1 : 0);
  if (lastEnd(status)?.reason === 'OOMKilled' || ends >= maxEnds) return failed({ type: 'ENDED', pod });
  const deadline = began + workload.readyTimeoutSeconds * 1000;
  if (now < deadline) return waitUntil(Math.min(deadline, started.type === 'WAIT' ? started.againAt : Infinity));
  return failed(ends > 0 ? { type: 'ENDED', pod } : { type: 'UNREADY', pod, events: seen.events });
}

function judgeSteady({ ports, readiness }: Workload, { now, runningSince = now }: InstanceFacts): Judgement {
  if (readiness !== null || ports.some(({ protocol }) => protocol !== 'UDP')) return { type: 'DONE' };
  const steadyAt = runningSince + steadyMilliseconds;
  return now < steadyAt ? waitUntil(steadyAt) : { type: 'DONE' };
}

/** Returns the fault of a controller that creates no pod because the cluster refuses the pod. */
function unmade(seen: InstanceFacts): Fault | null {
  const refusal = seen.events.find(({ reason }) => reason === 'FailedCreate');
  if (refusal === undefined) return null;
  const { message: words = '' } = refusal;
  const known = meaningOf(words);
  // A policy refuses permanently. A quota becomes free when other pods end. An unreachable webhook is started again.
  if (known?.cause === 'ADMISSION_REFUSED') return toFault(seen, 0, { type: 'REFUSED', words });
  return toFault(seen, known?.retryable === true ? awayMilliseconds : refusalMilliseconds, { type: 'REFUSED', words });
}

/**
 * Judges a pod that a node rejected, by its controller:
 * - The Job of a run creates no other pod.
 * - The Job of a schedule's run may create another pod.
 * - The controllers of services create other pods. A service is given up when rejections have continued for a while.
 */
function judgeRejected({ rejected = 0, began, rejectedSince = began, now }: InstanceFacts, pod: Pod): Judgement {
  const isOfJob = pod.spec?.restartPolicy === 'Never';
  if (rejected < (isOfJob ? 1 : maxEnds)) return waitUntil(Infinity);
  const until = rejectedSince + (isOfJob && pod.metadata?.labels?.[label.schedule] === undefined ? 0 : scheduleMilliseconds);
  return now < until ? waitUntil(until) : failed(rejection(pod, false));
}

/** Returns the reason for which a pod `isRejected`. Pure. */
export function rejection({ status }: Pod, isFinal: boolean): Extract<Suspicion, { readonly type: 'REJECTED' }> {
  return { type: 'REJECTED', reason: status?.reason ?? 'Failed', words: status?.message ?? '', isFinal };
}

function isUnscheduled(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'PodScheduled' && status === 'False') === true;
}

function unscheduled(seen: InstanceFacts, pod: Pod): Fault {
  const grows = seen.events.some(({ reason }) => reason === 'TriggeredScaleUp' || reason === 'Nominated');
  const condition = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const words = condition?.message ?? 'the scheduler gives no reason';
  return toFault(seen, grows ? growMilliseconds : scheduleMilliseconds, { type: 'UNSCHEDULED', words });
}

/** Returns the fault that keeps a container from starting, by the reason that the kubelet gives. */
function heldUp(seen: InstanceFacts, pod: Pod): Fault | null {
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

/**
 * Returns the fault for a failed start. A node retries what its runtime could not do. A program that is missing, or
 * must not run as configured, is a permanent fault.
 */
function unstartable(reason: string, words: string, seen: InstanceFacts): Fault {
  const stays =
    /runAsNonRoot|run as root|no such file|executable file|exec: \S+ not found|exec format|permission denied|no command specified/i.test(
      words,
    );
  return toFault(seen, stays ? 0 : unstartableMilliseconds, { type: 'UNSTARTABLE', reason, words });
}

/**
 * Classifies a node's message about an image that the node cannot pull. The names of `images` in the message are
 * ignored. Pure.
 */
export function imageFault(
  output: string,
  images: readonly string[] = [],
): 'MISSING' | 'NOT_FOUND' | 'DENIED' | 'UNREACHABLE' | null {
  const words = withoutReferences(output, images);
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

/** Returns how often a registry refused the same image. Nodes count repeated events. */
function denials(events: readonly Event[], images: readonly string[]): number {
  const denied = events.filter(({ reason, message = '' }) => reason === 'Failed' && imageFault(message, images) === 'DENIED');
  return Math.max(0, ...denied.map(({ count, series }) => series?.count ?? count ?? 1));
}

/**
 * Returns the events of a pod without those that concern only another container. The kubelet names the container in the
 * field path.
 */
function eventsOf({ events, container = mainContainer }: InstanceFacts): Event[] {
  return events.filter(({ involvedObject: { fieldPath = '' } }) => {
    const name = /\{(.+)\}$/.exec(fieldPath)?.[1];
    return name === undefined || name === container;
  });
}

function withoutImage(
  reason: string,
  message: string,
  { seen, pod }: { readonly seen: InstanceFacts; readonly pod: Pod },
): Fault {
  const events = eventsOf(seen);
  const images = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])].map(({ image = '' }) => image);
  // While a node waits for the next attempt, its message gives no cause. The warning event of the attempt gives the
  // cause.
  const reported = events
    .filter(({ reason }) => reason === 'Failed' || reason === 'InspectFailed')
    .map((event) => event.message ?? '');
  const words = [message, ...reported.toReversed()].find((one) => imageFault(one, images) !== null) ?? message;
  const fault = reason === 'ErrImageNeverPull' || reason === 'InvalidImageName' ? 'MISSING' : imageFault(words, images);
  // A node may see a pod before it may read the pod's Secret, and then pulls without credentials. It has the
  // credentials when it retries after ten seconds.
  const mayLackCredentials =
    fault === 'DENIED' && (pod.spec?.imagePullSecrets ?? []).length > 0 && denials(events, images) < knowingDenials;
  const passes = fault === null || fault === 'UNREACHABLE' || mayLackCredentials;
  return toFault(seen, passes ? registryMilliseconds : 0, { type: 'IMAGE', fault: fault ?? 'UNREACHABLE', words });
}

/**
 * Returns the fault of a container that exited before its process started: the kernel refused the program, or the
 * runtime could not start it at that time.
 */
function refusedProgram(seen: InstanceFacts, pod: Pod): Fault | null {
  const status = mainStatus(pod);
  const end = lastEnd(status);
  // A later start has succeeded.
  if (status?.state?.running !== undefined) return null;
  if (end?.reason !== 'StartError' && end?.reason !== 'ContainerCannotRun') return null;
  if (end.message !== undefined) return unstartable(end.reason, end.message, seen);
  return toFault(seen, 0, { type: 'UNSTARTABLE', reason: end.reason, words: `exit code ${end.exitCode}` });
}

/**
 * Returns whether the pod has its volumes and its network, so that images are pulled. Earlier failures of these no
 * longer count.
 */
export function isMade({ events }: Pick<InstanceFacts, 'events'>, pod: Pod): boolean {
  return conditionOf(pod) === 'True' || events.some(({ reason }) => reason === 'Pulling' || reason === 'Pulled');
}

/** Returns the status of the condition PodReadyToStartContainers. Nodes older than Kubernetes 1.29 report none. */
function conditionOf({ status }: Pod): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'PodReadyToStartContainers')?.status;
}

function making(seen: InstanceFacts, pod: Pod): Fault | null {
  return withoutVolume(seen) ?? withoutSandbox(seen) ?? silence(seen, pod);
}

function withoutSandbox(seen: InstanceFacts): Fault | null {
  const reasons = /^(?:FailedCreatePodSandBox|FailedCreatePodContainer|FailedMakePodDataDirectories|NetworkNotReady)$/;
  const output = seen.events.findLast(({ reason }) => reasons.test(reason ?? ''));
  if (output === undefined) return null;
  return toFault(seen, sandboxMilliseconds, { type: 'UNMADE', reason: output.reason ?? '', words: output.message ?? '' });
}

function silence(seen: InstanceFacts, pod: Pod): Fault | null {
  const { spec, status } = pod;
  const isSilent = status?.startTime === undefined || conditionOf(pod) === 'False';
  if (spec?.nodeName === undefined || !isSilent) return null;
  const words = 'the node has not started to create it and gives no reason';
  return toFault(seen, silentMilliseconds, { type: 'UNMADE', reason: spec.nodeName, words }, silenceKind);
}

function withoutVolume(seen: InstanceFacts): Fault | null {
  const output = seen.events.find(({ reason }) => /^(?:FailedMount|FailedAttachVolume|ProvisioningFailed)$/.test(reason ?? ''));
  return output === undefined ? null : toFault(seen, volumeMilliseconds, { type: 'VOLUME', words: output.message ?? '' });
}

function waitUntil(againAt: number): Judgement {
  return { type: 'WAIT', againAt };
}

function failed(suspicion: Suspicion): Judgement {
  return { type: 'FAILED', suspicion };
}
