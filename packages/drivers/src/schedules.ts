import type { CallContext } from './call-context.ts';
import type { Ownership, Workload } from './workload.ts';

/** A schedule by which a cluster starts runs. */
export interface ClusterSchedule {
  /**
   * One attempt of a run (`runsOnce`). Its `rollout` is that of the schedule, and its values live as long as the
   * schedule. Each run is an instance with a rollout of its own.
   */
  readonly workload: Workload;
  /** Cron expression with five fields: minute, hour, day of month, month, day of week. */
  readonly expression: string;
  /** IANA name of the time zone. */
  readonly timezone: string;
  /** Most seconds that a run may take with all its attempts; then the run is killed. */
  readonly maxSeconds: number;
  /** Most restarts after the first attempt. */
  readonly maxRestarts: number;
  /** Seconds that the contents of a run's folders are kept for a reader. */
  readonly holdSeconds: number;
}

type ScheduleOwner = Pick<Ownership, 'environment' | 'service'>;

/** A schedule as it is on the cluster. */
export interface ArmedSchedule extends ScheduleOwner {
  /** The rollout of the applied schedule. */
  readonly rollout: string;
  readonly isSuspended: boolean;
}

/** A run that the cluster has started by a schedule and that has not been removed yet. */
export interface ScheduledRun extends ScheduleOwner {
  /** A UUID that is never used again: the `rollout` of the run's instance. */
  readonly id: string;
  readonly release: string;
  /** ISO 8601. */
  readonly dueAt: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** True if the run has ended, or has failed for good. */
  readonly isOver: boolean;
}

/**
 * Optional capability of a cluster that starts runs by schedule itself, also while Davit is down. Runs start one at a
 * time, and missed runs are made up for once. The cluster also makes the retries.
 * Each run is one instance (`scheduled`). The instance is EXITED when the last attempt has ended, and stays until it is
 * retired. For each schedule at most the newest twenty successful and the newest twenty failed runs are kept.
 * All methods fail with ENGINE_FAILED, CLUSTER_ACCESS_DENIED, ENGINE_UNREACHABLE.
 */
export interface ClusterSchedules {
  /**
   * Returns why the cluster cannot start runs by this schedule, as a text that continues "the cluster does not"; null
   * if it can.
   */
  unable(schedule: Pick<ClusterSchedule, 'expression'>, signal: AbortSignal): Promise<string | null>;

  /**
   * Makes this the only schedule of the service; runs under way continue unchanged. If `isSuspended` is set, no run
   * starts until `resume`; runs missed until then are made up for once. Runs that were due before the first `apply` of
   * this schedule are never started. Fails also with SCHEDULE_REFUSED, ADMISSION_REFUSED.
   */
  apply(schedule: ClusterSchedule, options: { readonly isSuspended: boolean }, context: CallContext): Promise<void>;

  /**
   * Starts no runs until `resume`. A run that started just before may become visible only a second later. Does nothing
   * if the service has no schedule.
   */
  suspend(owner: ScheduleOwner, signal: AbortSignal): Promise<void>;

  /** Undoes `suspend`, but only for the schedule with this rollout. */
  resume(schedule: ScheduleOwner & { readonly rollout: string }, signal: AbortSignal): Promise<void>;

  /** Removes the schedule. Its runs stay. */
  remove(owner: ScheduleOwner, signal: AbortSignal): Promise<void>;

  list(signal: AbortSignal): Promise<readonly ArmedSchedule[]>;

  /** Returns the runs of a service, or of all services, ordered by the time at which they were due. */
  runs(selector: { readonly service?: string }, signal: AbortSignal): Promise<readonly ScheduledRun[]>;

  /**
   * Waits until the process of the first attempt of a run has started, or the run is over or gone. Fails as
   * `ClusterDriver.start` does if the cluster cannot start the run. `workload` is the workload of the run, with the
   * run's own rollout.
   */
  awaitStarted(workload: Workload, context: CallContext): Promise<void>;
}
