import type { Queryable } from '@davit/db';
import type { CallContext, ClusterDriver, ClusterRoute, HelmDriver } from '@davit/drivers';
import type { Action, ReleaseConfig, ReleaseValue, TerraformAction } from '../model.ts';
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

/** A service that leaves a cluster, and what removes the rest of it there. */
export interface Leaving {
  readonly cluster: ClusterDriver;
  readonly helm: HelmDriver;
  readonly settings: { readonly installation: string; readonly workFolder: string };
  readonly row: ServiceClusterRow;
  readonly runtime: RuntimeRow;
}

/**
 * The traits of a kind of services: what any part of the engine may ask about it. Steps ask for traits too, so this
 * file imports nothing that executes a kind; see `Kind` for that.
 */
export interface KindTraits {
  /** Name for messages of the engine's developers. Nothing is decided by it. */
  readonly name: string;
  /** Types of services, as the API has them, that are of this kind even if they have no release. */
  readonly serviceTypes: readonly string[];
  /** Returns whether a release is of this kind. A release is of exactly one kind. Pure. */
  owns(config: Pick<ReleaseConfig, 'source' | 'job'>): boolean;

  /** Actions that are refused. */
  readonly refusals: Readonly<Partial<Record<Action, Refusal>>>;

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

/** The traits of the kinds of services of an engine. `Kinds` implements and documents them. */
export interface KnownKinds {
  readonly all: readonly KindTraits[];
  of(config: Pick<ReleaseConfig, 'source' | 'job'> | null): KindTraits;
  ofService(serviceType: string | null | undefined, config?: Pick<ReleaseConfig, 'source' | 'job'> | null): KindTraits;
}
