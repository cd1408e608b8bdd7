import type { Readable } from 'node:stream';
import type {
  CallContext,
  ClusterDescription,
  ClusterDriver,
  ClusterMetrics,
  ClusterRoutes,
  ClusterUpgrades,
  InstanceEvent,
  OnLine,
} from '../driver.ts';
import type { ClusterHealth } from '../cluster-health.ts';
import type { ClusterCharts } from '../helm-driver.ts';
import type { ClusterBuilder } from '../image-builder.ts';
import type { ClusterScaling } from '../scaling.ts';
import type { ClusterSchedules } from '../schedules.ts';
import type { Instance, LogPosition, Selector, Workload } from '../workload.ts';
import { upload, readFile, download } from './archives.ts';
import { clusterBuilder } from './build/cluster-builder.ts';
import { clusterCharts } from './charts/index.ts';
import { closeApi, openApi } from './client/api.ts';
import type { ClusterScope } from './client/cluster-scope.ts';
import { readKubeconfig } from './client/kubeconfig.ts';
import { translated } from './client/refusals.ts';
import { readServiceAccount } from './client/service-account.ts';
import { askVersion, describeCluster, identityOf, isAtLeast, pingCluster } from './cluster/describe.ts';
import { missingPermissions } from './cluster/permissions.ts';
import { faultsOfInstances } from './diagnosis/instance-faults.ts';
import { lastProbe } from './diagnosis/last-probe.ts';
import { followLogs } from './diagnosis/logs.ts';
import { findSelected, toInstance } from './instances/instances.ts';
import { watchInstances } from './instances/watch.ts';
import { awaitReady } from './lifecycle/progress.ts';
import { revive } from './lifecycle/revival.ts';
import { startWorkload } from './lifecycle/start.ts';
import { defaultSettings, type ClusterSettings } from './manifests/settings.ts';
import { clusterMetrics } from './capabilities/metrics.ts';
import { clusterRoutes } from './capabilities/routes.ts';
import { clusterScaling } from './capabilities/scaling.ts';
import { clusterSchedules } from './capabilities/schedules.ts';
import { clusterUpgrades } from './capabilities/upgrades.ts';
import { removeEnvironment, removeService } from './removal.ts';
import { retire } from './removal.ts';

export interface KubernetesDriverInput {
  /**
   * Text of a kubeconfig. A kubeconfig that names programs or files is refused. If null, the driver uses the service
   * account of the pod of this process, on the cluster of that pod.
   */
  readonly kubeconfig: string | null;
  /** The installation whose objects this driver creates and sees. */
  readonly installation: string;
  /** Missing settings default to `defaultSettings`, one by one. */
  readonly settings?: Partial<ClusterSettings>;
}

/**
 * Opens the cluster driver for Kubernetes 1.27 or later. Asks the server for its version. Fails with
 * CLUSTER_ACCESS_INVALID, CLUSTER_ACCESS_DENIED or ENGINE_UNREACHABLE. `close` closes its connections.
 */
export async function openKubernetesDriver(
  { kubeconfig, installation, settings }: KubernetesDriverInput,
  signal: AbortSignal,
): Promise<KubernetesDriver> {
  const api = openApi(kubeconfig === null ? readServiceAccount() : readKubeconfig(kubeconfig));
  try {
    const version = await askVersion(api, signal);
    const is130 = isAtLeast(version, { major: 1, minor: 30 });
    const traits = { canLinger: is130, canBuild: is130, hasSidecars: isAtLeast(version, { major: 1, minor: 29 }) };
    return new KubernetesDriver({ api, installation, settings: { ...defaultSettings, ...settings }, traits });
  } catch (error) {
    closeApi(api);
    throw translated(error, 'The connection to the cluster could not be opened');
  }
}

/**
 * The driver for Kubernetes. It differs from a container engine:
 * - The kubelet runs the probes. It removes instances that are not ready from their addresses and restarts those whose
 *   liveness probe fails, also while Davit is down. `probe` returns the kubelet's result, and `health` its reasons.
 * - The cluster restarts processes that exit. `revive`, which the keeper does not call here, replaces the pod. It
 *   leaves a pod that is still being created to the cluster.
 * - `start` waits until the image is pulled and the process has started. Missing images and nodes are detected there.
 */
export class KubernetesDriver implements ClusterDriver {
  readonly kind = 'kubernetes';
  readonly metrics: ClusterMetrics;
  readonly health: ClusterHealth;
  readonly routes: ClusterRoutes;
  readonly builder: ClusterBuilder;
  readonly scaling: ClusterScaling;
  readonly charts: ClusterCharts;
  readonly upgrades?: ClusterUpgrades;
  readonly schedules: ClusterSchedules;
  readonly #scope: ClusterScope;

  constructor(scope: ClusterScope) {
    this.#scope = scope;
    this.health = { faults: (instanceIds, signal) => faultsOfInstances(scope, instanceIds, signal) };
    this.routes = clusterRoutes(scope);
    this.builder = clusterBuilder(scope);
    this.scaling = clusterScaling(scope);
    this.charts = clusterCharts(scope);
    this.schedules = clusterSchedules(scope);
    this.metrics = clusterMetrics(scope);
    if (scope.settings.kubernetesVersion !== null) this.upgrades = clusterUpgrades(scope, scope.settings.kubernetesVersion);
  }

  close(): void {
    closeApi(this.#scope.api);
  }

  async describe(signal: AbortSignal): Promise<ClusterDescription> {
    return describeCluster(this.#scope.api, signal);
  }

  async ping(signal: AbortSignal): Promise<void> {
    await pingCluster(this.#scope.api, signal);
  }

  async identity(signal: AbortSignal): Promise<string | null> {
    try {
      return await identityOf(this.#scope.api, signal);
    } catch (error) {
      throw translated(error, 'The cluster did not return its identity (the UID of the namespace kube-system)');
    }
  }

  /**
   * Returns what Davit does and the credentials do not allow (`create deployments.apps`). Empty if nothing is missing.
   */
  async missingPermissions(signal: AbortSignal): Promise<readonly string[]> {
    return missingPermissions(this.#scope.api, signal);
  }

  async start(workload: Workload, context: CallContext): Promise<void> {
    await startWorkload(this.#scope, workload, context);
  }

  async awaitReady(workload: Workload, context: CallContext): Promise<readonly Instance[]> {
    return awaitReady(this.#scope, workload, context);
  }

  /** Does nothing: the controllers of Kubernetes start instances again from the beginning. */
  setRestartPolicy(): Promise<void> {
    return Promise.resolve();
  }

  async observe(selector: Selector, signal: AbortSignal): Promise<readonly Instance[]> {
    try {
      return (await findSelected(this.#scope, selector, signal)).map(toInstance);
    } catch (error) {
      throw translated(error, 'The instances could not be listed');
    }
  }

  async retire(selector: Selector, graceSeconds: number, context: CallContext): Promise<void> {
    await retire(this.#scope, selector, graceSeconds, context);
  }

  async revive(instanceId: string, context: CallContext): Promise<void> {
    await revive(this.#scope, instanceId, context);
  }

  async removeService(environment: string, service: string, context: CallContext): Promise<void> {
    await removeService(this.#scope, { environment, service }, context);
  }

  async removeEnvironment(environment: string, context: CallContext): Promise<void> {
    await removeEnvironment(this.#scope, environment, context);
  }

  /** Returns the kubelet's latest result. Liveness is always null, because the kubelet handles it itself. */
  async probe(
    workload: Workload,
    instance: Instance,
    which: 'readiness' | 'liveness',
    signal: AbortSignal,
  ): Promise<string | null> {
    return workload[which] === null || which === 'liveness' ? null : lastProbe(this.#scope, instance, signal);
  }

  async followLogs(instanceId: string, position: LogPosition | null, onLine: OnLine, signal: AbortSignal): Promise<void> {
    await followLogs(this.#scope, instanceId, position, { onLine, signal });
  }

  async readFile(
    instanceId: string,
    file: { readonly path: string; readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<string | null> {
    return readFile(this.#scope, instanceId, file, signal);
  }

  async download(instanceId: string, path: string, signal: AbortSignal): Promise<Readable> {
    return download(this.#scope, instanceId, path, signal);
  }

  async upload(
    instanceId: string,
    what: { readonly folder: string; readonly archive: Readable },
    signal: AbortSignal,
  ): Promise<void> {
    await upload(this.#scope, instanceId, what, signal);
  }

  async watch(onEvent: (event: InstanceEvent) => void, signal: AbortSignal): Promise<void> {
    await watchInstances(this.#scope, onEvent, signal);
  }
}
