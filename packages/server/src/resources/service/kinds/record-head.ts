import type { ServiceRow } from '../rows.ts';

/** Returns the members with which the records of all types begin. */
export function recordHead<Type extends string>(row: ServiceRow, type: Type) {
  return {
    id: row.id,
    created_at: row.created_at,
    updated_at: row.updated_at,
    environment: { id: row.environment_id },
    name: row.name,
    service_type: type,
  };
}
