import type { Action, FailureRecord, ReleaseCommand, ReleaseCommit, TerraformAction } from '../model.ts';
import type { ActionStatusWord, ActionWord, Phase, StateWord } from '../states.ts';
import type { Origin } from './request.ts';

export interface StepView {
  readonly metric: string;
  readonly status: 'SUCCESS' | 'ERROR' | 'CANCEL' | 'SKIP';
  readonly durationMilliseconds: number;
}

/** What observes a condition: the end of an instance, a kill for memory that it survived, its probes, its number of processes, its disks. */
export type ConditionKind = 'INSTANCE_END' | 'MEMORY' | 'LIVENESS' | 'READINESS' | 'PROCESSES' | 'DISK';
export type ConditionSeverity = 'WARNING' | 'ERROR';

/** What is observed to be wrong with a service that is deployed. */
export interface ConditionView {
  readonly kind: ConditionKind;
  readonly severity: ConditionSeverity;
  readonly failure: FailureRecord;
  /** Name of the instance; null: it concerns all. */
  readonly instance: string | null;
  /** How often it was observed since `since`. */
  readonly occurrences: number;
  readonly since: string;
  readonly seenAt: string;
}

/** What the engine knows of a service. */
export interface ServiceView {
  readonly serviceId: string;
  readonly state: StateWord;
  readonly action: ActionWord;
  readonly actionStatus: ActionStatusWord;
  /** Execution id of the latest deployment that took the service out of the queue. */
  readonly executionId: string | null;
  readonly lastDeploymentAt: string | null;
  readonly isPartOfLastDeployment: boolean;
  readonly steps: { readonly details: readonly StepView[]; readonly totalMilliseconds: number | null } | null;
  readonly waitingRequestId: string | null;
  readonly waitingRequests: number;
  readonly failure: FailureRecord | null;
  /** Configuration of the release that runs (or would, if it were not stopped); null: never deployed. */
  readonly deployedConfigHash: string | null;
  readonly deployedReleaseId: string | null;
  readonly deployedCommit: ReleaseCommit | null;
  /** The latest deployment attempt failed or was canceled before it changed what runs. */
  readonly lastAttemptFailed: boolean;
  /** Of a Terraform configuration: what its latest deployment was for; null: no such service. */
  readonly terraformAction: TerraformAction | null;
  /** How many instances should run and how many are ready; null: it has none that stay, or nobody knows. */
  readonly wantedInstances: number | null;
  readonly runningInstances: number | null;
  readonly runningStatus: 'STARTING' | 'RUNNING' | 'WARNING' | 'ERROR' | 'STOPPING' | 'STOPPED' | 'COMPLETED' | null;
  /** Worst and oldest first; empty: nothing is observed to be wrong. */
  readonly conditions: readonly ConditionView[];
}

export interface EnvironmentView {
  /** Of the latest deployment that left the queue, finished or not; null: none yet. */
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
  /** Of the release, or, where the action needed none, of the one that it found deployed; null: there was none. */
  readonly ran: ReleaseCommand | null;
  readonly totalMilliseconds: number;
  readonly releaseId: string | null;
  readonly failure: FailureRecord | null;
  readonly terraformAction: TerraformAction | null;
  readonly stage: { readonly id: string | null; readonly name: string; readonly position: number };
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
  /** From 1. */
  readonly page: number;
  readonly pageSize: number;
  /** Only what came before this deployment of the same environment or service; of another one: nothing. */
  readonly before?: string | undefined;
}

/** A way from the gateway to a service. */
export interface ServedRoute {
  /** Of the port. */
  readonly id: string;
  /** Instances that it leads to. */
  readonly backends: number;
}

/** What was removed of a job's ended runs. */
export interface ClearedRuns {
  readonly serviceId: string;
  /** Names that the cluster had for them. */
  readonly instances: readonly string[];
}
