import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { capsOf } from './caps.ts';
import { readGroups } from './groups.ts';
import { kindOf } from './kinds/index.ts';
import type { RecordSettings } from './kinds/kind.ts';
import { readVisibleEnvironment } from './visible.ts';
import type { ServiceRecord } from './shapes/request.ts';
import { readServices } from './store.ts';

/** The services of one type in an environment. */
export interface ServicesReference {
  readonly environmentId: string;
  readonly type: string;
}

/** Returns all services of an environment, of every type, oldest first. The caller must have checked access. */
export function listServices(
  deps: Needs<'engine', keyof RecordSettings>,
  db: Queryable,
  environmentId: string,
): Promise<ServiceRecord[]> {
  return readRecords(deps, db, environmentId, null);
}

export async function listServicesOfType(
  deps: Needs<'database' | 'engine', keyof RecordSettings>,
  caller: Caller,
  { environmentId, type }: ServicesReference,
): Promise<{ results: ServiceRecord[] }> {
  await readVisibleEnvironment(deps.database, caller, environmentId);
  return { results: await readRecords(deps, deps.database, environmentId, type) };
}

async function readRecords(
  deps: Needs<'engine', keyof RecordSettings>,
  db: Queryable,
  environmentId: string,
  type: string | null,
): Promise<ServiceRecord[]> {
  const rows = await db.many(readServices, [environmentId, type]);
  const groups = await readGroups(
    db,
    rows.map(({ spec }) => spec),
  );
  return Promise.all(
    rows.map(async (row) => kindOf(row.type).record(row, await capsOf(deps.engine, row.driver), groups, deps.config)),
  );
}
