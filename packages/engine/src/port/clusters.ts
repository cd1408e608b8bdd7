import type { Sensitive } from '@davit/base';
import type { UpgradeState } from '@davit/drivers';
import type { FailureRecord } from '../model.ts';

/** A cluster other than this machine's own, with its credentials. */
export interface ClusterAccess {
  /** Id of the cluster's record. Everything on the cluster has it as its `driver`. */
  readonly id: string;
  /** Name of the cluster, for messages. */
  readonly name: string;
  /** Version of the credentials. When it changes, the cluster is connected again. */
  readonly version: string;
  readonly kubeconfig: Sensitive;
}

/** Software and capacity of a cluster that answers. */
export interface ClusterFacts {
  readonly engine: string;
  readonly version: string;
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
}

/** The result of querying a cluster. */
export interface ClusterState {
  /** null: the cluster is unreachable, or refuses Davit. */
  readonly facts: ClusterFacts | null;
  /**
   * The reason why there are no facts, unless it is missing permissions. `CLUSTER_ACCESS_DENIED` and
   * `CLUSTER_ACCESS_INVALID` require other credentials; other failures may be transient.
   */
  readonly failure: FailureRecord | null;
  /** Permissions that Davit lacks on the cluster, in words. Empty: Davit has all that it needs. */
  readonly missingPermissions: readonly string[];
  /** null: Davit does not upgrade the cluster; its operator does. */
  readonly upgrade: UpgradeState | null;
}
