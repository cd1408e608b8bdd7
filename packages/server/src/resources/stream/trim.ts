import type { Database } from '@davit/db';
import { parseSnapshot } from './position.ts';
import * as store from './store.ts';

const checkpointEverySeconds = 60;
/** Most events to keep, whatever their age, to limit the number that a reader must scan. */
export const maxEvents = 200_000;

export interface EventRetention {
  readonly seconds: number;
  readonly events?: number;
  readonly checkpointSeconds?: number;
}

/**
 * Removes events that were committed before the retention time. Compares snapshots instead of times: an event written
 * an hour ago and committed now is new. A client that resumes before the horizon receives a RESET event.
 */
export async function trimStream(database: Database, kept: EventRetention): Promise<void> {
  const { seconds, events = maxEvents, checkpointSeconds = checkpointEverySeconds } = kept;
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
