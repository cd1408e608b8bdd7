import type { BackupSubject } from '@davit/engine/port';
import { databaseHost } from '../../../variable/index.ts';
import type { DatabaseSpec } from '../../kinds/database.ts';
import type { ServiceSpec } from '../../kinds/spec.ts';

/**
 * Returns the connection settings with which backup tools reach a database inside its environment. `service` must be a
 * database.
 */
export function backupSubject({
  id,
  name,
  spec,
}: {
  readonly id: string;
  readonly name: string;
  readonly spec: ServiceSpec;
}): BackupSubject {
  const { type, version, recipe, password_secret_id } = toDatabaseSpec(spec);
  return {
    name,
    type,
    version,
    host: databaseHost(id, type),
    port: recipe.port,
    login: recipe.login,
    database: recipe.database,
    passwordSecretId: password_secret_id,
  };
}

/** Returns the storage size of a database in GiB, or null if the database has no volume. */
export function storageOf(spec: ServiceSpec): number | null {
  return toDatabaseSpec(spec).storage[0]?.size ?? null;
}

// The caller has already checked that the service is a database.
function toDatabaseSpec(spec: ServiceSpec): DatabaseSpec {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return spec as DatabaseSpec;
}
