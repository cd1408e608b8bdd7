import { isRecord } from '@davit/base';
import type { Operation } from '@davit/contract';

/** Schemas of an operation, in requests and answers. */
function schemasOf({ query, body, response, events }: Operation): readonly unknown[] {
  return [query, body, response, ...Object.values(events ?? {})];
}

/** Calls `visit` for each schema of the operations, with the name of the field that has it; empty for a whole body. */
export function visitSchemas(
  operations: readonly Operation[],
  visit: (schema: Readonly<Record<string, unknown>>, field: string) => void,
): void {
  const seen = new Set<unknown>();
  const walk = (value: unknown, field: string): void => {
    if (Array.isArray(value)) {
      for (const one of value) walk(one, field);
      return;
    }
    if (!isRecord(value)) return;
    visit(value, field);
    for (const [keyword, inner] of Object.entries(value)) {
      if (keyword !== 'properties' || !isRecord(inner)) walk(inner, field);
      else for (const [name, schema] of Object.entries(inner)) walk(schema, name);
    }
  };
  for (const schema of operations.flatMap(schemasOf)) {
    if (seen.has(schema)) continue;
    seen.add(schema);
    walk(schema, '');
  }
}

/** Returns the names of the fields that may have each value of an enumeration. */
export function enumerationsOf(operations: readonly Operation[]): ReadonlyMap<string, ReadonlySet<string>> {
  const fields = new Map<string, Set<string>>();
  visitSchemas(operations, (schema, field) => {
    if (!Array.isArray(schema['enum'])) return;
    for (const value of schema['enum']) {
      if (typeof value !== 'string') continue;
      const names = fields.get(value) ?? new Set();
      fields.set(value, names.add(field));
    }
  });
  return fields;
}

/** Returns the names of all fields. */
export function fieldNamesOf(operations: readonly Operation[]): ReadonlySet<string> {
  const names = new Set<string>();
  visitSchemas(operations, ({ properties }) => {
    if (isRecord(properties)) for (const name of Object.keys(properties)) names.add(name);
  });
  return names;
}
