import type { Action } from '../model.ts';

/**
 * Counts what the engine does in this process, at the moment it happens. Each call is cheap and never fails; what an
 * engine of another process does is counted there. Words are from closed lists: no id and no text of a user is among them.
 */
export interface EngineCounts {
  /** A deployment has ended and that is recorded. `cause`: code of the failure that came first; null: it did not fail. */
  deploymentEnded(ended: { readonly action: Action; readonly outcome: DeploymentOutcome; readonly cause: string | null }): void;
  /** One attempt of a step has ended. `seconds`: from its begin in this process, retries included. */
  stepEnded(ended: { readonly step: string; readonly outcome: StepOutcome; readonly seconds: number }): void;
  /** A step is done again. RETRY: it failed in a way that may pass. RESUME: an earlier run of the deployment had begun it. */
  stepRepeated(step: string, reason: 'RETRY' | 'RESUME'): void;
  /**
   * A deployment that had begun is taken up. RUNNER_DIED and LEASE_EXPIRED: another process had it. INTERRUPTED: this process
   * had let it go, as the database or its cluster was unreachable.
   */
  deploymentTakenOver(reason: 'RUNNER_DIED' | 'LEASE_EXPIRED' | 'INTERRUPTED'): void;
  /** A backup of a database, with its proof, or a restore has ended. `cause`: code of the failure; null: it is good. */
  backupEnded(ended: { readonly work: 'BACKUP' | 'RESTORE'; readonly cause: string | null }): void;
}

export type DeploymentOutcome = 'SUCCEEDED' | 'FAILED' | 'CANCELED';
/** INTERRUPTED: the process or its lease ended, or the cluster is unreachable; the step is done again later. */
export type StepOutcome = 'DONE' | 'FAILED' | 'CANCELED' | 'INTERRUPTED';

/** Counts nothing. */
export const noCounts: EngineCounts = {
  deploymentEnded: () => undefined,
  stepEnded: () => undefined,
  stepRepeated: () => undefined,
  deploymentTakenOver: () => undefined,
  backupEnded: () => undefined,
};

/** How one cluster looks to the keeper of this process. */
export interface ClusterHealth {
  /** `local`: the container engine of this machine; otherwise the id of the cluster. */
  readonly cluster: string;
  /** Whether the newest look at it succeeded; null: there was none yet. */
  readonly isReachable: boolean | null;
  /** Seconds since the keeper last knew what runs there; counts from its start until it knows. */
  readonly keeperLagSeconds: number;
  /** Whether the process of the gateway runs; null: this cluster has no gateway of Davit, or nobody has looked yet. */
  readonly isGatewayUp: boolean | null;
}

/** The disk of the container engine of this machine. */
export interface EngineDisk {
  readonly freeBytes: number;
  readonly totalBytes: number;
}
