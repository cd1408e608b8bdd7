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

/** What one cluster is worked with, apart from what an installation has once (git). */
export interface ClusterDrivers {
  readonly cluster: ClusterDriver;
  /** Left out: it brings images from their registries by itself. */
  readonly builder?: EngineImages;
  /** Where that is so: what is built for it is pushed there. Left out: nothing is built for it. */
  readonly imageRegistry?: ImageRegistry;
  /** Builds what is built for it inside of it, and pushes it to its registry. Left out: the engine of this machine builds. */
  readonly clusterBuilder?: ClusterBuilder;
  /** Left out: requests are led to its instances by the cluster itself, or not at all. */
  readonly gateway?: Gateway;
  /** Left out: what it keeps of images is not looked after. */
  readonly imageStore?: ImageStore;
  /** What runs Terraform configurations there, by way of what the cluster is worked with; left out: this machine does. */
  readonly terraform?: (cluster: ClusterDriver) => TerraformDriver;
  /** Lets go of connections. Calls that are under way may fail. */
  close?(): void;
}

/** A container registry of the records. */
export interface ImageRegistry {
  readonly id: string;
  /** The record of it that nodes pull with: what they get can be read where tenants are. */
  readonly pullId: string;
  /** Before the names of images, below the path of the registry: `davit`. */
  readonly folder: string;
}

/**
 * Makes the drivers of a cluster, without asking it anything yet. May throw a DriverError: CLUSTER_ACCESS_INVALID where the kubeconfig
 * cannot be used.
 */
export type ClusterMaker = (cluster: ClusterAccess) => ClusterDrivers;

/** A call to a cluster that does not answer. What it was for can wait for the cluster. */
export class ClusterAway extends DriverError {
  /** The `driver` of what is on it. */
  readonly key: string;

  constructor(cluster: { readonly id: string; readonly name: string }, reason: string, error?: unknown) {
    super({
      cause: 'CLUSTER_UNREACHABLE',
      message: `the cluster ${cluster.name} does not answer: ${reason}`,
      retryable: true,
      error,
    });
    this.name = 'ClusterAway';
    this.key = cluster.id;
  }
}

/** Where Davit leads no requests: for clusters that do so by themselves, or where nothing runs. */
export const noGateway: Gateway = {
  check: () => undefined,
  start: () => Promise.resolve(),
  apply: () => Promise.resolve(),
  awaitDrained: () => Promise.resolve(),
  traffic: () => Promise.resolve([]),
  stop: () => Promise.resolve(),
};
