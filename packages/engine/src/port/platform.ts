import type { Action } from '../model.ts';

/**
 * Counts the events of the engine in this process when they happen. Each call is cheap and never fails. Events of an
 * engine in another process are counted in that process. Words come from closed lists and never contain an id or a text
 * of a user.
 */
export interface EngineCounts {
  /** Counts a deployment whose end is recorded. `cause`: code of the first failure; null: it did not fail. */
  deploymentEnded(ended: { readonly action: Action; readonly outcome: DeploymentOutcome; readonly cause: string | null }): void;
  /** Counts a finished attempt of a step. `seconds`: since the attempt began in this process, including retries. */
  stepEnded(ended: { readonly step: string; readonly outcome: StepOutcome; readonly seconds: number }): void;
  /**
   * Counts a repetition of a step. RETRY: the step failed with a transient error. RESUME: an earlier run of the
   * deployment had begun it.
   */
  stepRepeated(step: string, reason: 'RETRY' | 'RESUME'): void;
  /**
   * Counts a begun deployment that is resumed.
   * - RUNNER_DIED, LEASE_EXPIRED: another process had owned it.
   * - INTERRUPTED: this process had released it because the database or its cluster was unreachable.
   */
  deploymentTakenOver(reason: 'RUNNER_DIED' | 'LEASE_EXPIRED' | 'INTERRUPTED'): void;
  /**
   * Counts a finished database backup, with its proof, or a finished restore. `cause`: code of the failure; null:
   * success.
   */
  backupEnded(ended: { readonly work: 'BACKUP' | 'RESTORE'; readonly cause: string | null }): void;
}

export type DeploymentOutcome = 'SUCCEEDED' | 'FAILED' | 'CANCELED';
/** INTERRUPTED: the process or its lease ended, or the cluster is unreachable. The step is repeated later. */
export type StepOutcome = 'DONE' | 'FAILED' | 'CANCELED' | 'INTERRUPTED';

/** Counts nothing. */
export const noCounts: EngineCounts = {
  deploymentEnded: () => undefined,
  stepEnded: () => undefined,
  stepRepeated: () => undefined,
  deploymentTakenOver: () => undefined,
  backupEnded: () => undefined,
};

/** The state of one cluster, as the keeper of this process sees it. */
export interface ClusterHealth {
  /** `local`: the container engine of this machine; otherwise the id of the cluster. */
  readonly cluster: string;
  /** Whether the keeper's latest look at the cluster succeeded; null: there was no look yet. */
  readonly isReachable: boolean | null;
  /**
   * Seconds since the keeper last knew what runs on the cluster. Until it first knows, seconds since the keeper's
   * start.
   */
  readonly keeperLagSeconds: number;
  /**
   * Whether the gateway process is running; null: the cluster has no gateway of Davit, or the process was not checked
   * yet.
   */
  readonly isGatewayUp: boolean | null;
}

/** The disk of the container engine of this machine. */
export interface EngineDisk {
  readonly freeBytes: number;
  readonly totalBytes: number;
}
