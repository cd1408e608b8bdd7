import { backoffMilliseconds } from '@davit/base';
import type { Needs } from '../../deps.ts';
import type { EndpointSettings } from '../shared/public-endpoint.ts';
import { ownershipOf } from './proof.ts';
import { listUnproven } from './store.ts';

/**
 * For each unproven domain: the time of the next DNS check and the number of checks so far. A new process starts from
 * zero.
 */
export type ProofMemory = Map<string, { readonly at: number; readonly times: number }>;

const firstMilliseconds = 15_000;
const maxMilliseconds = 900_000;
const maxDomains = 1000;
const atOnce = 20;

/** Checks for the proof of unproven domains, each one at growing intervals. */
export async function proveDue(
  deps: Needs<'database', keyof EndpointSettings | 'dnsServers' | 'proveDomains'>,
  memory: ProofMemory,
  now: number,
): Promise<void> {
  const rows = await deps.database.many(listUnproven, [maxDomains]);
  const ids = new Set(rows.map(({ id, host }) => `${id} ${host}`));
  for (const key of memory.keys()) if (!ids.has(key)) memory.delete(key);
  const due = rows.filter(({ id, host }) => (memory.get(`${id} ${host}`)?.at ?? 0) <= now).slice(0, atOnce);
  await Promise.all(
    due.map(async (row) => {
      const key = `${row.id} ${row.host}`;
      const times = (memory.get(key)?.times ?? 0) + 1;
      memory.set(key, { times, at: now + backoffMilliseconds(times, firstMilliseconds, maxMilliseconds) });
      await ownershipOf(deps, row);
    }),
  );
}
