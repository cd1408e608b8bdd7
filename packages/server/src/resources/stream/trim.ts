import type { Database } from '@davit/db';
import { parseSnapshot } from './position.ts';
import * as store from './store.ts';

const checkpointEverySeconds = 60;
/** Whatever their age: so that what a reader has to look through stays bounded. */
export const mostEvents = 200_000;

export interface Kept {
  readonly seconds: number;
  readonly events?: number;
  readonly checkpointSeconds?: number;
}

/**
 * Removes events that were committed longer ago than they are kept. By snapshots, not by their times: an event that was written an
 * hour ago and committed now is new. Who resumes behind the horizon is told so.
 */
export async function trimStream(database: Database, kept: Kept): Promise<void> {
  const { seconds, events = mostEvents, checkpointSeconds = checkpointEverySeconds } = kept;
  await database.transaction(async (tx) => {
    await tx.many(store.trimLock);
    await tx.run(store.foreignRemove);
    await tx.run(store.checkpointTake, [checkpointSeconds]);
    const horizon = await tx.maybe(store.horizonMove, [seconds, events]);
    if (horizon === undefined) return;
    const { xmax, underway } = parseSnapshot(horizon.snapshot);
    await tx.run(store.eventsRemove, [xmax, underway]);
  });
}
