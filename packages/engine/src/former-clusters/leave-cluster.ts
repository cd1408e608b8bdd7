import type { Queryable } from '@davit/db';
import { DriverError, type CallContext } from '@davit/drivers';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import * as store from '../store/service-clusters.ts';
import { readRuntimes } from '../store/requests.ts';
import { ClusterUnreachable } from '../shared/cluster-drivers.ts';
import { removeClusterRoutes } from '../routes/cluster-routes.ts';

// Timeout of the removal of a service or of an environment. Drivers give up on an environment well before this, and
// report what blocks its removal.
const removeWithinMilliseconds = 120_000;

/**
 * Removes from a former cluster the objects of a service that now runs elsewhere, and those of its environment if
 * nothing else of the environment is there. Volumes are kept. Idempotent, and safe to run concurrently.
 */
async function leaveOne(
  parts: EngineParts,
  row: store.ServiceClusterRow,
  graceSeconds: number,
  call: CallContext,
): Promise<void> {
  const { cluster } = driversOf(parts, row.driver);
  const gateway = parts.gateways[row.driver];
  await gateway?.remove(row.service_id);
  const { environment_id: environment, service_id: service } = row;
  await removeClusterRoutes(parts, row.driver, { environment, service }, call.signal);
  await cluster.schedules?.remove({ environment, service }, call.signal);
  const old = await cluster.observe({ service: row.service_id }, call.signal);
  const ids = old.map((instance) => instance.id);
  await gateway?.awaitDrained(ids, parts.settings.drainSeconds * 1_000);
  await cluster.retire({ service: row.service_id }, graceSeconds, call);
  if (!row.keeps) await leaveCluster(parts, row, call);
}

/**
 * Removes everything that a cluster has of a service, including volumes. With `isIdle`, does nothing if a deployment
 * has begun to work on the service meanwhile.
 */
export async function leaveCluster(
  parts: EngineParts,
  row: store.ServiceClusterRow,
  call: CallContext,
  isIdle = false,
): Promise<void> {
  const { environment_id: environment, driver } = row;
  const remove = (): Promise<void> => parts.database.transaction((tx) => removeIn(tx, { parts, row, call, isIdle }));
  await parts.clusters.removals.inTurn(`${environment} ${driver}`, remove, call.signal);
}

interface Removal {
  readonly parts: EngineParts;
  readonly row: store.ServiceClusterRow;
  readonly call: CallContext;
  readonly isIdle: boolean;
}

async function removeIn(tx: Queryable, { parts, row, call, isIdle }: Removal): Promise<void> {
  const { service_id: service, environment_id: environment, driver } = row;
  const { cluster } = driversOf(parts, driver);
  await tx.many(store.lockServiceClusters, [environment, driver]);
  if (isIdle && !(await tx.one(store.isToLeave, [service, driver])).leaves) return;
  // The kind comes first: without the history of a Helm release, which is kept on the cluster, nobody would know which
  // objects belong to the release.
  await inTime(call, 'the service', async (within) => {
    await leaveByKind(tx, { parts, row }, within);
    await cluster.removeService(environment, service, within);
  });
  const { others } = await tx.one(store.othersAt, [environment, driver, service]);
  if (!others) await inTime(call, 'the environment', (within) => cluster.removeEnvironment(environment, within));
  await tx.run(store.forgetServiceCluster, [service, driver]);
}

/** Removes what only the kind of the service knows. If the release is unknown, the service may be of any kind. */
async function leaveByKind(tx: Queryable, { parts, row }: Pick<Removal, 'parts' | 'row'>, call: CallContext): Promise<void> {
  const [runtime] = await tx.many(readRuntimes, [[row.service_id]]);
  if (runtime === undefined) return;
  const kinds = runtime.config === null ? parts.kinds.all : [parts.kinds.of(runtime.config)];
  const { cluster } = driversOf(parts, row.driver);
  const { helm, settings } = parts;
  for (const kind of kinds) await kind.leave?.(tx, { cluster, helm, settings, row, runtime }, call);
}

/** Executes a removal with a timeout, because others wait for it. */
async function inTime(call: CallContext, what: string, remove: (within: CallContext) => Promise<void>): Promise<void> {
  const limit = AbortSignal.timeout(removeWithinMilliseconds);
  try {
    await remove({ ...call, signal: AbortSignal.any([call.signal, limit]) });
  } catch (error) {
    if (!limit.aborted || call.signal.aborted || error instanceof DriverError) throw error;
    throw new DriverError({
      cause: 'ENGINE_FAILED',
      message: `The cluster has not removed what it has of ${what} within ${removeWithinMilliseconds / 1_000} s.`,
      hint: 'Something on the cluster blocks the removal, for example a finalizer or a node that does not answer; resolve that, then try again.',
      retryable: true,
      error,
    });
  }
}

/**
 * Removes a service from all clusters except the one on which it runs now. An unreachable cluster is left to the
 * keeper, which removes the service when the cluster is reachable again.
 */
export async function leaveOthers(
  parts: EngineParts,
  { serviceId, driver }: { readonly serviceId: string; readonly driver: string },
  graceSeconds: number,
  call: CallContext,
): Promise<void> {
  for (const row of await parts.database.many(store.clustersOfService, [serviceId])) {
    if (row.driver === driver || parts.drivers[row.driver] === undefined) continue;
    const name = parts.clusters.nameOf(row.driver);
    try {
      await leaveOne(parts, row, graceSeconds, call);
      call.log(row.keeps ? `Nothing runs on ${name} any more; the volumes there stay.` : `Nothing is left on ${name}.`);
    } catch (error) {
      if (!(error instanceof ClusterUnreachable)) throw error;
      call.log(`What is left on ${name} is removed when that cluster answers again.`);
    }
  }
}

/** Returns the notes that users must know before a service moves to another cluster. */
export function moveNotes(from: string, to: string, hasVolumes: boolean): string[] {
  const notes = [`The service moves from ${from} to ${to}: it starts there first, then what runs on ${from} stops.`];
  if (hasVolumes) {
    notes.push(
      `Its volumes are not moved: it starts with empty ones on ${to}, and those on ${from} stay until the service is deleted. Back up first what is needed, and restore it there.`,
    );
  }
  return notes;
}
