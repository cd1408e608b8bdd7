import type { Instance } from '@davit/drivers';
import type { ReleaseConfig } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { openBackupWork } from '../store/backups.ts';
import { runningRollouts } from '../store/jobs.ts';
import { busyEnvironments, releaseConfigs, servicesBeingDeployed } from '../store/journal.ts';
import { keptRuntimes } from '../store/requests.ts';
import type { Kept } from './kept.ts';

/** What is on a cluster, and what should be. */
export interface Seen {
  readonly gatewayVersion: number;
  readonly byService: ReadonlyMap<string, readonly Instance[]>;
  readonly busy: ReadonlySet<string>;
  /** Services of deployments under way. */
  readonly deploying: ReadonlySet<string>;
  readonly runtimes: readonly Kept[];
  /** Of the releases that run or should. */
  readonly configs: ReadonlyMap<string, ReleaseConfig>;
  /** Rollouts of jobs that a schedule has begun and that have not ended. */
  readonly jobRuns: ReadonlySet<string>;
  /** Backups and restores under way, whose instances are their own. */
  readonly backupWork: ReadonlySet<string>;
}

/**
 * Reads what is and what should be. The order matters. First what is, then which environments a deployment works on, then what should
 * be: a deployment that ends or begins in between can then only make the keeper do nothing, or what the deployment has done already.
 */
export class Observer {
  readonly #parts: EngineParts;
  readonly #driver: string;
  readonly #configs = new Map<string, ReleaseConfig>();

  constructor(parts: EngineParts, driver: string) {
    this.#parts = parts;
    this.#driver = driver;
  }

  async observe(signal: AbortSignal): Promise<Seen> {
    const { cluster } = driversOf(this.#parts, this.#driver);
    const { database } = this.#parts;
    const gatewayVersion = this.#parts.gateways[this.#driver]?.version ?? 0;
    const instances = await cluster.observe({}, signal);
    const busy = new Set((await database.many(busyEnvironments)).map((row) => row.environment_id));
    const deploying = new Set((await database.many(servicesBeingDeployed)).map((row) => row.service_id));
    const byService = Map.groupBy(instances, (instance) => instance.service);
    const rows = await database.many(keptRuntimes, [this.#driver, [...byService.keys()]]);
    const releases = rows.flatMap((row) => (row.desired === 'RUNNING' && row.release_id !== null ? [row.release_id] : []));
    await this.#learnConfigs(new Set([...releases, ...instances.map((instance) => instance.release)]));
    const jobRuns = new Set((await database.many(runningRollouts)).map((row) => row.id));
    const backupWork = new Set((await database.many(openBackupWork)).map((row) => row.id));
    const configs = this.#configs;
    const runtimes = rows.map((row) => ({
      ...row,
      // What of a service is left on the cluster that it was moved away from goes.
      desired: row.driver === this.#driver ? row.desired : ('NONE' as const),
      config: configs.get(row.release_id ?? '') ?? null,
    }));
    return { gatewayVersion, byService, busy, deploying, runtimes, configs, jobRuns, backupWork };
  }

  /** Reads the configurations of these releases that are not known yet, and forgets all others. */
  async #learnConfigs(releases: ReadonlySet<string>): Promise<void> {
    for (const id of this.#configs.keys()) if (!releases.has(id)) this.#configs.delete(id);
    const unknown = [...releases].filter((id) => !this.#configs.has(id));
    if (unknown.length === 0) return;
    for (const row of await this.#parts.database.many(releaseConfigs, [unknown])) this.#configs.set(row.id, row.config);
  }
}
