import type { Instance } from '@davit/drivers';
import type { ReleaseConfig } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { openBackupWork } from '../store/backups.ts';
import { runningRollouts } from '../store/jobs.ts';
import { busyEnvironments, releaseConfigs, servicesBeingDeployed } from '../store/journal.ts';
import { keptRuntimes } from '../store/requests.ts';
import type { KeptService } from './kept-service.ts';

/** The observed and the desired state of a cluster. */
export interface ClusterSnapshot {
  readonly gatewayVersion: number;
  readonly byService: ReadonlyMap<string, readonly Instance[]>;
  readonly busy: ReadonlySet<string>;
  /** Services whose deployment is running. */
  readonly deploying: ReadonlySet<string>;
  /** Rollouts of running deployments. */
  readonly openRollouts: ReadonlySet<string>;
  readonly runtimes: readonly KeptService[];
  /** Configurations of the releases that run or should run. */
  readonly configs: ReadonlyMap<string, ReleaseConfig>;
  /** Rollouts of job runs that a schedule started and that have not ended. */
  readonly jobRuns: ReadonlySet<string>;
  /** Ids of running backups and restores, which have instances of their own. */
  readonly backupWork: ReadonlySet<string>;
}

/**
 * Reads the observed and the desired state. The order matters: first the instances, then the environments with running
 * deployments, then the desired state. If a deployment begins or ends in between, the keeper can only do nothing, or
 * repeat what the deployment has done.
 */
export class Observer {
  readonly #parts: EngineParts;
  readonly #driver: string;
  readonly #configs = new Map<string, ReleaseConfig>();

  constructor(parts: EngineParts, driver: string) {
    this.#parts = parts;
    this.#driver = driver;
  }

  async observe(signal: AbortSignal): Promise<ClusterSnapshot> {
    const { cluster } = driversOf(this.#parts, this.#driver);
    const { database } = this.#parts;
    const gatewayVersion = this.#parts.gateways[this.#driver]?.version ?? 0;
    const instances = await cluster.observe({}, signal);
    const busy = new Set((await database.many(busyEnvironments)).map((row) => row.environment_id));
    const open = await database.many(servicesBeingDeployed);
    const deploying = new Set(open.map((row) => row.service_id));
    const openRollouts = new Set(open.map((row) => row.rollout));
    const byService = Map.groupBy(instances, (instance) => instance.service);
    const rows = await database.many(keptRuntimes, [this.#driver, [...byService.keys()]]);
    const releases = rows.flatMap((row) => (row.desired === 'RUNNING' && row.release_id !== null ? [row.release_id] : []));
    await this.#learnConfigs(new Set([...releases, ...instances.map((instance) => instance.release)]));
    const jobRuns = new Set((await database.many(runningRollouts)).map((row) => row.id));
    const backupWork = new Set((await database.many(openBackupWork)).map((row) => row.id));
    const configs = this.#configs;
    const runtimes = rows.map((row) => ({
      ...row,
      // Whatever a service left on its former cluster must be removed.
      desired: row.driver === this.#driver ? row.desired : ('NONE' as const),
      config: configs.get(row.release_id ?? '') ?? null,
    }));
    return { gatewayVersion, byService, busy, deploying, openRollouts, runtimes, configs, jobRuns, backupWork };
  }

  /** Reads the configurations of these releases that are not known yet, and forgets all others. */
  async #learnConfigs(releases: ReadonlySet<string>): Promise<void> {
    for (const id of this.#configs.keys()) if (!releases.has(id)) this.#configs.delete(id);
    const unknown = [...releases].filter((id) => !this.#configs.has(id));
    if (unknown.length === 0) return;
    for (const row of await this.#parts.database.many(releaseConfigs, [unknown])) this.#configs.set(row.id, row.config);
  }
}
