import type { Container, ContainerStatus, Event, Pod } from 'kubernetes-types/core/v1.js';
import { lastEnd, mainStatus } from '../instances/instances.ts';
import { helperContainer, mainContainer } from '../manifests/pod.ts';

/** The known state of one instance. */
export interface InstanceFacts {
  readonly name: string;
  /** Null if no pod has been created yet. */
  readonly pod: Pod | null;
  /**
   * Name of the only container in this view of the pod (see `onlyContainer`). If absent, the view has the
   * `mainContainer`, and the helper if the pod has one.
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

/** Returns whether the process of a pod runs or has run. Pure. */
export function hasBegun(pod: Pod): boolean {
  return hasRun(mainStatus(pod));
}

function hasRun(status: ContainerStatus | undefined): boolean {
  return status?.state?.running !== undefined || lastEnd(status) !== undefined;
}

/**
 * Returns whether the process's folders are held, if a helper must hold them. In a pod that is over, no container
 * starts any more.
 */
export function hasHelper(seen: InstanceFacts, pod: Pod): boolean {
  return helperOf(seen, pod) === undefined || isOver(pod) || hasRun(statusOf(pod, helperContainer));
}

/**
 * Returns the helper of a pod. Pods of charts may have a container of that name that is not a helper. Pods that Davit
 * created before helpers existed have none.
 */
export function helperOf({ container }: InstanceFacts, { spec }: Pod): Container | undefined {
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
export function onlyContainer(pod: Pod, name: string): Pod {
  const status = statusOf(pod, name);
  const containerStatuses = status === undefined ? [] : [{ ...status, name: mainContainer }];
  return { ...pod, status: { ...pod.status, containerStatuses } };
}

/** Returns whether the scheduler has reported that no node fits the pod. Pure. */
export function isUnscheduled(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'PodScheduled' && status === 'False') === true;
}

/**
 * Returns the events of a pod without those that concern only another container. The kubelet names the container in the
 * field path.
 */
export function eventsOf({ events, container = mainContainer }: InstanceFacts): Event[] {
  return events.filter(({ involvedObject: { fieldPath = '' } }) => {
    const name = /\{(.+)\}$/.exec(fieldPath)?.[1];
    return name === undefined || name === container;
  });
}

/**
 * Returns whether the pod has its volumes and its network, so that images are pulled. Earlier failures of these no
 * longer count.
 */
export function isSetUp({ events }: Pick<InstanceFacts, 'events'>, pod: Pod): boolean {
  return sandboxCondition(pod) === 'True' || events.some(({ reason }) => reason === 'Pulling' || reason === 'Pulled');
}

/** Returns the status of the condition PodReadyToStartContainers. Nodes older than Kubernetes 1.29 report none. */
export function sandboxCondition({ status }: Pod): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'PodReadyToStartContainers')?.status;
}
