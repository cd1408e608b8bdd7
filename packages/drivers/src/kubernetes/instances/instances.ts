import type { Job, JobCondition } from 'kubernetes-types/batch/v1.js';
import type { ContainerStateTerminated, ContainerStatus, Pod, PodCondition } from 'kubernetes-types/core/v1.js';
import type { Endpoint, Instance, InstanceEnd, InstanceExit, Selector } from '../../workload.ts';
import type { KubernetesObject } from '../client/api.ts';
import { list } from '../client/follow.ts';
import { byAge, controllerKinds, pathOf, type Scope } from '../client/objects.ts';
import { foldersLostCode } from '../manifests/cron-job.ts';
import { helperContainer, mainContainer } from '../manifests/pod.ts';
import { annotation, label, labelSelector, parsePorts, withRunLabels } from '../names/labels.ts';
import { instanceOf, matchesSelector } from '../../shared/labels.ts';
import { namespaceName } from '../names/names.ts';

/** Exit code of a process that SIGTERM ended. */
const terminatedCode = 143;
/** Pauses of the kubelet between restarts. */
const firstPauseSeconds = 10;
const longestPauseSeconds = 300;

/** An instance on the cluster: its controller and its pods. */
export interface Found {
  /** `<namespace>/<name>`. */
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  /** Null if the controller is gone; its pods are then being removed. */
  readonly controller: KubernetesObject | null;
  /** Newest first, pods that are being deleted last. */
  readonly pods: readonly Pod[];
}

/** Returns the selected instances, ordered by rollout and index. */
export async function findSelected(scope: Scope, selector: Selector, signal: AbortSignal): Promise<Found[]> {
  // Scheduled runs have no label for their rollout, so the selector is applied to the results below.
  const { service, environment } = selector;
  const query = { labelSelector: labelSelector(scope.installation, 'instance', { service, environment }) };
  const namespace = selector.environment === undefined ? undefined : namespaceName(scope.installation, selector.environment);
  // Pods are listed before controllers. In the other order, a pod whose controller is created in between would seem to
  // have none. In this order, a pod without a controller has lost it.
  const pods = await list<Pod>(scope.api, { path: pathOf('Pod', { namespace }), query }, signal);
  const controllers = await Promise.all(
    controllerKinds.map(async (kind) => {
      const { items } = await list<KubernetesObject>(scope.api, { path: pathOf(kind, { namespace }), query }, signal);
      // Objects in a list do not carry their kind.
      return items.map((item) => ({ ...item, kind }));
    }),
  );
  return gather(controllers.flat(), pods.items).filter(({ controller, pods }) =>
    matchesSelector((controller ?? pods[0])?.metadata?.labels ?? {}, selector),
  );
}

/** Groups controllers with their pods. Pure. */
export function gather(controllers: readonly KubernetesObject[], pods: readonly Pod[]): Found[] {
  const byId = Map.groupBy(pods.map(withRunLabels), (pod) => idOf(pod) ?? '');
  byId.delete('');
  const found = controllers.map(withRunLabels).flatMap((controller): Found[] => {
    const id = idOf(controller);
    if (id === null) return [];
    const own = byAge(byId.get(id) ?? []);
    byId.delete(id);
    // A controller that is being deleted and has no pod left is gone for everyone except the caller that deletes it.
    if (controller.metadata?.deletionTimestamp !== undefined && own.length === 0) return [];
    return [{ ...parseId(id), controller, pods: own }];
  });
  for (const [id, orphans] of byId) found.push({ ...parseId(id), controller: null, pods: byAge(orphans) });
  return found.toSorted(compare);
}

function compare(a: Found, b: Found): number {
  const [left, right] = [labelsOf(a), labelsOf(b)];
  const rollouts = (left[label.rollout] ?? '').localeCompare(right[label.rollout] ?? '');
  return rollouts || Number(left[label.index]) - Number(right[label.index]);
}

/** Returns the id of the instance that an object belongs to, or null. */
export function idOf({ metadata }: KubernetesObject): string | null {
  const name = metadata?.labels?.[label.instance];
  return name === undefined || metadata?.namespace === undefined ? null : `${metadata.namespace}/${name}`;
}

export function parseId(id: string): { readonly id: string; readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = id.split('/', 2);
  return { id, namespace, name };
}

function metadataOf({ controller, pods }: Found): KubernetesObject['metadata'] {
  return (controller ?? pods[0])?.metadata;
}

function labelsOf(found: Found): Readonly<Record<string, string>> {
  return metadataOf(found)?.labels ?? {};
}

/** Returns the status of the workload's own container in a pod. */
export function mainStatus(pod: Pod | undefined): ContainerStatus | undefined {
  return pod?.status?.containerStatuses?.find(({ name }) => name === mainContainer);
}

/** Returns the latest termination of a container, whether or not the container has been restarted since. */
export function lastEnd(status: ContainerStatus | undefined): ContainerStateTerminated | undefined {
  return status?.state?.terminated ?? status?.lastState?.terminated;
}

/** Returns whether a node refused or gave up a pod before its process started. That process will never start. Pure. */
export function isRejected(pod: Pod): boolean {
  const status = mainStatus(pod);
  return pod.status?.phase === 'Failed' && status?.state?.running === undefined && lastEnd(status) === undefined;
}

/** Returns an instance in the terms that all drivers share. Pure. */
export function toInstance(found: Found): Instance {
  const labels = labelsOf(found);
  const pod = found.pods.find(({ metadata }) => metadata?.deletionTimestamp === undefined) ?? found.pods[0];
  const status = mainStatus(pod);
  const running = status?.state?.running;
  const ended = running === undefined ? withoutDeadline(lastEnd(status), pod) : undefined;
  const isScheduled = labels[label.schedule] !== undefined;
  const waits = isScheduled && ended !== undefined && !isLastEnd(found, pod, ended);
  const exit = running || waits ? null : (toExit(ended, pod) ?? jobExit(found, pod));
  const startedAt = running?.startedAt ?? ended?.startedAt;
  return {
    id: found.id,
    name: found.name,
    ...instanceOf(labels),
    release: labels[label.release] ?? '',
    state: running ? 'RUNNING' : exit ? 'EXITED' : 'CREATED',
    startedAt: startedAt ?? null,
    exit,
    ...(running && isUnready(pod) && { unready: true as const }),
    ...(!isScheduled && { ...lastEndOf(found), ...restartsOf(status) }),
    endpoints: running ? toEndpoints(pod) : [],
    ...(isScheduled && { scheduled: true }),
    ...(isScheduled && helperEnd(pod)?.exitCode === foldersLostCode && { foldersLost: true }),
  };
}

/** Returns a condition of a pod. Pure. */
export function conditionOf(pod: Pod | undefined, wanted: string): PodCondition | undefined {
  return pod?.status?.conditions?.find(({ type }) => type === wanted);
}

/** Returns whether the cluster sends a pod no requests: a probe fails, or its node does not answer. */
function isUnready(pod: Pod | undefined): boolean {
  const ready = conditionOf(pod, 'Ready');
  return ready !== undefined && ready.status !== 'True';
}

/**
 * Returns the latest exit of an instance's process that nobody requested. In pods that are being deleted, only exits
 * before the deletion count. An evicted pod may be gone right after it was seen, and its successor has no record of it.
 */
function lastEndOf({ pods }: Found): { readonly lastEnd?: InstanceEnd } {
  const ends = pods.flatMap((pod): InstanceEnd[] => {
    const evicted = evictionOf(pod);
    const ended = lastEnd(mainStatus(pod));
    const deletedAt = pod.metadata?.deletionTimestamp;
    const evictedAt = evicted?.at === undefined ? [] : [{ code: null, outOfMemory: false, at: evicted.at, words: evicted.words }];
    if (ended === undefined) return evictedAt;
    // The timestamp of a graceful deletion is the time at which the grace period ends.
    const grace = 1_000 * (pod.metadata?.deletionGracePeriodSeconds ?? 0);
    const askedAt = deletedAt === undefined ? Infinity : Date.parse(deletedAt) - grace;
    const exit = toExit(ended, pod);
    const code = isLost(ended) ? null : ended.exitCode;
    if (exit !== null && Date.parse(exit.at) < askedAt) return [{ ...exit, code, ...(evicted && { words: evicted.words }) }];
    return pod.status?.phase === 'Failed' ? [] : evictedAt;
  });
  const [latest] = ends.toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at));
  return latest === undefined ? {} : { lastEnd: latest };
}

/**
 * Returns since when the cluster itself ends a pod, and why. A kubelet that evicts a pod sets its phase. The scheduler,
 * which makes room for a more important pod, and the controller that removes pods of lost nodes delete it.
 */
function evictionOf(pod: Pod): { readonly at: string | undefined; readonly words: string } | null {
  const { phase, reason, message = '' } = pod.status ?? {};
  const disruption = conditionOf(pod, 'DisruptionTarget');
  if (phase === 'Failed' && reason !== undefined) {
    const at = (conditionOf(pod, 'Ready') ?? disruption)?.lastTransitionTime;
    return { at, words: `${reason}: ${message}`.trim() };
  }
  const isByCluster = /^(?:PreemptionByScheduler|DeletionByTaintManager)$/.test(disruption?.reason ?? '');
  if (!isByCluster || disruption?.status !== 'True') return null;
  return { at: disruption.lastTransitionTime, words: `${disruption.reason}: ${disruption.message ?? ''}`.trim() };
}

/**
 * Returns the number of restarts and the current pause. The restart after the latest exit counts before it has
 * happened, so that the number equals that of exits. The first restart is immediate. Then the kubelet waits ten seconds
 * and twice as long each time, at most five minutes. Its message states the pause once it waits.
 */
function restartsOf(status: ContainerStatus | undefined): Pick<Instance, 'restarts' | 'restartPauseSeconds'> {
  const { restartCount = 0, state } = status ?? {};
  const isPending = state?.running === undefined && lastEnd(status) !== undefined;
  const restarts = restartCount + (isPending ? 1 : 0);
  if (restarts === 0) return {};
  const [, minutes = '0', seconds = '0'] = /back-off (?:(\d+)m)?(?:(\d+)s)?/.exec(state?.waiting?.message ?? '') ?? [];
  const isToWait = state?.terminated !== undefined && restartCount > 0;
  const expected = isToWait ? Math.min(firstPauseSeconds * 2 ** (restartCount - 1), longestPauseSeconds) : 0;
  const pause = 60 * Number(minutes) + Number(seconds) || expected;
  return pause > 0 ? { restarts, restartPauseSeconds: pause } : { restarts };
}

/**
 * Returns the exit of a process, with code 143 if the process exited with 0 only because its deadline passed: it has
 * not finished its work. A process that exited before the deadline has.
 */
function withoutDeadline(
  ended: ContainerStateTerminated | undefined,
  pod: Pod | undefined,
): ContainerStateTerminated | undefined {
  const { startTime, reason } = pod?.status ?? {};
  const deadline = Date.parse(String(startTime)) + 1_000 * (pod?.spec?.activeDeadlineSeconds ?? 0);
  const isInTime = Date.parse(String(ended?.finishedAt)) < deadline;
  const isLate = reason === 'DeadlineExceeded' && ended?.exitCode === 0 && !isInTime;
  return ended !== undefined && isLate ? { ...ended, exitCode: terminatedCode } : ended;
}

function helperEnd(pod: Pod | undefined): ContainerStateTerminated | undefined {
  return pod?.status?.initContainerStatuses?.find(({ name }) => name === helperContainer)?.state?.terminated;
}

function toExit(ended: ContainerStateTerminated | undefined, pod: Pod | undefined): InstanceExit | null {
  if (ended === undefined) return null;
  const known = ended.finishedAt ?? (isLost(ended) ? conditionOf(pod, 'Ready')?.lastTransitionTime : undefined);
  const at = String(known ?? pod?.metadata?.creationTimestamp);
  return { code: ended.exitCode, outOfMemory: ended.reason === 'OOMKilled', at };
}

/**
 * Returns whether the kubelet lost a container, as after a reboot of its node. It then invents the exit code and does
 * not know when the process ended.
 */
function isLost({ reason }: ContainerStateTerminated): boolean {
  return reason === 'ContainerStatusUnknown';
}

/**
 * Returns the exit of a run whose pod was lost with its node, or never started. Nobody knows how the process ended;
 * only the Job shows that the run is over.
 */
function jobExit({ controller }: Found, pod: Pod | undefined): InstanceExit | null {
  if (controller?.kind !== 'Job' || (pod !== undefined && !isRejected(pod))) return null;
  const condition = endOfJob(controller as Job); // oxlint-disable-line typescript/no-unsafe-type-assertion -- its kind says so
  if (condition === null) return null;
  return { code: condition.type === 'Complete' ? 0 : 255, outOfMemory: false, at: String(condition.lastTransitionTime) };
}

/** Returns the condition that shows that a Job creates no more pods, or null if there is none yet. Pure. */
export function endOfJob({ status }: Pick<Job, 'status'>): JobCondition | null {
  const isEnd = ({ type, status }: JobCondition): boolean => status === 'True' && (type === 'Complete' || type === 'Failed');
  return status?.conditions?.find(isEnd) ?? null;
}

/**
 * Returns whether the cluster starts no further attempt of a run after this exit. A Job counts a failed pod only once
 * the pod's helper has released the folders, too.
 */
function isLastEnd({ controller }: Found, pod: Pod | undefined, ended: ContainerStateTerminated): boolean {
  if (ended.exitCode === 0 || controller === null) return true;
  const job = controller as Job; // oxlint-disable-line typescript/no-unsafe-type-assertion -- nothing else makes these pods
  if (endOfJob(job) !== null) return true;
  return pod?.status?.phase === 'Running' && (job.status?.failed ?? 0) >= (job.spec?.backoffLimit ?? 0);
}

function toEndpoints(pod: Pod | undefined): Endpoint[] {
  const host = pod?.status?.podIP;
  if (host === undefined) return [];
  return parsePorts(pod?.metadata?.annotations?.[annotation.ports]).map((port) => ({ internalPort: port, host, port }));
}
