import type { BackupSubject } from '@davit/engine/port';
import { databaseHost } from '../../../variable/index.ts';
import type { DatabaseSpec } from '../../kinds/database.ts';
import type { ServiceSpec } from '../../kinds/kind.ts';

/** With what the tools of a database reach it, inside of its environment. `service`: a database. */
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

/** GiB that a database may have; null: it has no volume. */
export function storageOf(spec: ServiceSpec): number | null {
  return toDatabaseSpec(spec).storage[0]?.size ?? null;
}

// Whoever calls has found it as a database.
function toDatabaseSpec(spec: ServiceSpec): DatabaseSpec {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return spec as DatabaseSpec;
}
