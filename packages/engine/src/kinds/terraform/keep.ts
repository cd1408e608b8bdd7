import { DriverError } from '@davit/drivers';
import { driversOf } from '../../shared/parts.ts';
import * as store from '../../store/terraform-runs.ts';
import { terminationGrace } from '../../workload/workload.ts';
import { defaultGraceSeconds } from './run.ts';
import { storeLeft } from './state-access.ts';
import { retireInstances, type KeepTools, type Look } from '../../keeper/keep-tools.ts';
import type { KeptService } from '../../keeper/kept-service.ts';
import type { ClusterSnapshot } from '../../keeper/observer.ts';

// Seconds beyond the grace period of Terraform: the state must be read and the pods removed.
const endSeconds = 600;

/** Removes all instances of a configuration. None of them stays after its deployment. */
export async function keepTerraform(runtime: KeptService, { seen }: Look, tools: KeepTools): Promise<void> {
  const instances = seen.byService.get(runtime.service_id) ?? [];
  await retireInstances(tools, runtime.service_id, instances, terminationGrace(runtime.config, tools.parts.settings));
}

/**
 * Ends runs of Terraform that outlived their deployment because their cluster was unreachable. Stores their states
 * first, then removes their pods, and last removes their access to their states. Returns `seen` without the instances
 * of such runs, so that nothing else retires them.
 */
export async function keepRuns(seen: ClusterSnapshot, tools: KeepTools): Promise<ClusterSnapshot> {
  const { parts, driver, queue: tending, attempts } = tools;
  const rows = await parts.database.many(store.leftRuns, [driver]);
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
    if (isGone) await parts.database.run(store.removeRuns, [ids]);
    else if (isThere) {
      const end = (): Promise<void> => endRuns(tools, { environment, service }, ids);
      await tending.run(service, () => attempts.attempt(`end runs of ${service}`, end));
    }
  }
  return { ...seen, byService };
}

async function endRuns(
  { parts, driver, call: callFor }: KeepTools,
  owner: { readonly environment: string; readonly service: string },
  runs: readonly string[],
): Promise<void> {
  const { database, log } = parts;
  const set = driversOf(parts, driver);
  const call = callFor(defaultGraceSeconds + endSeconds);
  try {
    for (const left of (await set.terraform?.end({ ...owner, runs }, defaultGraceSeconds, call)) ?? []) {
      const isStored = await storeLeft(parts, owner.service, left);
      log.warn(
        { service: owner.service, run: left.runId, isStored },
        'stored the state that a run of Terraform had left unstored',
      );
    }
  } catch (error) {
    // If its files can never be read, the run must not stay forever.
    if (!(error instanceof DriverError) || error.retryable) throw error;
    log.error({ err: error, service: owner.service }, 'the files of a run of Terraform could not be read');
  }
  // Only these rollouts are retired, because a new deployment of the service may have begun.
  for (const rollout of runs) await set.cluster.retire({ service: owner.service, rollout }, defaultGraceSeconds, call);
  await database.run(store.removeRuns, [runs]);
}
