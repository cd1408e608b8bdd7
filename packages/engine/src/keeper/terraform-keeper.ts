import { DriverError } from '@davit/drivers';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import * as store from '../store/terraform-runs.ts';
import { defaultGraceSeconds } from '../steps/terraform-run.ts';
import { storeLeft } from '../terraform-runs.ts';
import type { Attempts } from './attempts.ts';
import type { Seen } from './observer.ts';
import type { Tending } from './tending.ts';

// Seconds beyond the grace period of Terraform: the state must be read and the pods removed.
const endSeconds = 600;

/**
 * Ends runs of Terraform that outlived their deployment because their cluster was unreachable. Stores their states
 * first, then removes their pods, and last removes their access to their states.
 */
export class TerraformKeeper {
  readonly #parts: EngineParts;
  readonly #driver: string;

  constructor(parts: EngineParts, driver: string) {
    this.#parts = parts;
    this.#driver = driver;
  }

  /** Returns `seen` without the instances of such runs, so that nothing else retires them. */
  async keep(seen: Seen, attempts: Attempts, tending: Tending, signal: AbortSignal): Promise<Seen> {
    const rows = await this.#parts.database.many(store.leftRuns, [this.#driver]);
    if (rows.length === 0) return seen;
    const byService = new Map(seen.byService);
    for (const [service, runs] of Map.groupBy(rows, (row) => row.service_id)) {
      const environment = runs[0]?.environment_id ?? '';
      const ids = runs.map(({ id }) => id);
      const isThere = byService.get(service)?.some(({ rollout }) => ids.includes(rollout)) === true;
      byService.delete(service);
      // The instances in `seen` are older than the rows. A deployment that has just ended may have created a pod in
      // between.
      const isGone = !isThere && runs.every((run) => run.long_over) && !seen.busy.has(environment);
      if (isGone) await this.#parts.database.run(store.removeRuns, [ids]);
      else if (isThere) {
        const end = (): Promise<void> => this.#end({ environment, service }, ids, limited(signal));
        await tending.tend(service, () => attempts.attempt(`end runs of ${service}`, end));
      }
    }
    return { ...seen, byService };
  }

  async #end(
    owner: { readonly environment: string; readonly service: string },
    runs: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { database, log } = this.#parts;
    const set = driversOf(this.#parts, this.#driver);
    const call = { signal, log: (line: string) => log.info({ driver: this.#driver }, line) };
    try {
      for (const left of (await set.terraform?.end({ ...owner, runs }, defaultGraceSeconds, call)) ?? []) {
        const isStored = await storeLeft(this.#parts, owner.service, left);
        log.warn({ service: owner.service, run: left.runId, isStored }, 'a run of Terraform had a state that was not stored');
      }
    } catch (error) {
      // If its files can never be read, the run must not stay forever.
      if (!(error instanceof DriverError) || error.retryable) throw error;
      log.error({ err: error, service: owner.service }, 'what a run of Terraform left could not be read');
    }
    // Only these rollouts are retired, because a new deployment of the service may have begun.
    for (const rollout of runs) await set.cluster.retire({ service: owner.service, rollout }, defaultGraceSeconds, call);
    await database.run(store.removeRuns, [runs]);
  }
}

function limited(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout((defaultGraceSeconds + endSeconds) * 1_000)]);
}
