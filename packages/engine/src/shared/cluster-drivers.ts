import {
  DriverError,
  type ClusterBuilder,
  type ClusterDriver,
  type EngineImages,
  type Gateway,
  type ImageStore,
  type TerraformDriver,
} from '@davit/drivers';
import type { ClusterAccess } from '../port/clusters.ts';

/** The drivers of one cluster, without those that exist once per installation (git). */
export interface ClusterDrivers {
  readonly cluster: ClusterDriver;
  /** Omitted: the cluster pulls images from their registries itself. */
  readonly builder?: EngineImages;
  /** Registry to which images built for such a cluster are pushed. Omitted: nothing is built for the cluster. */
  readonly imageRegistry?: ImageRegistry;
  /**
   * Builds images inside the cluster, and pushes them to its registry. Omitted: the engine of this machine builds them.
   */
  readonly clusterBuilder?: ClusterBuilder;
  /** Omitted: the cluster itself routes requests to its instances, or nothing does. */
  readonly gateway?: Gateway;
  /** Omitted: images stored on the cluster are not cleaned up. */
  readonly imageStore?: ImageStore;
  /**
   * Makes the driver that runs Terraform configurations on the cluster, through the cluster's driver. Omitted: they run
   * on this machine.
   */
  readonly terraform?: (cluster: ClusterDriver) => TerraformDriver;
  /** Closes all connections. Calls under way may fail. */
  close?(): void;
}

/** A container registry that has a record. */
export interface ImageRegistry {
  readonly id: string;
  /** Id of the registry record that nodes pull with. Its credentials can be read in the namespaces of tenants. */
  readonly pullId: string;
  /** Prefix of image names, below the path of the registry: `davit`. */
  readonly folder: string;
}

/**
 * Makes the drivers of a cluster, without contacting the cluster. May throw a DriverError: CLUSTER_ACCESS_INVALID if
 * the kubeconfig is unusable.
 */
export type ClusterMaker = (cluster: ClusterAccess) => ClusterDrivers;

/** A call failed because the cluster is unreachable. The caller's work can wait for the cluster. */
export class ClusterUnreachable extends DriverError {
  /** Key of the cluster, the `driver` of everything on it. */
  readonly key: string;

  constructor(cluster: { readonly id: string; readonly name: string }, reason: string, error?: unknown) {
    super({
      cause: 'CLUSTER_UNREACHABLE',
      message: `the cluster ${cluster.name} does not answer: ${reason}`,
      retryable: true,
      error,
    });
    this.name = 'ClusterUnreachable';
    this.key = cluster.id;
  }
}

/**
 * The gateway of clusters to which Davit routes no requests: those that route requests themselves, and those on which
 * nothing runs.
 */
export const noGateway: Gateway = {
  check: () => undefined,
  start: () => Promise.resolve(),
  apply: () => Promise.resolve(),
  awaitDrained: () => Promise.resolve(),
  traffic: () => Promise.resolve([]),
  stop: () => Promise.resolve(),
};
