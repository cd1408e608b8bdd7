import type { Pod } from 'kubernetes-types/core/v1.js';
import type { Workload } from '../../workload.ts';
import { isRejected, lastEnd, mainStatus } from '../instances/instances.ts';
import { label } from '../names/labels.ts';
import type { Suspicion } from './failures.ts';
import { hasBegun, hasHelper, type InstanceFacts } from './instance-facts.ts';
import type { Fault } from './fault.ts';
import { faultOf, scheduleMilliseconds } from './start-faults.ts';

export type Judgement =
  | { readonly type: 'DONE' }
  | { readonly type: 'FAILED'; readonly suspicion: Suspicion }
  /** No judgement until something changes or `againAt` is reached (Infinity: only a change matters). */
  | { readonly type: 'WAIT'; readonly againAt: number };

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

function waitUntil(againAt: number): Judgement {
  return { type: 'WAIT', againAt };
}

function failed(suspicion: Suspicion): Judgement {
  return { type: 'FAILED', suspicion };
}
