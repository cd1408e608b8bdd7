import type { Database } from '@davit/db';
import type { TerraformDriver } from '@davit/drivers';
import { BackupRunner } from './backups/runner.ts';
import { FolderBackupStore } from './backups/store/folder-store.ts';
import { createEnginePort } from './engine-port.ts';
import { DomainWatch } from './keeper/domain-watch.ts';
import { GatewaySync } from './keeper/gateway-sync.ts';
import { Housekeeper } from './housekeeping/housekeeper.ts';
import { Keeper } from './keeper/keeper.ts';
import { Meter } from './metrics/meter.ts';
import { clearEndedRuns } from './jobs/leftovers.ts';
import { noTerraform } from './no-terraform.ts';
import { readTerraformResources } from './terraform-resources.ts';
import type { DriverSet, EngineLog, EngineParts, EngineSettings } from './parts.ts';
import { Scaler } from './scaling/scaler.ts';
import { Scheduler } from './jobs/scheduler.ts';
import { createSourceReader } from './source-reader.ts';
import type { EngineHooks, EnginePort } from './port.ts';
import { Runner } from './run/runner.ts';

export interface EngineInput {
  readonly database: Database;
  /** Of the same database, for sessions of their own: locks and LISTEN. */
  readonly connectionString: string;
  readonly hooks: EngineHooks;
  /** By the `driver` column of clusters. */
  readonly drivers: Readonly<Record<string, DriverSet>>;
  /** Left out: Terraform configurations are not run. */
  readonly terraform?: TerraformDriver;
  readonly settings: EngineSettings;
  readonly log: EngineLog;
}

export interface Engine {
  readonly port: EnginePort;
  /**
   * Begins to run deployments and to keep what should run. A cluster that does not answer is no obstacle: it is tried again, and
   * deployments to it fail with their cause.
   */
  start(): Promise<void>;
  /** Lets go of everything; deployments under way go on with the next start. Instances and gateway are left running. */
  stop(): Promise<void>;
}

const describeForMilliseconds = 10_000;
const describeTimeoutMilliseconds = 3_000;

/** The engine of this process. Without `start` it only answers its port: the api role. */
export function createEngine(input: EngineInput): Engine {
  const waits = input.hooks.gatewayDomains !== undefined;
  const gateways = Object.fromEntries(
    Object.entries(input.drivers).map(([name, set]) => [name, new GatewaySync(set.gateway, waits)]),
  );
  const parts: EngineParts = { terraform: noTerraform, ...input, gateways };
  const names = Object.keys(input.drivers);
  const clusters = names.map((name) => {
    const keeper = new Keeper(parts, name);
    const scaler = new Scaler(parts, name, keeper);
    return { keeper, scaler, meter: new Meter(parts, name, (pass) => scaler.look(pass)) };
  });
  const domains = new DomainWatch(parts);
  const runner = new Runner(parts);
  const housekeeper = new Housekeeper(parts);
  const scheduler = new Scheduler(parts);
  const backups = new BackupRunner({ engine: parts, store: new FolderBackupStore(parts.settings.backupFolder) });
  let started = false;
  return {
    port: createEnginePort(input.database, {
      describe: descriptions(input.drivers),
      source: createSourceReader(parts),
      clearEndedRuns: (which) => clearEndedRuns(parts, input.database, which),
      servedRoutes: (driver, serviceId) => gateways[driver]?.routesOf(serviceId) ?? null,
      terraformVersions: () => parts.terraform.versions(),
      terraformResources: (db, serviceId) => readTerraformResources(db, parts.hooks, serviceId),
    }),
    start: async () => {
      started = true;
      await Promise.all(names.map((name) => startGateway(parts, name)));
      await domains.start();
      await Promise.all(clusters.map(({ keeper }) => keeper.start()));
      await runner.start();
      scheduler.start();
      backups.start();
      housekeeper.start();
      for (const { meter } of clusters) meter.start();
    },
    stop: async () => {
      if (!started) return;
      started = false;
      await Promise.all(clusters.map(({ meter, scaler }) => Promise.all([meter.stop(), scaler.stop()])));
      await housekeeper.stop();
      await backups.stop();
      await scheduler.stop();
      await runner.stop();
      await domains.stop();
      await Promise.all(clusters.map(({ keeper }) => keeper.stop()));
    },
  };
}

async function startGateway(parts: EngineParts, name: string): Promise<void> {
  try {
    await parts.drivers[name]?.gateway.start();
  } catch (error) {
    // Services without public ports can be deployed all the same; the first change of routes tries again and reports it.
    parts.log.error({ err: error, driver: name }, 'the gateway could not be started');
  }
}

/** What a cluster is, remembered for some seconds: every record of a service shows the cluster's capacity. */
function descriptions(drivers: EngineInput['drivers']): EnginePort['describeCluster'] {
  const known = new Map<string, { readonly until: number; readonly answer: ReturnType<EnginePort['describeCluster']> }>();
  return (name) => {
    const former = known.get(name);
    if (former !== undefined && Date.now() < former.until) return former.answer;
    const answer = describe(drivers, name);
    known.set(name, { until: Date.now() + describeForMilliseconds, answer });
    return answer;
  };
}

async function describe(drivers: EngineInput['drivers'], name: string): ReturnType<EnginePort['describeCluster']> {
  const cluster = drivers[name]?.cluster;
  if (cluster === undefined) return null;
  try {
    return await cluster.describe(AbortSignal.timeout(describeTimeoutMilliseconds));
  } catch {
    return null;
  }
}
