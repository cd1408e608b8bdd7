import type { Queryable } from '@davit/db';
import * as store from './store.ts';

/** An event that is being processed. */
export type Task<Event> = Omit<store.EventRow, 'event'> & { readonly event: Event };

/** The action taken for a service, and its reason. */
export interface Verdict {
  readonly verdict: store.VerdictRow['verdict'];
  readonly reason: string;
  readonly commitId: string | null;
  readonly requestId?: string | null;
}

type Judged = Pick<store.CandidateRow, 'id' | 'name' | 'environment_id' | 'environment_name'>;

/** Stores the verdict. Returns false if there already is one from an earlier attempt at the event. */
export async function writeVerdict(db: Queryable, eventId: string, service: Judged, verdict: Verdict): Promise<boolean> {
  const { id, name, environment_id, environment_name } = service;
  const { commitId, reason, requestId = null } = verdict;
  const values = [eventId, id, name, environment_id, environment_name, verdict.verdict, reason, commitId, requestId];
  return (await db.maybe(store.recordVerdict, values)) !== undefined;
}

/** Returns the services that do not yet have a verdict for this event. */
export async function withoutVerdict<Service extends Judged>(
  db: Queryable,
  eventId: string,
  services: readonly Service[],
): Promise<Service[]> {
  const done = new Set((await db.many(store.verdictsOf, [eventId])).map(({ service_id }) => service_id));
  return services.filter(({ id }) => !done.has(id));
}

export function byEnvironment<Service extends Pick<Judged, 'environment_id'>>(
  services: readonly Service[],
): ReadonlyMap<string, readonly Service[]> {
  return Map.groupBy(services, ({ environment_id }) => environment_id);
}
