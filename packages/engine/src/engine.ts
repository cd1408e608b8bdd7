import { retry } from '@davit/base';
import type { Database } from '@davit/db';
import type { HelmDriver, TerraformDriver } from '@davit/drivers';
import { BackupRunner } from './backups/runner.ts';
import { FolderBackupStore } from './backups/store/folder-store.ts';
import { readChartServices } from './kinds/chart/services.ts';
import { Clusters } from './clusters/clusters.ts';
import type { ClusterMaker } from './shared/cluster-drivers.ts';
import { KeepClusters } from './keep.ts';
import { createEnginePort } from './engine-port.ts';
import { DomainWatch } from './routes/domain-watch.ts';
import { Housekeeper } from './housekeeping/housekeeper.ts';
import { clearEndedRuns } from './jobs/leftovers.ts';
import { allKinds } from './kinds/index.ts';
import type { Kind } from './kinds/kind.ts';
import { Kinds, type ExecutingParts } from './kinds/kinds.ts';
import { noHelm } from './kinds/chart/no-helm.ts';
import { noTerraform } from './kinds/terraform/no-terraform.ts';
import { answerRun, isOpenRun } from './kinds/terraform/state-access.ts';
import { readTerraformResources } from './kinds/terraform/resources.ts';
import type { DriverSet, EngineLog, EngineSettings } from './shared/parts.ts';
import { Scheduler } from './jobs/scheduler.ts';
import { createSourceReader } from './source-reader.ts';
import { isDatabaseUnreachable } from './shared/retry-policy.ts';
import { noCounts, type EngineCounts, type EngineHooks, type EnginePort } from './port.ts';
import { LogArchive } from './log-archive/archive.ts';
import { RedactorPool } from './output/redactor-pool.ts';
import { Handover } from './shared/handover.ts';
import { Runner } from './run/runner.ts';

export interface EngineInput {
  readonly database: Database;
  /** Connection string of the same database, for dedicated sessions: locks and LISTEN. */
  readonly connectionString: string;
  readonly hooks: EngineHooks;
  /** Drivers of this machine, keyed by the `driver` column of clusters. */
  readonly drivers: Readonly<Record<string, DriverSet>>;
  /** Makes the drivers of other clusters. Omitted: there are no other clusters. */
  readonly makeCluster?: ClusterMaker;
  /** Omitted: Terraform configurations are not run. */
  readonly terraform?: TerraformDriver;
  /** Omitted: charts are not deployed. */
  readonly helm?: HelmDriver;
  /**
   * The kinds of services. The first one is the kind of services about which nothing is known. Omitted: `allKinds`.
   */
  readonly kinds?: readonly [Kind, ...Kind[]];
  readonly settings: EngineSettings;
  /** Omitted: nothing is counted. */
  readonly counts?: EngineCounts;
  readonly log: EngineLog;
}

export interface Engine {
  readonly port: EnginePort;
  /**
   * Starts running deployments and keeping the deployed services. An unreachable cluster does not prevent the start: it
   * is retried, and deployments to it fail with the cause. An unreachable database is waited for.
   */
  start(): Promise<void>;
  /** Releases all resources. Deployments under way resume at the next start. Instances and gateway keep running. */
  stop(): Promise<void>;
}

/** Creates the engine of this process. Without `start` it only serves its port: the api role. */
export function createEngine(input: EngineInput): Engine {
  const { drivers: fixed, makeCluster: make, kinds = allKinds, ...rest } = input;
  const { hooks, connectionString, log } = input;
  const clusters = new Clusters({ fixed, ...(make !== undefined && { make }), hooks, connectionString, log });
  const parts: ExecutingParts = {
    terraform: noTerraform,
    helm: noHelm,
    counts: noCounts,
    redactors: new RedactorPool(hooks),
    archive: new LogArchive(rest),
    handover: new Handover(),
    ...rest,
    clusters,
    kinds: new Kinds(kinds),
    drivers: clusters.drivers,
    gateways: clusters.gateways,
  };
  const names = Object.keys(fixed);
  const work = new KeepClusters(parts);
  const domains = new DomainWatch(parts);
  const runner = new Runner(parts);
  const housekeeper = new Housekeeper(parts);
  const scheduler = new Scheduler(parts);
  const backups = new BackupRunner({ engine: parts, store: new FolderBackupStore(parts.settings.backupFolder) });
  let started = false;
  const stopping = new AbortController();
  const onceDatabaseIsThere = (action: () => Promise<void>): Promise<void> =>
    retry(
      {
        attempts: Number.POSITIVE_INFINITY,
        firstPauseMilliseconds: 500,
        maximumPauseMilliseconds: 5_000,
        signal: stopping.signal,
        isRetryable: isDatabaseUnreachable,
        onRetry: (error) => log.warn({ err: error }, 'the database is unreachable; the engine starts once it answers'),
      },
      action,
    );
  return {
    port: createPort(parts, work, fixed),
    start: async () => {
      started = true;
      await Promise.all(names.map((name) => work.startGateway(name)));
      await onceDatabaseIsThere(() => domains.start());
      await Promise.all(names.map((name) => work.start(name)));
      await onceDatabaseIsThere(() =>
        clusters.start({
          start: async (key) => {
            await work.startGateway(key);
            domains.wake();
            await work.start(key);
          },
          wake: (key) => work.wake(key),
          stop: (key) => work.stop(key),
        }),
      );
      await onceDatabaseIsThere(() => runner.start());
      scheduler.start();
      backups.start();
      housekeeper.start();
    },
    stop: async () => {
      if (!started) return clusters.stop();
      started = false;
      stopping.abort();
      // The housekeeper may be moving lines, which it stops with the archive.
      await parts.archive.stop();
      await housekeeper.stop();
      await backups.stop();
      await scheduler.stop();
      await runner.stop();
      await domains.stop();
      await clusters.stop();
      await Promise.all(names.map((name) => work.stop(name)));
    },
  };
}

/** `fixed`: the drivers of this machine. */
function createPort(parts: ExecutingParts, work: KeepClusters, fixed: EngineInput['drivers']): EnginePort {
  const { clusters, database } = parts;
  const [home = ''] = Object.keys(fixed);
  return createEnginePort(database, {
    clusters,
    kinds: parts.kinds,
    source: createSourceReader(parts),
    clearEndedRuns: (which) => clearEndedRuns(parts, database, which),
    servedRoutes: (driver, serviceId) => parts.gateways[driver]?.routesOf(serviceId) ?? null,
    chartServices: (db, serviceId) => readChartServices(parts, db, serviceId),
    clusterHealth: () => work.health((key) => (key === home ? 'local' : key)),
    engineDisk: async (signal) => (await fixed[home]?.imageStore?.space(signal)) ?? null,
    terraformVersions: () => parts.terraform.versions(),
    terraformResources: (db, serviceId) => readTerraformResources(db, parts.hooks, serviceId),
    isTerraformRun: (run) => isOpenRun(parts.database, run),
    terraformState: (run, request) => answerRun(parts, run, request),
  });
}
