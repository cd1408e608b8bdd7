import type { Sensitive } from '@davit/base';
import type { CallContext } from './driver.ts';
import type { Instance, Ownership } from './workload.ts';

/** A name as `helm --set` takes it (`image.tag`, `hosts[0]`), and its value. */
export type HelmSetting = readonly [name: string, value: string];

/** What is laid over the values of a chart. Each of these goes before what stands above it, and in a list the later before the earlier. */
export interface HelmValues {
  /** YAML; `name` is for messages. */
  readonly files: readonly { readonly name: string; readonly content: string }[];
  readonly setJson: readonly HelmSetting[];
  readonly set: readonly HelmSetting[];
  readonly setString: readonly HelmSetting[];
}

/** One release of a chart on a cluster, and what is to be made of it. */
export interface HelmRun {
  /** Of the run alone: everything that Helm is given and writes is below it, and goes with `close`. */
  readonly folder: string;
  readonly release: string;
  readonly namespace: string;
  readonly kubeconfig: Sensitive;
  /** Of one command, with the time for which it waits; 0: a day. */
  readonly timeoutSeconds: number;
  /** null: nothing is installed in this run. */
  readonly install: HelmInstall | null;
}

export interface HelmInstall {
  /** A packaged chart, or a folder with a Chart.yaml. */
  readonly chart: string;
  /** The folder that the chart was fetched into: what is outside of it is not the chart's to read. */
  readonly root: string;
  readonly values: HelmValues;
  /** What `davit.env.KEY` stands for in values. */
  readonly variables: ReadonlyMap<string, string>;
  /** The user's own for `helm upgrade`; checked. */
  readonly arguments: readonly string[];
  /** Kept with the release. */
  readonly labels: Readonly<Record<string, string>>;
}

/** An object that a chart makes. */
export interface ChartObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** null: the release's, or none where its kind has none. */
  readonly namespace: string | null;
  /** Whether the chart says how many replicas it has, or of a CronJob whether it is suspended. */
  readonly saysScale: boolean;
}

/** Helm as a program. */
export interface HelmDriver {
  /** null: it is not here, or no version that Davit works with. */
  version(): Promise<string | null>;
  /**
   * Begins to work on a release. Waits for what a process before this one left. Whoever opens it closes it.
   * HELM_UNAVAILABLE, HELM_ARGUMENT_REFUSED, HELM_VALUES_INVALID.
   */
  open(run: HelmRun, call: CallContext): Promise<HelmSession>;
}

/** A release that is worked on. Each command may fail with HELM_FAILED. */
export interface HelmSession {
  /** What an upgrade would make, asked of the cluster and without making it: its hooks and definitions of kinds as well. */
  render(call: CallContext): Promise<readonly ChartObject[]>;
  /** The same without asking the cluster, which may refuse to say it: what the chart makes of it alone. */
  template(call: CallContext): Promise<readonly ChartObject[]>;
  /** What an upgrade would change, a line each, without values that may be secret. */
  diff(options: { readonly isInstalled: boolean }, call: CallContext): Promise<readonly string[]>;
  /** Installs or upgrades, and waits until everything is ready. One that fails is left as it is, for `rollback` or `uninstall`. */
  upgrade(call: CallContext): Promise<void>;
  /** Makes the release be as it was in that revision, also where an interrupted command left it. `waits`: until that is ready. */
  rollback(revision: number, options: { readonly waits: boolean }, call: CallContext): Promise<void>;
  /** Nothing happens where there is no such release. */
  uninstall(call: CallContext): Promise<void>;
  /** Removes what was written for the run. */
  close(): Promise<void>;
}

/** Where a release is: whose it is, and what Helm calls it. */
export interface ChartPlace {
  readonly owner: Ownership;
  readonly release: string;
}

/** What Helm reaches a cluster with, for one run. */
export interface ChartAccess {
  readonly namespace: string;
  readonly kubeconfig: Sensitive;
}

export interface ChartWish {
  /** Davit's own account. */
  readonly isClusterWide: boolean;
  /** Only for taking away, or bringing back, what was made so: the operator does not forbid that. */
  readonly takesBack: boolean;
  /** For which the access lasts at least. */
  readonly seconds: number;
}

/** One revision of a release, as the cluster keeps it. */
export interface ChartRevision {
  readonly revision: number;
  /** `deployed`, `superseded`, `failed`, `pending-upgrade`, …: Helm's own word. */
  readonly status: string;
  /** Of Davit; null: somebody else installed it. */
  readonly service: string | null;
  readonly rollout: string | null;
}

/** A Service that a release has. */
export interface ChartService {
  readonly name: string;
  readonly type: string;
  readonly ports: readonly { readonly name: string | null; readonly port: number }[];
  readonly selectors: Readonly<Record<string, string>>;
}

/** What runs of a release. */
export interface ChartState {
  /** Pods that its Deployments, StatefulSets and DaemonSets should have, and how many of these are ready. */
  readonly wanted: number;
  readonly ready: number;
  /** One for each container; their `release` and `rollout` are empty, as pods of charts do not say them. */
  readonly instances: readonly Instance[];
}

/**
 * Optional power of a cluster: what Helm and its releases need there. All of it fails with CLUSTER_ACCESS_DENIED, ENGINE_FAILED and
 * ENGINE_UNREACHABLE, and can be done again.
 */
export interface ClusterCharts {
  /**
   * Makes the environment's namespace be there, and an account that may do everything inside of it and nothing elsewhere; the access lasts
   * for that many seconds at least. `isClusterWide`: Davit's own account; HELM_OUTSIDE_ENVIRONMENT where the operator does not let charts have it.
   */
  access(owner: Ownership, wish: ChartWish, signal: AbortSignal): Promise<ChartAccess>;
  /** Which of the objects would not be in the environment's namespace, in words: `ClusterRole reader`. */
  outside(owner: Ownership, objects: readonly ChartObject[], signal: AbortSignal): Promise<readonly string[]>;
  /** Oldest first. */
  revisions(place: ChartPlace, signal: AbortSignal): Promise<readonly ChartRevision[]>;
  /**
   * Does the work and meanwhile looks at the pods that come of these objects. When one can never start, the work is aborted. When it
   * fails, this fails with why a pod is not ready, as far as that is known: IMAGE_NOT_FOUND, PROCESS_EXITED, UNSCHEDULABLE, …
   */
  whileWatched(
    place: ChartPlace,
    objects: readonly ChartObject[],
    work: (signal: AbortSignal) => Promise<void>,
    context: CallContext,
  ): Promise<void>;
  /** Scales what runs of a release to nothing, and waits until it has ended. What cannot be scaled is told. */
  stop(place: ChartPlace, context: CallContext): Promise<void>;
  /**
   * Undoes a stop where an upgrade did not: of objects whose chart says no number of replicas. Waits until all of the release is ready;
   * HELM_FAILED where that takes longer than these seconds.
   */
  wake(place: ChartPlace, objects: readonly ChartObject[], seconds: number, signal: AbortSignal): Promise<void>;
  /** Marks the claims that StatefulSets of a release made, which Helm leaves, for when the release is gone. */
  markClaims(place: ChartPlace, signal: AbortSignal): Promise<void>;
  /** Deletes the claims that were marked; `removeService` does so as well. They go when no pod has them any more. */
  removeClaims(place: ChartPlace, signal: AbortSignal): Promise<void>;
  services(place: ChartPlace, signal: AbortSignal): Promise<readonly ChartService[]>;
  state(place: ChartPlace, signal: AbortSignal): Promise<ChartState>;
}
