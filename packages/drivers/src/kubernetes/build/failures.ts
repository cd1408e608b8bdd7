import { DriverError, type Evidence } from '../../errors.ts';
import { describeExit } from '../../exit-code.ts';
import type { ClusterBuildRequest } from '../../image-builder.ts';
import { buildFailure, type FailedBuild } from '../../shared/build/build-failure.ts';
import { pushFailure } from '../../shared/registry-words.ts';
import { meaningOf } from '../client/meanings.ts';
import type { Suspicion } from '../diagnosis/failures.ts';
import type { PodEnd } from './pod.ts';

/** Returns why a build did not start. Pure. */
export function beginFailure(suspicion: Suspicion, { memoryMiB }: ClusterBuildRequest, image: string): DriverError {
  switch (suspicion.type) {
    case 'REFUSED': {
      const { words } = suspicion;
      const { cause = 'ADMISSION_REFUSED', retryable = false } = meaningOf(words) ?? {};
      const message = `The cluster refused the pod of the build: ${words}`;
      if (retryable) return failure(cause, message, { words, retryable });
      const hint =
        cause === 'ADMISSION_REFUSED'
          ? 'Builds need a namespace of the Pod Security level privileged (docs/kubernetes.md#builds-on-the-cluster). Exempt the namespaces davit-builds-* from the policy, or have the operator set another build_isolation.'
          : 'Raise the quota of the namespace davit-builds-*, or have the operator lower build_memory_mib and build_cpu_millicores in the settings of the cluster.';
      return failure(cause, message, { hint, words });
    }
    case 'UNSCHEDULED': {
      const hint = `Add nodes or free capacity, or have the operator lower build_memory_mib in the settings of the cluster: a build requests all of its limit of ${memoryMiB} MiB.`;
      return failure('UNSCHEDULABLE', `No node can run the build: ${suspicion.words}`, { hint, words: suspicion.words });
    }
    case 'IMAGE': {
      const hint =
        'Have the operator set builder_image in the settings of the cluster to an image of BuildKit that its nodes can pull.';
      const message = `The nodes cannot pull the builder image ${image}: ${suspicion.words}`;
      return failure('BUILD_UNAVAILABLE', message, {
        hint,
        words: suspicion.words,
        retryable: suspicion.fault === 'UNREACHABLE',
      });
    }
    default: {
      const words = 'words' in suspicion ? suspicion.words : suspicion.type;
      return failure('BUILD_UNAVAILABLE', `The pod of the build cannot be started: ${words}`, { hint: isolationHint, words });
    }
  }
}

/**
 * Returns why a build ended whose pod ended. `lines` are the last lines of its output, or of the daemon if the daemon
 * ended. Pure.
 */
export function endFailure(end: PodEnd, { memoryMiB }: ClusterBuildRequest, lines: readonly string[]): DriverError {
  switch (end.type) {
    case 'OUT_OF_MEMORY':
      return new DriverError({
        cause: 'BUILD_OUT_OF_MEMORY',
        message: `The build used more than its ${memoryMiB} MiB of memory and was killed.`,
        evidence: { lines, exit: { code: 137, outOfMemory: true } },
      });
    case 'EVICTED':
      if (/emptydir|ephemeral|disk/i.test(end.words)) {
        const hint =
          'Make the build write less, or have the operator raise build_disk_gib in the settings of the cluster or free disk space on its nodes.';
        return failure('DISK_FULL', `The build exceeded its disk limit: ${end.words}`, { hint, words: end.words, lines });
      }
      return failure('ENGINE_FAILED', `The node evicted the build: ${end.words}`, { words: end.words, lines, retryable: true });
    case 'GONE':
      return failure('ENGINE_FAILED', `The pod of the build no longer exists: ${end.words}.`, {
        words: end.words,
        lines,
        retryable: true,
      });
    case 'ENDED':
      return failure('BUILD_UNAVAILABLE', `BuildKit ended with ${describeExit(end.code)}.`, { hint: isolationHint, lines });
    default:
      throw new Error('unknown end of a pod');
  }
}

/** Returns the failure for a BuildKit that does not respond in its pod. Pure. */
export function silentDaemon(lines: readonly string[]): DriverError {
  return failure('BUILD_UNAVAILABLE', 'BuildKit did not start in the pod of the build.', { hint: isolationHint, lines });
}

const isolationHint =
  'The message or the last lines of BuildKit say why. Nodes that cannot create user namespaces as build_isolation requires need another value of it in the settings of the cluster (docs/kubernetes.md#builds-on-the-cluster).';

/** Returns why a build failed that ran to its end. Pure. */
export function runFailure(build: FailedBuild, reference: string): DriverError {
  if (!build.message.startsWith('failed to push ')) return buildFailure(build);
  const failure = pushFailure(reference, build.message);
  if (failure.code !== 'ENGINE_FAILED') return failure;
  // An unknown failure of a registry may be temporary. The layers are built, and the next attempt reuses them if the
  // registry accepted them.
  return new DriverError({ cause: failure.code, message: failure.message, evidence: failure.evidence, retryable: true });
}

/**
 * Returns whether the last output is that of a client whose daemon vanished, or that was killed with its daemon. The
 * pod may have ended then. Pure.
 */
export function lostPod(words: string): boolean {
  const lost =
    /rpc error: code = (?:Unavailable|Canceled)|connection error|error reading from server|transport is closing|\bEOF\b/i;
  return words === '' || lost.test(words);
}

/**
 * Returns how often the kernel killed a process for lack of memory, as reported by control groups of version 1 or 2.
 * Returns null if they report nothing. Pure.
 */
export function killsForMemory(text: string): number | null {
  const counts = [...text.matchAll(/^oom_kill (\d+)$/gm)].map(([, count]) => Number(count));
  return counts.length === 0 ? null : Math.max(...counts);
}

interface FailureDetails {
  readonly words?: string;
  readonly lines?: readonly string[];
  readonly hint?: string;
  readonly retryable?: boolean;
}

function failure(cause: DriverError['code'], message: string, { words, lines, hint, retryable }: FailureDetails): DriverError {
  const evidence: Evidence = { ...(lines && { lines }), ...(words !== undefined && { original: words }) };
  return new DriverError({
    cause,
    message,
    evidence,
    ...(hint !== undefined && { hint }),
    ...(retryable === true && { retryable }),
  });
}
