import type { Sensitive } from '@davit/base';
import type { UpgradeState } from '@davit/drivers';
import type { FailureRecord } from '../model.ts';

/** A cluster beside this machine's own, with what it is reached with. */
export interface ClusterAccess {
  /** Of its record; it is the `driver` of everything that is on it. */
  readonly id: string;
  /** For messages. */
  readonly name: string;
  /** Another one: it is to be connected anew. */
  readonly version: string;
  readonly kubeconfig: Sensitive;
}

export interface ClusterFacts {
  readonly engine: string;
  readonly version: string;
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
}

/** What a cluster answers. */
export interface ClusterState {
  /** null: it does not answer, or not to Davit. */
  readonly facts: ClusterFacts | null;
  /** Why there are no facts, where it is not for permissions that are missing. `CLUSTER_ACCESS_DENIED` and `CLUSTER_ACCESS_INVALID`: somebody has to give other credentials; others may pass. */
  readonly failure: FailureRecord | null;
  /** What Davit may not do there, in words; empty: it may do all that it needs to. */
  readonly missingPermissions: readonly string[];
  /** null: it is upgraded by whoever installed it. */
  readonly upgrade: UpgradeState | null;
}
