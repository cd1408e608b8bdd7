import type { Pod } from 'kubernetes-types/core/v1.js';
import { meaningOf } from '../client/meanings.ts';
import { isRejected, lastEnd, mainStatus } from '../instances/instances.ts';
import { helperContainer } from '../manifests/pod.ts';
import {
  hasBegun,
  helperOf,
  isOver,
  isSetUp,
  isUnscheduled,
  onlyContainer,
  sandboxCondition,
  statusOf,
  type InstanceFacts,
} from './instance-facts.ts';
import { toFault, type Fault } from './fault.ts';
import { imagePullFault } from './image-fault.ts';

/** How long the scheduler may find no node for a pod. It retries. */
export const scheduleMilliseconds = 60_000;
/** Replaces `scheduleMilliseconds` in a cluster whose autoscaler reports that it adds a node. */
const growMilliseconds = 600_000;
/** How long nodes may retry to attach a volume. */
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

/**
 * Returns the fault that keeps an instance from starting, or null if none is known. Pods that a node rejected are
 * handled by `judgeBegin`. Pure.
 */
export function faultOf(seen: InstanceFacts): Fault | null {
  const { pod } = seen;
  if (pod === null) return podRefusal(seen);
  if (hasBegun(pod)) return failedStart(seen, pod) ?? helperFault(seen, pod);
  if (isRejected(pod)) return null;
  if (isUnscheduled(pod)) return schedulingFault(seen, pod);
  return waitingFault(seen, pod) ?? helperFault(seen, pod) ?? (isSetUp(seen, pod) ? null : setupFault(seen, pod));
}

/**
 * Returns the fault that keeps the helper from running. Without a helper, a process may do its work and nobody ever
 * reads its output. A process whose helper must start first waits for the helper as long as it is allowed to.
 */
function helperFault(seen: InstanceFacts, pod: Pod): Fault | null {
  const helper = helperOf(seen, pod);
  if (helper === undefined || statusOf(pod, helperContainer)?.state?.running !== undefined) return null;
  const own = onlyContainer(pod, helperContainer);
  // The different name gives the helper's fault a time of its own.
  const view = { ...seen, name: `${seen.name} ${helperContainer}`, container: helperContainer, pod: own };
  const fault = failedStart(view, own) ?? (isOver(pod) ? null : waitingFault(view, own));
  if (fault?.suspicion.type !== 'IMAGE' && fault?.suspicion.type !== 'UNSTARTABLE') return fault;
  return { ...fault, suspicion: { ...fault.suspicion, helper: helper.image ?? '' } };
}

/** Returns the fault of a controller that creates no pod because the cluster refuses the pod. */
function podRefusal(seen: InstanceFacts): Fault | null {
  const refusal = seen.events.find(({ reason }) => reason === 'FailedCreate');
  if (refusal === undefined) return null;
  const { message: words = '' } = refusal;
  const known = meaningOf(words);
  // A policy refuses permanently. A quota becomes free when other pods end. An unreachable webhook is started again.
  if (known?.cause === 'ADMISSION_REFUSED') return toFault(seen, 0, { type: 'REFUSED', words });
  return toFault(seen, known?.retryable === true ? awayMilliseconds : refusalMilliseconds, { type: 'REFUSED', words });
}

function schedulingFault(seen: InstanceFacts, pod: Pod): Fault {
  const grows = seen.events.some(({ reason }) => reason === 'TriggeredScaleUp' || reason === 'Nominated');
  const condition = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const words = condition?.message ?? 'the scheduler gives no reason';
  return toFault(seen, grows ? growMilliseconds : scheduleMilliseconds, { type: 'UNSCHEDULED', words });
}

/** Returns the fault that keeps a container from starting, by the reason that the kubelet gives. */
function waitingFault(seen: InstanceFacts, pod: Pod): Fault | null {
  const { reason = '', message = '' } = mainStatus(pod)?.state?.waiting ?? {};
  switch (reason) {
    case 'ErrImagePull':
    case 'ImagePullBackOff':
    case 'ErrImageNeverPull':
    case 'InvalidImageName':
    case 'RegistryUnavailable':
      return imagePullFault(reason, message, { seen, pod });
    case 'CreateContainerConfigError':
    case 'CreateContainerError':
    case 'RunContainerError':
      return startFault(reason, message, seen);
    default:
      return null;
  }
}

/**
 * Returns the fault for a failed start. A node retries what its runtime could not do. A program that is missing, or
 * must not run as configured, is a permanent fault.
 */
function startFault(reason: string, words: string, seen: InstanceFacts): Fault {
  const stays =
    /runAsNonRoot|run as root|no such file|executable file|exec: \S+ not found|exec format|permission denied|no command specified/i.test(
      words,
    );
  return toFault(seen, stays ? 0 : unstartableMilliseconds, { type: 'UNSTARTABLE', reason, words });
}

/**
 * Returns the fault of a container that exited before its process started: the kernel refused the program, or the
 * runtime could not start it at that time.
 */
function failedStart(seen: InstanceFacts, pod: Pod): Fault | null {
  const status = mainStatus(pod);
  const end = lastEnd(status);
  // A later start has succeeded.
  if (status?.state?.running !== undefined) return null;
  if (end?.reason !== 'StartError' && end?.reason !== 'ContainerCannotRun') return null;
  if (end.message !== undefined) return startFault(end.reason, end.message, seen);
  return toFault(seen, 0, { type: 'UNSTARTABLE', reason: end.reason, words: `exit code ${end.exitCode}` });
}

function setupFault(seen: InstanceFacts, pod: Pod): Fault | null {
  return volumeFault(seen) ?? sandboxFault(seen) ?? silentNodeFault(seen, pod);
}

function sandboxFault(seen: InstanceFacts): Fault | null {
  const reasons = /^(?:FailedCreatePodSandBox|FailedCreatePodContainer|FailedMakePodDataDirectories|NetworkNotReady)$/;
  const output = seen.events.findLast(({ reason }) => reasons.test(reason ?? ''));
  if (output === undefined) return null;
  return toFault(seen, sandboxMilliseconds, { type: 'UNMADE', reason: output.reason ?? '', words: output.message ?? '' });
}

function silentNodeFault(seen: InstanceFacts, pod: Pod): Fault | null {
  const { spec, status } = pod;
  const isSilent = status?.startTime === undefined || sandboxCondition(pod) === 'False';
  if (spec?.nodeName === undefined || !isSilent) return null;
  const words = 'the node has not started to create it and gives no reason';
  return toFault(seen, silentMilliseconds, { type: 'UNMADE', reason: spec.nodeName, words }, silenceKind);
}

function volumeFault(seen: InstanceFacts): Fault | null {
  const output = seen.events.find(({ reason }) => /^(?:FailedMount|FailedAttachVolume|ProvisioningFailed)$/.test(reason ?? ''));
  return output === undefined ? null : toFault(seen, volumeMilliseconds, { type: 'VOLUME', words: output.message ?? '' });
}
