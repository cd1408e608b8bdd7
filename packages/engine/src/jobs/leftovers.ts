import { AppError, messageOf } from '@davit/base';
import type { Database } from '@davit/db';
import { DriverError, type Instance } from '@davit/drivers';
import type { ClearedRuns } from '../port.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { knownRuns, openRollouts } from '../store/jobs.ts';
import { isEndKnown } from './known-end.ts';

const timeoutMilliseconds = 60_000;

/**
 * Removes from a cluster the instances of runs that have ended, at once. The keeper does the same at its next look. A
 * run that is still awaited is kept, also between its attempts. Fails with CLUSTER_UNREACHABLE.
 */
export async function clearEndedRuns(
  parts: EngineParts,
  database: Database,
  { driver, serviceIds }: { readonly driver: string; readonly serviceIds: readonly string[] },
): Promise<ClearedRuns[]> {
  if (serviceIds.length === 0) return [];
  await parts.clusters.know(driver);
  // Without a driver nothing can have run.
  if (parts.drivers[driver] === undefined) return [];
  const { cluster } = driversOf(parts, driver);
  const signal = AbortSignal.timeout(timeoutMilliseconds);
  const call = { signal, log: (line: string): void => parts.log.info({ driver }, line) };
  try {
    // First the instances are read, then the runs that are still awaited: a run is recorded before its instance is
    // created.
    const found = await Promise.all(serviceIds.map((service) => cluster.observe({ service }, signal)));
    const open = new Set((await database.many(openRollouts, [serviceIds])).map(({ id }) => id));
    const scheduled = found.flat().filter((instance) => instance.scheduled === true);
    const rows = await database.many(knownRuns, [scheduled.map(({ rollout }) => rollout)]);
    const known = new Map(rows.map((row) => [row.id, row]));
    const isLeft = (instance: Instance): boolean => {
      if (instance.scheduled !== true) return true;
      const recorded = known.get(instance.rollout);
      // A run that the cluster has just started is recorded a moment later.
      return recorded !== undefined && (instance.state === 'EXITED' || isEndKnown(recorded));
    };
    const left = found.flat().filter((instance) => !open.has(instance.rollout) && isLeft(instance));
    const byRun = Map.groupBy(left, ({ service, rollout }) => `${service} ${rollout}`);
    await Promise.all(
      [...byRun.values()].map(async ([one]) => {
        if (one === undefined) return;
        await cluster.retire({ service: one.service, rollout: one.rollout }, parts.settings.terminationGraceSeconds, call);
      }),
    );
    return toCleared(left);
  } catch (error) {
    if (!(error instanceof DriverError) && !signal.aborted) throw error;
    const reason = messageOf(error);
    throw new AppError({
      code: 'CLUSTER_UNREACHABLE',
      message: `The cluster could not be cleaned: ${reason}. Davit removes what is left as soon as it can.`,
      cause: error,
    });
  }
}

function toCleared(left: readonly Instance[]): ClearedRuns[] {
  const byService = Map.groupBy(left, ({ service }) => service);
  return [...byService].map(([serviceId, instances]) => ({ serviceId, instances: instances.map(({ name }) => name) }));
}
