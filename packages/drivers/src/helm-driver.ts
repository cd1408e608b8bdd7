import type { Sensitive } from '@davit/base';
import type { CallContext } from './call-context.ts';
import type { Instance, Ownership } from './workload.ts';

/** A name in the syntax of `helm --set` (`image.tag`, `hosts[0]`), and its value. */
export type HelmSetting = readonly [name: string, value: string];

/**
 * Values that override those of a chart. Each field takes precedence over the fields above it. In a list, later entries
 * take precedence over earlier ones.
 */
export interface HelmValues {
  /** YAML; `name` is for messages. */
  readonly files: readonly { readonly name: string; readonly content: string }[];
  readonly setJson: readonly HelmSetting[];
  readonly set: readonly HelmSetting[];
  readonly setString: readonly HelmSetting[];
}

/** One release of a chart on a cluster, and what to do with it. */
export interface HelmRun {
  /** Folder of this run only. It contains all inputs and outputs of Helm; `close` deletes it. */
  readonly folder: string;
  readonly release: string;
  readonly namespace: string;
  readonly kubeconfig: Sensitive;
  /** Timeout of one command, including the time for which it waits; 0 means a day. */
  readonly timeoutSeconds: number;
  /** Null if this run installs nothing. */
  readonly install: HelmInstall | null;
}

export interface HelmInstall {
  /** A packaged chart, or a folder with a Chart.yaml. */
  readonly chart: string;
  /** The folder that the chart was fetched into. The chart must not read files outside of it. */
  readonly root: string;
  readonly values: HelmValues;
  /** Values of the variables that chart values refer to as `davit.env.KEY`. */
  readonly variables: ReadonlyMap<string, string>;
  /** The user's additional arguments for `helm upgrade`; already checked. */
  readonly arguments: readonly string[];
  /** Labels that are stored with the release. */
  readonly labels: Readonly<Record<string, string>>;
}

/** An object that a chart creates. */
export interface ChartObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Null: the namespace of the release, or none if the kind is cluster-scoped. */
  readonly namespace: string | null;
  /** True if the chart sets the number of replicas or, for a CronJob, whether it is suspended. */
  readonly saysScale: boolean;
}

/** Runs the program Helm. */
export interface HelmDriver {
  /** Returns the version of Helm; null if Helm is not installed or Davit does not support its version. */
  version(): Promise<string | null>;
  /**
   * Starts work on a release. Waits for processes that an earlier Davit process left behind. The caller must close the
   * session. Fails with HELM_UNAVAILABLE, HELM_ARGUMENT_REFUSED, HELM_VALUES_INVALID.
   */
  open(run: HelmRun, call: CallContext): Promise<HelmSession>;
}

/** A release under work. Each command may fail with HELM_FAILED. */
export interface HelmSession {
  /**
   * Returns the objects that an upgrade would create, including hooks and CustomResourceDefinitions, as a dry run of
   * the cluster.
   */
  render(call: CallContext): Promise<readonly ChartObject[]>;
  /**
   * Returns the same objects as `render`, but from the chart alone without contacting the cluster: the cluster may
   * refuse to return them.
   */
  template(call: CallContext): Promise<readonly ChartObject[]>;
  /** Returns what an upgrade would change, one line for each change, without values that may be secret. */
  diff(options: { readonly isInstalled: boolean }, call: CallContext): Promise<readonly string[]>;
  /**
   * Installs or upgrades the release, and waits until everything is ready. A failed release is left as it is, for
   * `rollback` or `uninstall`.
   */
  upgrade(call: CallContext): Promise<void>;
  /**
   * Restores the release to a revision, also after an interrupted command. If `waits` is set, waits until the release
   * is ready.
   */
  rollback(revision: number, options: { readonly waits: boolean }, call: CallContext): Promise<void>;
  /** Uninstalls the release. Does nothing if the release does not exist. */
  uninstall(call: CallContext): Promise<void>;
  /** Removes the files of the run. */
  close(): Promise<void>;
}

/** Identifies a release: its owner, and its name in Helm. */
export interface ChartRef {
  readonly owner: Ownership;
  readonly release: string;
}

/** Namespace and kubeconfig with which Helm reaches a cluster during one run. */
export interface ChartAccess {
  readonly namespace: string;
  readonly kubeconfig: Sensitive;
}

export interface ChartAccessRequest {
  /** True: Helm gets Davit's own account, with its rights on the whole cluster. */
  readonly isClusterWide: boolean;
  /**
   * True if the run only removes or restores objects that were created with Davit's own account. The operator's setting
   * does not forbid that account then.
   */
  readonly takesBack: boolean;
  /** Seconds for which the access must stay valid at least. */
  readonly seconds: number;
}

/** One revision of a release, as the cluster stores it. */
export interface ChartRevision {
  readonly revision: number;
  /** Helm's own status: `deployed`, `superseded`, `failed`, `pending-upgrade`, …. */
  readonly status: string;
  /** Id of the service in Davit; null if the release was not installed by Davit. */
  readonly service: string | null;
  readonly rollout: string | null;
}

/** A Service of a release. */
export interface ChartService {
  readonly name: string;
  readonly type: string;
  readonly ports: readonly { readonly name: string | null; readonly port: number }[];
  readonly selectors: Readonly<Record<string, string>>;
}

/** State of the workloads of a release. */
export interface ChartState {
  /** Desired number of pods of its Deployments, StatefulSets and DaemonSets; `ready` is how many of these are ready. */
  readonly wanted: number;
  readonly ready: number;
  /** One instance for each container. `release` and `rollout` are empty, as pods of charts do not carry them. */
  readonly instances: readonly Instance[];
}

/**
 * Optional capability of a cluster: the operations that Helm and its releases need there. All methods are idempotent,
 * and fail with CLUSTER_ACCESS_DENIED, ENGINE_FAILED and ENGINE_UNREACHABLE.
 */
export interface ClusterCharts {
  /**
   * Creates the environment's namespace if it is missing, and an account that may do everything inside it and nothing
   * elsewhere. The access stays valid for at least `seconds`. With `isClusterWide` the account is Davit's own; fails
   * with HELM_OUTSIDE_ENVIRONMENT if the operator does not allow that for charts.
   */
  access(owner: Ownership, access: ChartAccessRequest, signal: AbortSignal): Promise<ChartAccess>;
  /** Returns the objects that would lie outside the environment's namespace, as text: `ClusterRole reader`. */
  outside(owner: Ownership, objects: readonly ChartObject[], signal: AbortSignal): Promise<readonly string[]>;
  /** Returns the revisions of a release, oldest first. */
  revisions(chart: ChartRef, signal: AbortSignal): Promise<readonly ChartRevision[]>;
  /**
   * Runs `work` and meanwhile watches the pods that these objects create. If a pod can never start, `work` is aborted.
   * If `work` fails, this fails with the reason why a pod is not ready, if it is known: IMAGE_NOT_FOUND,
   * PROCESS_EXITED, UNSCHEDULABLE, …
   */
  whileWatched(
    chart: ChartRef,
    objects: readonly ChartObject[],
    work: (signal: AbortSignal) => Promise<void>,
    context: CallContext,
  ): Promise<void>;
  /**
   * Scales the workloads of a release to zero and waits until their pods have ended. Logs the workloads that cannot be
   * scaled.
   */
  stop(chart: ChartRef, context: CallContext): Promise<void>;
  /**
   * Undoes `stop` for objects that an upgrade did not scale up: those whose chart sets no number of replicas. Waits
   * until the whole release is ready; fails with HELM_FAILED if that takes longer than `seconds`.
   */
  wake(chart: ChartRef, objects: readonly ChartObject[], seconds: number, signal: AbortSignal): Promise<void>;
  /**
   * Marks the PersistentVolumeClaims that StatefulSets of a release created, for the time when the release is gone:
   * Helm does not delete them.
   */
  markClaims(chart: ChartRef, signal: AbortSignal): Promise<void>;
  /**
   * Deletes the marked claims; `removeService` does so as well. Kubernetes removes a claim once no pod uses it any
   * more.
   */
  removeClaims(chart: ChartRef, signal: AbortSignal): Promise<void>;
  services(chart: ChartRef, signal: AbortSignal): Promise<readonly ChartService[]>;
  state(chart: ChartRef, signal: AbortSignal): Promise<ChartState>;
}
