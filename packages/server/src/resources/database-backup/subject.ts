import type { BackupSubject } from '@davit/engine/port';
import type { DatabaseSpec } from '../service/index.ts';
import { databaseHost } from '../variable/index.ts';

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
  readonly spec: object;
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

// The caller has already checked that the service is a database.
function toDatabaseSpec(spec: object): DatabaseSpec {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return spec as DatabaseSpec;
}
