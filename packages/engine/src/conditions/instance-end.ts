import { causes, describeExit, type Cause, type Instance, type InstanceEnd } from '@davit/drivers';
import type { FailureRecord } from '../model.ts';
import type { ConditionSeverity } from '../port/views.ts';
import type { EndRow } from '../store/instance-ends.ts';

/* Interprets the exit of an instance from the facts known about it. Pure. */

/** Number of exits of one instance within `loopMinutes` that make a crash loop. */
const loopEnds = 3;
export const loopMinutes = 10;
const longestQuietSeconds = 3_600;

const killedHint =
  'The process was killed with SIGKILL, and the cluster does not report that it was out of memory. Check the last lines and the memory of the machine.';
const endedHint =
  'A service must stay in the foreground. The last lines of the process are in the evidence; correct the reason for its exit, then deploy again.';

/** Returns the cause of an instance's exit. */
export function causeOfEnd({ outOfMemory, words }: InstanceEnd, wasNotLive: boolean): Cause {
  if (outOfMemory) return 'OUT_OF_MEMORY';
  if (wasNotLive) return 'PROBE_FAILED';
  return words === undefined ? 'PROCESS_EXITED' : 'INSTANCE_EVICTED';
}

export interface EndInput {
  readonly instance: Pick<Instance, 'id' | 'name' | 'restartPauseSeconds'>;
  readonly end: InstanceEnd;
  readonly cause: Cause;
  readonly memoryMiB: number;
  /** Last lines of the process, redacted. */
  readonly lines: readonly string[];
  /** Seconds until Davit restarts the instance; null: the cluster restarts it. */
  readonly pauseSeconds: number | null;
  /** Exits of the service during the last hour including this one, newest first. */
  readonly recent: readonly EndRow[];
}

/** Returns the failure record that describes an exit. */
export function describeEnd(input: EndInput): FailureRecord {
  const { end, cause, lines } = input;
  const exit = end.code === null ? {} : { exit: { code: end.code, outOfMemory: end.outOfMemory } };
  const original = end.words === undefined ? {} : { original: end.words };
  const hint = cause === 'PROCESS_EXITED' ? (end.code === 137 ? killedHint : endedHint) : causes[cause];
  return { code: cause, message: `${happened(input)} ${followed(input)}`, hint, evidence: { lines, ...exit, ...original } };
}

function happened({ end, cause, memoryMiB }: EndInput): string {
  if (cause === 'OUT_OF_MEMORY') return `The process used more than its ${memoryMiB} MiB of memory and was killed.`;
  if (cause === 'PROBE_FAILED') return 'The instance was restarted because its liveness probe failed.';
  if (cause === 'INSTANCE_EVICTED') return `The cluster ended the instance: ${end.words ?? ''}`;
  return end.code === null
    ? 'The process ended; its exit code is no longer known.'
    : `The process exited with ${describeExit(end.code)}.`;
}

function followed({ instance, pauseSeconds, recent }: EndInput): string {
  const pause = pauseSeconds ?? instance.restartPauseSeconds ?? 0;
  const next = pause < 1 ? 'It is restarted immediately.' : `It is restarted after ${Math.ceil(pause)} s.`;
  const ends = endsOf(instance.id, recent);
  return isLoop(instance.id, recent)
    ? `It ended ${ends} times within ${loopMinutes} minutes. ${next} The pause grows with each restart.`
    : next;
}

/** Returns how many times an instance has exited recently. */
function endsOf(instance: string, recent: readonly EndRow[]): number {
  const newest = Date.parse(recent[0]?.ended_at ?? '');
  const since = newest - loopMinutes * 60_000;
  return recent
    .filter(({ instance_id, ended_at }) => instance_id === instance && Date.parse(ended_at) > since)
    .reduce((sum, { ends }) => sum + ends, 0);
}

export function isLoop(instance: string, recent: readonly EndRow[]): boolean {
  return endsOf(instance, recent) >= loopEnds;
}

/**
 * Returns the severity of an exit. `others`: number of other instances of the service that are serving. ERROR: the
 * instance exits repeatedly, and no other instance is serving.
 */
export function severityOfEnd(instance: string, recent: readonly EndRow[], others: number): ConditionSeverity {
  return isLoop(instance, recent) && others === 0 ? 'ERROR' : 'WARNING';
}

/**
 * Returns the seconds without an exit after which the service counts as well again. The result is `minSeconds`, or
 * twice the time between the last two exits of the last hour if that is longer. A service that exits every five minutes
 * is therefore not well in between.
 */
export function quietSeconds(recent: readonly EndRow[], minSeconds: number): number {
  const [last, former] = recent;
  if (last === undefined || former === undefined) return minSeconds;
  const between = (Date.parse(last.ended_at) - Date.parse(former.ended_at)) / 1_000;
  return Math.ceil(Math.min(longestQuietSeconds, Math.max(minSeconds, 2 * between)));
}
