import { DriverError } from '@davit/drivers';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import * as store from '../store/terraform-runs.ts';
import { defaultGraceSeconds } from '../steps/terraform-run.ts';
import { storeLeft } from '../terraform-runs.ts';
import type { Attempts } from './attempts.ts';
import type { Seen } from './observer.ts';
import type { Tending } from './tending.ts';

// Beyond the grace of its program: its state is read, then its pods go.
const endSeconds = 600;

/**
 * Ends runs of Terraform that are left after their deployment, as their cluster was away when it ended: in order, with their states, then
 * their pods, and last of all what lets them reach their states.
 */
export class TerraformKeeper {
  readonly #parts: EngineParts;
  readonly #driver: string;

  constructor(parts: EngineParts, driver: string) {
    this.#parts = parts;
    this.#driver = driver;
  }

  /** What else there is to look after: instances of such runs are none for others to retire. */
  async keep(seen: Seen, attempts: Attempts, tending: Tending, signal: AbortSignal): Promise<Seen> {
    const rows = await this.#parts.database.many(store.leftRuns, [this.#driver]);
    if (rows.length === 0) return seen;
    const byService = new Map(seen.byService);
    for (const [service, runs] of Map.groupBy(rows, (row) => row.service_id)) {
      const environment = runs[0]?.environment_id ?? '';
      const ids = runs.map(({ id }) => id);
      const isThere = byService.get(service)?.some(({ rollout }) => ids.includes(rollout)) === true;
      byService.delete(service);
      // What was seen is older than the rows: a pod may have been made in between by a deployment that has just ended.
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
      // Where there is no way to its files it must not stay for ever.
      if (!(error instanceof DriverError) || error.retryable) throw error;
      log.error({ err: error, service: owner.service }, 'what a run of Terraform left could not be read');
    }
    // Not all of the service: a deployment may have begun since.
    for (const rollout of runs) await set.cluster.retire({ service: owner.service, rollout }, defaultGraceSeconds, call);
    await database.run(store.removeRuns, [runs]);
  }
}

function limited(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout((defaultGraceSeconds + endSeconds) * 1_000)]);
}
