import type { Queryable } from '@davit/db';
import type { CallContext, ClusterRoute } from '@davit/drivers';
import type { KeepTools, Look } from '../keeper/keep-tools.ts';
import type { KeptService } from '../keeper/kept-service.ts';
import type { ClusterSnapshot } from '../keeper/observer.ts';
import type { Action, ReleaseConfig, ReleaseValue, TerraformAction } from '../model.ts';
import type { StepName, Steps, StepsInput } from '../plan/plan.ts';
import type { EngineParts } from '../shared/parts.ts';
import type { Step } from '../steps/step.ts';
import type { ServiceClusterRow } from '../store/service-clusters.ts';
import type { RuntimeRow } from '../store/requests.ts';

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

/** A cluster that a service leaves. */
export interface Leaving {
  readonly parts: EngineParts;
  readonly row: ServiceClusterRow;
  readonly runtime: RuntimeRow;
}

/**
 * The behaviour of the engine that differs between kinds of services. The engine asks the kind, and inspects neither
 * types of services nor sources itself. A new kind is a folder beside this file and an entry in `index.ts`.
 */
export interface Kind<Name extends StepName = StepName> {
  /** Name for messages of the engine's developers. Nothing is decided by it. */
  readonly name: string;
  /** Types of services, as the API has them, that are of this kind even if they have no release. */
  readonly serviceTypes: readonly string[];
  /** Returns whether a release is of this kind. A release is of exactly one kind. Pure. */
  owns(config: Pick<ReleaseConfig, 'source' | 'job'>): boolean;

  /** The steps of this kind's deployments, by name. Kinds may share a step. */
  readonly steps: Readonly<Record<Name, Step>>;
  /** Returns the steps of an action. Pure. */
  plan(action: Action, input: StepsInput): Steps<Name>;
  /** Actions that are refused. */
  readonly refusals: Readonly<Partial<Record<Action, Refusal>>>;

  /**
   * Makes one service on one cluster as it should be. The keeper calls this at each look, unless a deployment of the
   * environment is running. A rejection ends the look; `tools.attempts` does not.
   */
  keep(runtime: KeptService, look: Look, tools: KeepTools): Promise<void>;
  /**
   * Ends what earlier deployments of this kind left on a cluster, before each look. Returns what was seen without the
   * instances of that work, so that nothing else retires them. Omitted: nothing is left that `keep` does not find.
   */
  keepRemains?(seen: ClusterSnapshot, tools: KeepTools): Promise<ClusterSnapshot>;
  /**
   * Removes what a cluster that the service leaves has of the service besides instances and volumes. Runs in a
   * transaction, and may be repeated. Omitted: there is nothing else.
   */
  leave?(tx: Queryable, leaving: Leaving, call: CallContext): Promise<void>;
  /**
   * Returns what a route leads to on a cluster that routes requests by itself. Omitted: the instances of the service.
   * Pure.
   */
  routeTarget?(serviceId: string, portId: string, config: Pick<ReleaseConfig, 'source'>): ClusterRoute['to'];

  /**
   * Whether instances keep running until they are stopped. The keeper then restarts them, follows their output, derives
   * conditions and `running_status` from what happens to them, and ends those of former rollouts.
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
  /**
   * Returns the Terraform action that views show for a deployment. `recorded`: the one that the release names, if the
   * release still exists. Omitted: views show none. Pure.
   */
  terraformAction?(action: Action, recorded: TerraformAction | null): TerraformAction;
}
