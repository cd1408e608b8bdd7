import type { Action, JobEvent, ReleaseConfig, ReleaseValue } from '../model.ts';
import type { StepName } from '../plan/plan.ts';

/** The steps of a service in a deployment, in the order in which they run. */
export interface Steps {
  /** Done for all services of a stage before any of them is deployed. */
  readonly build: readonly StepName[];
  readonly deploy: readonly StepName[];
}

/** What a kind's steps depend on. */
export interface StepsInput {
  /** What is to run; null where the action needs none. */
  readonly config: ReleaseConfig | null;
  /** The release has its image already: a rollback or a restart. */
  readonly hasImage: boolean;
  /** The event of a job that was asked for by itself. */
  readonly event?: JobEvent | null;
}

/** Ids of credentials. */
export interface Credentials {
  /** null: the registry wants none, or nothing is pulled. */
  readonly registry: string | null;
  readonly gitTokens: readonly string[];
}

/** Why an action cannot be done to a service. */
export interface Refusal {
  /** What follows the name of the service: `is a Helm chart, …`. */
  readonly reason: string;
  /** Where the action is asked for a whole environment, the service is left out and nothing is refused. */
  readonly isLeftOut: boolean;
}

/**
 * What the engine does differently for one kind of service. It asks the kind, and does not look at types of services and sources by itself: a new
 * kind is a file of this folder, and the compiler names the tables that lack it.
 */
export interface Kind {
  readonly name: 'PROCESS' | 'JOB' | 'CHART' | 'TERRAFORM';
  /** The steps of an action. Pure. */
  steps(action: Action, input: StepsInput): Steps;
  /** Actions that cannot be done. */
  readonly refusals: Readonly<Partial<Record<Action, Refusal>>>;
  /**
   * Instances stay until they are stopped. Then the keeper restarts them, follows their output, and makes conditions and `running_status` of what
   * happens to them.
   */
  readonly hasLastingInstances: boolean;
  /** Davit makes its containers, so that it watches what they write to the disk. */
  readonly hasOwnContainers: boolean;
  /** Requests can be sent to it while it is deployed. */
  readonly isServing: boolean;
  /** What it is made of is an image, which a deployment builds or pulls. */
  readonly hasImage: boolean;
  /** A former release can be deployed again without an image. */
  readonly isRedeployedWithoutImage: boolean;
  /** A deployment runs a command of the user's, and its state is EXECUTING meanwhile. */
  readonly isExecuted: boolean;
  /** Also when it is stopped or deleted something of the deployed release runs, which can fail and be taken back. */
  readonly runsWhenTakenDown: boolean;
  /** The part of the names of built-in variables that says what the service is. */
  readonly variableWord: 'APPLICATION' | 'JOB';
  /** Which credentials fetch what a release is made of. Pure. */
  credentials(config: ReleaseConfig): Credentials;
  /** Values of a release besides variables and files of the service, which may use secrets. Pure. */
  values(config: ReleaseConfig): readonly ReleaseValue[];
}
