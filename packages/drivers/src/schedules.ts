import type { CallContext } from './driver.ts';
import type { Ownership, Workload } from './workload.ts';

/** A schedule that a cluster is to start runs by. */
export interface ClusterSchedule {
  /**
   * One attempt of a run (`runsOnce`). Its `rollout` is that of the schedule, whose values live as long as it does; each run is an instance
   * with a rollout of its own.
   */
  readonly workload: Workload;
  /** Five fields: minute, hour, day of month, month, day of week. */
  readonly expression: string;
  /** IANA name. */
  readonly timezone: string;
  /** Of a run with all its attempts; then it is ended. */
  readonly mostSeconds: number;
  /** After the first attempt. */
  readonly mostRestarts: number;
  /** For how long what a run leaves in its folders waits for somebody to read it. */
  readonly holdSeconds: number;
}

type ScheduleOwner = Pick<Ownership, 'environment' | 'service'>;

/** A schedule as the cluster has it. */
export interface ArmedSchedule extends ScheduleOwner {
  /** That it was applied with. */
  readonly rollout: string;
  readonly isSuspended: boolean;
}

/** A run that the cluster has begun by a schedule, and that nobody has removed yet. */
export interface ScheduledRun extends ScheduleOwner {
  /** A UUID, never used again: the `rollout` of the run's instance. */
  readonly id: string;
  readonly release: string;
  /** ISO 8601. */
  readonly dueAt: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** It has ended, or failed for good. */
  readonly isOver: boolean;
}

/**
 * Optional power of a cluster that starts runs at their times by itself, also while Davit is down: one at a time, what was missed once,
 * attempts included. Each run is one instance (`scheduled`) that is EXITED when its last attempt has ended, and stays until it is retired;
 * the newest twenty of a schedule that succeeded, and as many that failed, stay at most. All fail with ENGINE_FAILED, CLUSTER_ACCESS_DENIED,
 * ENGINE_UNREACHABLE.
 */
export interface ClusterSchedules {
  /** Why the cluster cannot start runs by this schedule, in words that follow "the cluster does not"; null: it can. */
  unable(schedule: Pick<ClusterSchedule, 'expression'>, signal: AbortSignal): Promise<string | null>;

  /**
   * Makes the service have this schedule and no other one; runs under way go on as they were begun. Suspended it starts none until
   * `resume`, and then what came due meanwhile once. Nothing that was due before this schedule's first apply is run. SCHEDULE_REFUSED, ADMISSION_REFUSED.
   */
  apply(schedule: ClusterSchedule, options: { readonly isSuspended: boolean }, context: CallContext): Promise<void>;

  /** Starts no runs until `resume`. One that began a moment ago may be seen a second later only. Without a schedule nothing happens. */
  suspend(owner: ScheduleOwner, signal: AbortSignal): Promise<void>;

  /** Undoes `suspend`, of the schedule with this rollout only. */
  resume(schedule: ScheduleOwner & { readonly rollout: string }, signal: AbortSignal): Promise<void>;

  /** Takes the schedule away. Its runs stay. */
  remove(owner: ScheduleOwner, signal: AbortSignal): Promise<void>;

  list(signal: AbortSignal): Promise<readonly ArmedSchedule[]>;

  /** Of a service, or all of them, in the order in which they came due. */
  runs(selector: { readonly service?: string }, signal: AbortSignal): Promise<readonly ScheduledRun[]>;

  /**
   * Waits until the process of a run's first attempt has been started, or the run is over or gone. Fails as `ClusterDriver.start` does where the
   * cluster cannot start it. `workload`: that of the run, with its own rollout.
   */
  awaitStarted(workload: Workload, context: CallContext): Promise<void>;
}
