import { kinds } from '@davit/contract';
import { statement } from '@davit/db';
import type { Caller } from '../../../../auth/caller.ts';
import type { Deps } from '../../../../deps.ts';
import { notFound } from '../../../shared/problems.ts';
import { listServices } from '../../list.ts';
import { lockService, type ServiceReference } from '../../lock.ts';
import type { ServiceRecord } from '../../shapes/request.ts';

const { type: application } = kinds.APPLICATION;

/** Built-in variables of the database that $1 names, by how their names begin: `POSTGRESQL_Z1A2B3C4D_`. */
const builtInOfDatabase = `starts_with(v.target_builtin, (d.spec ->> 'type') || '_Z' || upper(left(d.id::text, 8)) || '_')`;

/** Database, organization or null. One row even where no application uses it; none: there is no such database. */
const readUsers = statement<{ environment_id: string; users: readonly string[] }>(
  'readApplicationsOfDatabase',
  `SELECT d.environment_id, ARRAY(
            SELECT DISTINCT v.service_id FROM variable v JOIN service s ON s.id = v.service_id
             WHERE s.environment_id = d.environment_id AND s.type = '${application}' AND v.type = 'ALIAS' AND ${builtInOfDatabase}) AS users
     FROM service d WHERE d.id = $1 AND d.type = 'DATABASE' AND ($2::uuid IS NULL OR d.organization_id = $2)`,
);

/** Database, application. */
const removeAliases = statement(
  'removeAliasesOfDatabase',
  `DELETE FROM variable v USING service d, service s
    WHERE d.id = $1 AND d.type = 'DATABASE' AND s.id = $2 AND s.environment_id = d.environment_id AND s.type = '${application}'
      AND v.service_id = s.id AND v.type = 'ALIAS' AND ${builtInOfDatabase}`,
);

/** The applications of its environment that have an alias of a variable of the database. NOT_FOUND. */
export async function listApplications(
  deps: Deps,
  caller: Caller,
  { id }: ServiceReference,
): Promise<{ results: ServiceRecord[] }> {
  const row = await deps.database.maybe(readUsers, [id, caller.organizationId]);
  if (row === undefined) throw notFound('service');
  const all = await listServices(deps, deps.database, row.environment_id);
  return { results: all.filter((record) => row.users.includes(record.id)) };
}

/** Takes the aliases of the database's variables from an application; the next deployment applies it. NOT_FOUND also where it has none. */
export async function removeApplication(
  deps: Deps,
  caller: Caller,
  { id, type }: ServiceReference,
  applicationId: string,
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    await lockService(deps, tx, caller, { id, type, purpose: 'add' });
    if ((await tx.run(removeAliases, [id, applicationId])) === 0) throw notFound('application that uses this database');
  });
}
