import { kinds } from '@davit/contract';
import { statement } from '@davit/db';
import type { Caller } from '../../../../auth/caller.ts';
import type { Needs } from '../../../../deps.ts';
import { notFound } from '../../../shared/problems.ts';
import { listServices } from '../../list.ts';
import { lockService, type ServiceReference } from '../../lock.ts';
import type { ServiceRecord } from '../../shapes/request.ts';
import type { RecordSettings } from '../../kinds/kind.ts';

const { type: application } = kinds.APPLICATION;

/**
 * SQL condition: the variable `v` is an alias of a built-in variable of the database `d`. The names of these variables
 * begin with `POSTGRESQL_Z1A2B3C4D_` or similar.
 */
const builtInOfDatabase = `starts_with(v.target_builtin, (d.spec ->> 'type') || '_Z' || upper(left(d.id::text, 8)) || '_')`;

/**
 * Parameters: database, organization or null. Returns one row even if no application uses the database, and no row if
 * the database does not exist.
 */
const readUsers = statement<{ environment_id: string; users: readonly string[] }>(
  'read_applications_of_database',
  `select d.environment_id, array(
            select distinct v.service_id from variable v join service s on s.id = v.service_id
             where s.environment_id = d.environment_id and s.type = '${application}' and v.type = 'ALIAS' and ${builtInOfDatabase}) as users
     from service d where d.id = $1 and d.type = 'DATABASE' and ($2::uuid is null or d.organization_id = $2)`,
);

/** Parameters: database, application. */
const removeAliases = statement(
  'remove_aliases_of_database',
  `delete from variable v using service d, service s
    where d.id = $1 and d.type = 'DATABASE' and s.id = $2 and s.environment_id = d.environment_id and s.type = '${application}'
      and v.service_id = s.id and v.type = 'ALIAS' and ${builtInOfDatabase}`,
);

/**
 * Returns the applications of the environment that have an alias of a variable of the database. Fails with NOT_FOUND.
 */
export async function listApplications(
  deps: Needs<'database' | 'engine', keyof RecordSettings>,
  caller: Caller,
  { id }: ServiceReference,
): Promise<{ results: ServiceRecord[] }> {
  const row = await deps.database.maybe(readUsers, [id, caller.organizationId]);
  if (row === undefined) throw notFound('service');
  const all = await listServices(deps, deps.database, row.environment_id);
  return { results: all.filter((record) => row.users.includes(record.id)) };
}

/**
 * Deletes an application's aliases of the database's variables; the next deployment applies this. Fails with NOT_FOUND,
 * also if the application has no such alias.
 */
export async function removeApplication(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  { id, type }: ServiceReference,
  applicationId: string,
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    await lockService(deps, tx, caller, { id, type, purpose: 'add' });
    if ((await tx.run(removeAliases, [id, applicationId])) === 0) throw notFound('application that uses this database');
  });
}
