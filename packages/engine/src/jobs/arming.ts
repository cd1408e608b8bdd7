import { pause } from '@davit/base';
import type { CallContext, ClusterSchedule, ClusterSchedules, Workload } from '@davit/drivers';
import { ClusterUnreachable } from '../shared/cluster-drivers.ts';
import type { ReleaseConfig } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { clustersOfService } from '../store/service-clusters.ts';
import { shortestPauseSeconds, nextRun, type CronSchedule } from './cron.ts';
import { longestRunSeconds } from './run.ts';
import { toAttempt, type AttemptSettings } from './attempt.ts';

/*
 * Schedules whose runs a cluster starts by itself (see adr/0026). A change of a schedule first suspends it, then stores
 * the desired state, then resumes it. A run that becomes due in between is therefore neither lost nor started twice.
 */

const minHoldSeconds = 30;
const maxHoldSeconds = 300;
/** Milliseconds after its time in which a cluster may still start a run of a schedule that was suspended. */
const settleMilliseconds = 5_000;
const lookAgainMilliseconds = 1_000;

interface Owner {
  readonly environment: string;
  readonly service: string;
}

/** Returns the schedules of a cluster that starts runs by itself; otherwise undefined. */
export function schedulesOf(parts: EngineParts, driver: string): ClusterSchedules | undefined {
  return parts.drivers[driver]?.cluster.schedules;
}

/**
 * Returns the schedule to put on a cluster, from the workload of a cron job's release; null if the release has no
 * schedule.
 */
export function toClusterSchedule(workload: Workload, { job }: ReleaseConfig, settings: AttemptSettings): ClusterSchedule | null {
  const command = job?.events.CRON;
  if (job === undefined || job.schedule === null || command === undefined) return null;
  const maxSeconds = job.maximumSeconds ?? longestRunSeconds;
  return {
    workload: toAttempt(workload, { event: 'CRON', command, attempt: 0, settings }),
    ...job.schedule,
    maxSeconds,
    maxRestarts: job.maximumRestarts,
    holdSeconds: holdSeconds(job.schedule),
  };
}

/**
 * Returns how long the outputs of a run are held: half of the interval between two runs, so that unread outputs do not
 * delay the next run.
 */
function holdSeconds(schedule: CronSchedule): number {
  const half = Math.floor(shortestPauseSeconds(schedule, new Date()) / 2);
  return Math.min(Math.max(half, minHoldSeconds), maxHoldSeconds);
}

/**
 * Puts a schedule on a cluster, suspended. Returns false if the cluster cannot start its runs; the reason is logged,
 * and Davit starts them.
 */
export async function putSuspended(
  parts: EngineParts,
  driver: string,
  schedule: ClusterSchedule,
  call: CallContext,
): Promise<boolean> {
  const schedules = schedulesOf(parts, driver);
  if (schedules === undefined) return false;
  const reason = await schedules.unable(schedule, call.signal);
  if (reason !== null) {
    call.log(`Davit starts the runs of this schedule itself, and only while it is running: the cluster does not ${reason}.`);
    return false;
  }
  await schedules.apply(schedule, { isSuspended: true }, call);
  return true;
}

/** Removes the schedule of a service from a cluster that may have one. Runs under way continue. */
export async function disarm(parts: EngineParts, driver: string, owner: Owner, signal: AbortSignal): Promise<void> {
  await schedulesOf(parts, driver)?.remove(owner, signal);
}

/** Removes the schedule of a service from all other clusters, because the service has moved to `driver`. */
export async function disarmOthers(parts: EngineParts, driver: string, owner: Owner, call: CallContext): Promise<void> {
  for (const row of await parts.database.many(clustersOfService, [owner.service])) {
    if (row.driver === driver) continue;
    try {
      await disarm(parts, row.driver, owner, call.signal);
    } catch (error) {
      if (!(error instanceof ClusterUnreachable)) throw error;
      const name = parts.clusters.nameOf(row.driver);
      call.log(`The schedule stays active on ${name} until that cluster answers again: until then its runs are started twice.`);
    }
  }
}

/**
 * Makes sure that a cluster neither runs the job by its schedule nor is about to: suspends the schedule and waits for
 * the end of a run under way. The next deployment that arms the schedule resumes it, otherwise `ClusterRuns` does.
 */
export async function quiet(
  parts: EngineParts,
  { driver, owner, schedule }: { readonly driver: string; readonly owner: Owner; readonly schedule: CronSchedule | null },
  call: CallContext,
): Promise<void> {
  const { cluster } = driversOf(parts, driver);
  if (cluster.schedules === undefined) return;
  const { signal } = call;
  await cluster.schedules.suspend(owner, signal);
  const latest = schedule === null ? null : nextRun(schedule, new Date(Date.now() - settleMilliseconds));
  if (latest !== null && latest.getTime() <= Date.now()) await pause(settleMilliseconds, signal);
  for (let reported = false; ; reported = true) {
    const runs = await cluster.schedules.runs({ service: owner.service }, signal);
    if (runs.every(({ isOver }) => isOver)) return;
    if (!reported) call.log('A run of the schedule is under way; this run starts after it.');
    await pause(lookAgainMilliseconds, signal);
    signal.throwIfAborted();
  }
}
