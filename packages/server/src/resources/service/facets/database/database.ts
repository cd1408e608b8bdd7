import { databaseModes, databaseTypes, type operations, type Response } from '@davit/contract';
import type { Caller } from '../../../../auth/caller.ts';
import { versionsOf } from '../../../../catalogue/databases.ts';
import type { Needs } from '../../../../deps.ts';
import { notFound } from '../../../shared/problems.ts';
import { readSecretValues } from '../../../variable/index.ts';
import { readVisibleEnvironment } from '../../visible.ts';
import { databaseAddress, type DatabaseSpec } from '../../kinds/database.ts';
import type { RecordSettings } from '../../kinds/kind.ts';
import type { ServiceReference } from '../../lock.ts';
import type { ServiceRow } from '../../rows.ts';
import { readService } from '../../store.ts';

type Credentials = Response<(typeof operations)['getDatabaseMasterCredentials']>;
type Versions = Response<(typeof operations)['listDatabaseVersion']>;
type Configuration = Response<(typeof operations)['listEnvironmentDatabaseConfig']>;

/**
 * Returns the credentials for connecting to a database. No other operation shows its password. Fails with NOT_FOUND.
 */
export async function readCredentials(
  deps: Needs<'database' | 'vault', keyof RecordSettings>,
  caller: Caller,
  reference: ServiceReference,
): Promise<Credentials> {
  const row = await readDatabase(deps, caller, reference);
  const id = row.spec.password_secret_id;
  const [secret] = await deps.database.many(readSecretValues, [[id]]);
  if (secret === undefined) throw new Error(`the password of database ${row.id} is missing`);
  return { ...databaseAddress(row, deps.config), login: row.spec.recipe.login, password: deps.vault.open(id, secret.sealed) };
}

/** Returns the versions that the catalogue has for the type of a database, oldest first. Fails with NOT_FOUND. */
export async function listVersions(
  deps: Needs<'database' | 'databases'>,
  caller: Caller,
  reference: ServiceReference,
): Promise<Versions> {
  const { spec } = await readDatabase(deps, caller, reference);
  return { results: versionsOf(deps.databases, spec.type).map((name) => ({ name })) };
}

/** Returns all types and versions of databases, with the modes that can be deployed. Fails with NOT_FOUND. */
export async function listConfiguration(
  deps: Needs<'database' | 'databases'>,
  caller: Caller,
  environmentId: string,
): Promise<Configuration> {
  await readVisibleEnvironment(deps.database, caller, environmentId);
  return {
    results: databaseTypes.map((type) => ({
      database_type: type,
      version: versionsOf(deps.databases, type).flatMap((name) =>
        databaseModes.map((supported_mode) => ({ name, supported_mode })),
      ),
    })),
  };
}

async function readDatabase(
  { database }: Needs<'database'>,
  caller: Caller,
  { id, type }: ServiceReference,
): Promise<ServiceRow<DatabaseSpec>> {
  const row = await database.batched(readService, [id, type, caller.organizationId]);
  if (row === undefined) throw notFound('service');
  // The type of the row determines the type of the spec.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return row as ServiceRow<DatabaseSpec>;
}
