import type { Action, FailureRecord, ReleaseCommand, ReleaseCommit, TerraformAction } from '../model.ts';
import type { ReleaseField } from '../plan/fields.ts';
import type { ActionStatusWord, ActionWord, Phase, StateWord } from '../states.ts';
import type { Origin } from './request.ts';

export interface StepView {
  readonly metric: string;
  readonly status: 'SUCCESS' | 'ERROR' | 'CANCEL' | 'SKIP';
  readonly durationMilliseconds: number;
}

/**
 * The source of a condition: the exit of an instance, an out-of-memory kill that the instance survived, its probes, its
 * number of processes, its disks.
 */
export type ConditionKind = 'INSTANCE_END' | 'MEMORY' | 'LIVENESS' | 'READINESS' | 'PROCESSES' | 'DISK';
export type ConditionSeverity = 'WARNING' | 'ERROR';

/** A fault observed in a deployed service. */
export interface ConditionView {
  readonly kind: ConditionKind;
  readonly severity: ConditionSeverity;
  readonly failure: FailureRecord;
  /** Name of the affected instance; null: all instances are affected. */
  readonly instance: string | null;
  /** Number of observations since `since`. */
  readonly occurrences: number;
  readonly since: string;
  readonly seenAt: string;
}

/** The engine's view of a service, as far as the state of its environment depends on it. */
export interface ServiceStateView {
  readonly serviceId: string;
  readonly state: StateWord;
  readonly action: ActionWord;
  readonly actionStatus: ActionStatusWord;
  /**
   * Hash of the configuration of the release that runs (or would run, if the service were not stopped); null: never
   * deployed.
   */
  readonly deployedConfigHash: string | null;
  /** Whether the latest deployment attempt failed or was canceled before it changed what runs. */
  readonly lastAttemptFailed: boolean;
}

/** The engine's view of a service. */
export interface ServiceView extends ServiceStateView {
  /** Execution id of the latest deployment that took the service out of the queue. */
  readonly executionId: string | null;
  readonly lastDeploymentAt: string | null;
  readonly isPartOfLastDeployment: boolean;
  readonly steps: { readonly details: readonly StepView[]; readonly totalMilliseconds: number | null } | null;
  readonly waitingRequestId: string | null;
  readonly waitingRequests: number;
  readonly failure: FailureRecord | null;
  readonly deployedReleaseId: string | null;
  readonly deployedCommit: ReleaseCommit | null;
  /** The action of the latest deployment of a Terraform configuration; null: the service is none. */
  readonly terraformAction: TerraformAction | null;
  /**
   * Number of wanted instances, and number of ready ones; null: the service has no lasting instances, or the number is
   * unknown.
   */
  readonly wantedInstances: number | null;
  readonly runningInstances: number | null;
  readonly runningStatus: 'STARTING' | 'RUNNING' | 'WARNING' | 'ERROR' | 'STOPPING' | 'STOPPED' | 'COMPLETED' | null;
  /** Conditions, worst first, then oldest first. Empty: no fault is observed. */
  readonly conditions: readonly ConditionView[];
}

export interface EnvironmentView {
  /** The latest deployment that left the queue, finished or not; null: none yet. */
  readonly last: {
    readonly deploymentId: string;
    readonly executionId: string;
    readonly state: StateWord;
    readonly running: boolean;
    readonly at: string;
    readonly totalMilliseconds: number | null;
    readonly origin: Origin;
    readonly triggeredBy: string;
  } | null;
  readonly waitingRequestId: string | null;
  readonly waitingAction: Action | null;
}

export interface HistoryServiceView {
  readonly deploymentId: string;
  readonly serviceId: string;
  readonly serviceType: string;
  readonly name: string;
  readonly iconUri: string;
  readonly executionId: string | null;
  readonly state: StateWord;
  readonly phase: Phase;
  readonly action: ActionWord;
  readonly actionStatus: ActionStatusWord;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly triggeredBy: string;
  readonly origin: Origin;
  readonly commit: ReleaseCommit | null;
  /**
   * Commit of the release, or, if the action needed no release, of the release that was deployed at that time; null:
   * there was none.
   */
  readonly ran: ReleaseCommand | null;
  readonly totalMilliseconds: number;
  readonly releaseId: string | null;
  readonly failure: FailureRecord | null;
  readonly terraformAction: TerraformAction | null;
  readonly stage: { readonly id: string | null; readonly name: string; readonly position: number };
}

/** A step of a service in a deployment, which has begun. */
export interface BegunStepView {
  readonly serviceId: string;
  readonly name: string;
  readonly metric: 'GIT_CLONE' | 'BUILD' | 'MIRROR_IMAGE' | 'DEPLOYMENT' | 'ROUTER_DEPLOYMENT' | 'EXECUTING';
  readonly status: 'PENDING' | 'RUNNING' | 'DONE' | 'SKIPPED' | 'FAILED' | 'CANCELED';
  readonly attempt: number;
  readonly startedAt: string;
  readonly finishedAt: string | null;
}

export interface DeploymentView {
  readonly deploymentId: string;
  readonly environmentId: string;
  readonly executionId: string | null;
  readonly action: Action;
  readonly status: 'QUEUED' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELED' | 'WITHDRAWN';
  readonly canceling: boolean;
  readonly state: StateWord;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly triggeredBy: string;
  readonly origin: Origin;
  readonly totalMilliseconds: number;
  readonly services: readonly HistoryServiceView[];
}

export interface Page {
  /** Number of the page, from 1. */
  readonly page: number;
  readonly pageSize: number;
  /**
   * Restricts the page to entries before this deployment of the same environment or service. A deployment of another
   * one yields nothing.
   */
  readonly before?: string | undefined;
}

/** A route from the gateway to a service. */
export interface ServedRoute {
  /** Id of the port. */
  readonly id: string;
  /** Number of instances behind the route. */
  readonly backends: number;
}

/** The removed leftovers of a job's ended runs. */
export interface ClearedRuns {
  readonly serviceId: string;
  /** Names of the instances on the cluster. */
  readonly instances: readonly string[];
}

/** A release as it was deployed, or would be deployed. */
export interface ReleaseView {
  readonly id: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly commit: ReleaseCommit | null;
  readonly fields: readonly ReleaseField[];
}

/** The part of `ServiceView` that an overview of many services shows. */
export interface ServiceOverview extends ServiceStateView {
  readonly runningStatus: ServiceView['runningStatus'];
  readonly runningInstances: number | null;
  readonly wantedInstances: number | null;
  /** null: nothing is deployed. */
  readonly releaseId: string | null;
  readonly lastDeploymentAt: string | null;
  /** Why the last deployment failed, if it has ended and no other waits. */
  readonly failure: Pick<FailureRecord, 'code' | 'message' | 'hint'> | null;
}
