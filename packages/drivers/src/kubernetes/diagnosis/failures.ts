import { never } from '@davit/base';
import type { Event, Pod } from 'kubernetes-types/core/v1.js';
import { DriverError, type Cause, type Evidence } from '../../errors.ts';
import { describeExit } from '../../exit-code.ts';
import { describeClosed } from '../../shared/closed-ports.ts';
import { formatListener, isReachable, parseListeners, type Listener } from '../../shared/listening.ts';
import type { Workload } from '../../workload.ts';
import { runInside } from '../client/exec.ts';
import { meaningOf } from '../client/meanings.ts';
import type { Scope } from '../client/objects.ts';
import { lastEnd, mainStatus } from '../instances/instances.ts';
import { mainContainer } from '../manifests/pod.ts';
import { evidenceMilliseconds, lastLines } from './logs.ts';

/** The reason why an instance does not start, as far as its objects show. */
export type Suspicion =
  | { readonly type: 'REFUSED' | 'UNSCHEDULED' | 'VOLUME'; readonly words: string }
  /** `helper`: the image of the helper beside the process, if the helper is the cause. */
  | {
      readonly type: 'IMAGE';
      readonly fault: 'MISSING' | 'NOT_FOUND' | 'DENIED' | 'UNREACHABLE';
      readonly words: string;
      readonly helper?: string;
    }
  | { readonly type: 'UNSTARTABLE'; readonly reason: string; readonly words: string; readonly helper?: string }
  /** The node could not create the pod. `reason` is the reason that the node gave, or the name of the node. */
  | { readonly type: 'UNMADE'; readonly reason: string; readonly words: string }
  /**
   * A node refused or gave up the pod before its process started. `isFinal`: the caller does not wait for another pod.
   */
  | { readonly type: 'REJECTED'; readonly reason: string; readonly words: string; readonly isFinal: boolean }
  | { readonly type: 'ENDED'; readonly pod: Pod; readonly container?: string }
  | { readonly type: 'UNREADY'; readonly pod: Pod; readonly events: readonly Event[]; readonly container?: string };

/** The fields of a workload that failures mention. */
export type Explained = Pick<Workload, 'image' | 'memoryMiB' | 'readyTimeoutSeconds' | 'ports' | 'readiness'>;

const shownLines = 50;
const keptAttempts = 10;

/** Returns the failure for a suspicion, with evidence from the instance if the instance runs or has run. */
export async function explain(
  scope: Scope,
  workload: Explained,
  suspicion: Suspicion,
  signal: AbortSignal,
): Promise<DriverError> {
  switch (suspicion.type) {
    case 'REFUSED': {
      const { words } = suspicion;
      const { cause = 'ADMISSION_REFUSED', retryable = false } = meaningOf(words) ?? {};
      const message = `The cluster refused the instance: ${words}`;
      return new DriverError({ cause, message, evidence: { original: words }, retryable });
    }
    case 'UNSCHEDULED':
      return unscheduled(suspicion.words);
    case 'VOLUME':
      return failure('VOLUME_UNAVAILABLE', `The volume is not available: ${suspicion.words}`, suspicion.words);
    case 'IMAGE':
      return imageFailure(workload, suspicion);
    case 'UNSTARTABLE':
      return unstartable(suspicion);
    case 'UNMADE':
      return new DriverError({
        cause: 'ENGINE_FAILED',
        message: `The node could not create the instance (${suspicion.reason}): ${suspicion.words}`,
        hint: 'The message comes from the node: have its operator check its network and its container runtime, then deploy again.',
        evidence: { original: suspicion.words },
      });
    case 'REJECTED':
      return rejected(suspicion);
    case 'ENDED':
      return endFailure(scope, workload, suspicion, signal);
    case 'UNREADY':
      return unreadyFailure(scope, workload, suspicion, signal);
    default:
      return never(suspicion);
  }
}

function failure(cause: Cause, message: string, original: string): DriverError {
  return new DriverError({ cause, message, evidence: { original } });
}

// The scheduler waits for claims as it does for nodes. Its message shows which of the two is missing.
function unscheduled(words: string): DriverError {
  if (/persistentvolumeclaim|volume/i.test(words))
    return failure('VOLUME_UNAVAILABLE', `The volume is not available: ${words}`, words);
  return failure('UNSCHEDULABLE', `No node can run the instance: ${words}`, words);
}

const imageCauses: Readonly<Record<Extract<Suspicion, { type: 'IMAGE' }>['fault'], Cause>> = {
  MISSING: 'IMAGE_MISSING',
  NOT_FOUND: 'IMAGE_NOT_FOUND',
  DENIED: 'REGISTRY_ACCESS_DENIED',
  UNREACHABLE: 'REGISTRY_UNREACHABLE',
};

/** The user who deploys cannot change the helper image. */
const helperHint =
  'Have the operator set helper_image in the settings of the cluster to an image with sh and tar that its nodes can pull and run (docs/kubernetes.md#settings-of-a-cluster); the service itself needs no change.';

function imageFailure({ image }: Explained, { fault, words, helper }: Extract<Suspicion, { type: 'IMAGE' }>): DriverError {
  const what = helper === undefined ? image : `${helper}, which keeps the files that the process leaves in its folders`;
  return new DriverError({
    cause: imageCauses[fault],
    message: `The nodes cannot pull ${what}: ${words}`,
    ...(helper !== undefined && { hint: helperHint }),
    evidence: { original: words },
    retryable: fault === 'UNREACHABLE',
  });
}

function unstartable({ reason, words, helper }: Extract<Suspicion, { type: 'UNSTARTABLE' }>): DriverError {
  if (helper !== undefined) {
    const message = `${helper}, which keeps the files that the process leaves in its folders, could not be started (${reason}): ${words}`;
    return new DriverError({ cause: 'START_FAILED', message, hint: helperHint, evidence: { original: words } });
  }
  if (/runAsNonRoot|run as root/i.test(words)) return asRoot(words);
  return failure('START_FAILED', `The process could not be started (${reason}): ${words}`, words);
}

/** Returns the failure for an image that runs as root, or whose user is a name, as with `USER nobody`. */
function asRoot(words: string): DriverError {
  const message = `The cluster refuses to run the image: ${words}`;
  const user = /non-numeric user \(([^)]*)\)/.exec(words)?.[1];
  if (user === undefined) return failure('RUN_AS_ROOT', message, words);
  const hint = `The image may not be run as root here, and Kubernetes cannot check the name ${user}: write the number of this user in the Dockerfile (\`id -u ${user}\` in the image shows it, and \`USER 65534\` is nobody in most images), or have the operator set the cluster’s level to baseline.`;
  return new DriverError({ cause: 'RUN_AS_ROOT', message, hint, evidence: { original: words } });
}

// Reasons of the kubelet for refusing a pod although the scheduler had found room or a matching label. All other
// reasons come from a node that shuts down or evicts pods.
const refusedByNode = /^(?:OutOf|NodeAffinity|UnexpectedAdmission|PodOSNotSupported|Topology)/;

function rejected({ reason, words, isFinal }: Extract<Suspicion, { type: 'REJECTED' }>): DriverError {
  const original = words === '' ? reason : `${reason}: ${words}`;
  const isRefusal = refusedByNode.test(reason);
  return new DriverError({
    cause: isRefusal ? 'UNSCHEDULABLE' : 'ENGINE_FAILED',
    message: isRefusal
      ? `The node refused the instance: ${original}`
      : `The node ended the instance before its process started: ${original}`,
    ...(!isRefusal && { hint: 'Deploy or run it again; if that does not help, check the events of the node.' }),
    evidence: { original },
    retryable: !isFinal,
  });
}

async function endFailure(
  scope: Scope,
  workload: Explained,
  { pod, container }: Extract<Suspicion, { type: 'ENDED' }>,
  signal: AbortSignal,
): Promise<DriverError> {
  const status = mainStatus(pod);
  const end = lastEnd(status);
  const code = end?.exitCode ?? -1;
  const outOfMemory = end?.reason === 'OOMKilled';
  const lines = await lastLines(scope, pod, { count: shownLines, container }, signal);
  const evidence: Evidence = { lines, exit: { code, outOfMemory } };
  if (outOfMemory) {
    const limit = workload.memoryMiB === 0 ? 'the node had' : `its ${workload.memoryMiB} MiB of memory`;
    const message = `The process used more than ${limit} and was killed.`;
    return new DriverError({ cause: 'OUT_OF_MEMORY', message, evidence });
  }
  const starts = (status?.restartCount ?? 0) + 1;
  const message = `The process exited with ${describeExit(code)}.${starts > 1 ? ` It was started ${starts} times.` : ''}`;
  return new DriverError({ cause: 'PROCESS_EXITED', message, evidence });
}

async function unreadyFailure(
  scope: Scope,
  workload: Explained,
  { pod, events, container }: Extract<Suspicion, { type: 'UNREADY' }>,
  signal: AbortSignal,
): Promise<DriverError> {
  const [lines, listeners] = await Promise.all([
    lastLines(scope, pod, { count: shownLines, container }, signal),
    listenersOf(scope, pod, container ?? mainContainer, signal),
  ]);
  const attempts = events
    .filter(({ reason, message }) => reason === 'Unhealthy' && /^(?:Readiness|Startup)/.test(message ?? ''))
    .map(({ message }) => message ?? '')
    .slice(-keptAttempts);
  const evidence: Evidence = {
    lines,
    ...(attempts.length > 0 && { probe: attempts }),
    ...(listeners && { listening: listeners.map(formatListener) }),
  };
  const seconds = workload.readyTimeoutSeconds;
  const missing = closedPorts(workload, listeners);
  if (missing.length > 0) {
    const { message, hint } = describeClosed(missing, listeners, seconds);
    return new DriverError({ cause: 'PORT_NOT_LISTENING', message, ...(hint !== null && { hint }), evidence });
  }
  const last = attempts.at(-1) ?? 'The kubelet reports no details';
  return new DriverError({
    cause: 'PROBE_FAILED',
    message: `The instance was not ready ${seconds === 0 ? 'in time' : `within ${seconds} s`}. ${last}.`,
    evidence,
  });
}

/**
 * Returns the ports on which nothing listens that other pods can reach. Without a probe, the first port that is not UDP
 * is the one that readiness waits for. With a probe, the result is empty if the listeners are unknown.
 */
function closedPorts({ readiness, ports }: Explained, listeners: readonly Listener[] | null): number[] {
  const isOpen = (port: number): boolean => listeners?.some((one) => one.port === port && isReachable(one)) === true;
  if (readiness !== null) {
    const { check } = readiness;
    return check.type === 'exec' || listeners === null || isOpen(check.port) ? [] : [check.port];
  }
  const awaited = ports.find(({ protocol }) => protocol !== 'UDP')?.internalPort;
  return awaited === undefined || isOpen(awaited) ? [] : [awaited];
}

/** Reads the listeners with the image's own `cat`. Returns null if the image has none or the node does not respond. */
async function listenersOf(scope: Scope, pod: Pod, container: string, signal: AbortSignal): Promise<Listener[] | null> {
  const ids = { namespace: pod.metadata?.namespace ?? '', pod: pod.metadata?.name ?? '', container };
  const limited = AbortSignal.any([signal, AbortSignal.timeout(evidenceMilliseconds)]);
  try {
    const { output } = await runInside(scope.api, ids, ['cat', '/proc/net/tcp', '/proc/net/tcp6'], limited);
    return output.includes('local_address') ? parseListeners(output) : null;
  } catch {
    signal.throwIfAborted();
    return null;
  }
}
