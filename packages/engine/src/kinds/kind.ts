import type { Action, JobEvent, ReleaseConfig, ReleaseValue } from '../model.ts';
import type { StepName } from '../plan/plan.ts';

/** The steps of a service in a deployment, in the order in which they run. */
export interface Steps {
  /** Steps that are done for all services of a stage before any of them is deployed. */
  readonly build: readonly StepName[];
  readonly deploy: readonly StepName[];
}

/** The input that a kind's steps depend on. */
export interface StepsInput {
  /** The configuration to run; null if the action needs none. */
  readonly config: ReleaseConfig | null;
  /** Whether the release already has its image: a rollback or a restart. */
  readonly hasImage: boolean;
  /** The event of a job that was requested explicitly. */
  readonly event?: JobEvent | null;
}

/** Ids of credentials. */
export interface Credentials {
  /** null: the registry needs no credentials, or nothing is pulled. */
  readonly registry: string | null;
  readonly gitTokens: readonly string[];
}

/** The reason why an action cannot be done to a service. */
export interface Refusal {
  /** Text that follows the name of the service: `is a Helm chart, …`. */
  readonly reason: string;
  /** If the action is requested for a whole environment, the service is left out and the request is not refused. */
  readonly isLeftOut: boolean;
}

/**
 * The behaviour of the engine that differs between kinds of services. The engine uses the kind, and does not inspect
 * types of services and sources itself. A new kind is a file in this folder, an entry in `index.ts`, and an entry in
 * the keeper, which the compiler asks for.
 */
export interface Kind {
  readonly name: 'PROCESS' | 'JOB' | 'CHART' | 'TERRAFORM';
  /** Returns the steps of an action. Pure. */
  steps(action: Action, input: StepsInput): Steps;
  /** Actions that are refused. */
  readonly refusals: Readonly<Partial<Record<Action, Refusal>>>;
  /**
   * Whether instances keep running until they are stopped. The keeper then restarts them, follows their output, and
   * derives conditions and `running_status` from what happens to them.
   */
  readonly hasLastingInstances: boolean;
  /** Whether Davit creates the containers. Davit then watches what the containers write to the disk. */
  readonly hasOwnContainers: boolean;
  /** Whether requests can be sent to the service while it is deployed. */
  readonly isServing: boolean;
  /** Whether the service runs from an image, which a deployment builds or pulls. */
  readonly hasImage: boolean;
  /** Whether a former release can be deployed again without an image. */
  readonly isRedeployedWithoutImage: boolean;
  /** Whether a deployment runs a command of the user. Its state is EXECUTING meanwhile. */
  readonly isExecuted: boolean;
  /** Whether stopping and deleting also run something of the deployed release, which can fail and be undone. */
  readonly runsWhenTakenDown: boolean;
  /** The part of the names of built-in variables that names the type of the service. */
  readonly variableWord: 'APPLICATION' | 'JOB';
  /** Returns the ids of the credentials needed to fetch a release. Pure. */
  credentials(config: ReleaseConfig): Credentials;
  /** Returns the values of a release, other than the variables and files of the service, that may use secrets. Pure. */
  values(config: ReleaseConfig): readonly ReleaseValue[];
}
