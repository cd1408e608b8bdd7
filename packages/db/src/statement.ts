/**
 * An SQL statement. It runs as a prepared statement under its name: the server parses and plans it once per connection.
 * `Row` is the type of one result row; see `openDatabase` for the conversion of PostgreSQL's types.
 */
export interface Statement<Row = unknown> {
  readonly name: string;
  readonly text: string;
  /** Whether the statement may change rows. Such a statement passes the current request to triggers. */
  readonly changes?: boolean;
  /** Carries the row's type for the compiler; never set. */
  readonly row?: Row;
}

const registry = new Map<string, Statement>();

// PostgreSQL silently truncates longer names, so two statements could get the same name.
const longestName = 63;
const namePattern = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;

/**
 * Declares a statement at import time. Its name is written as names in SQL are, such as `service_read`, and has at most
 * 63 letters. Throws if the name is another statement's: the connection would run the text of that one.
 */
export function statement<Row = unknown>(name: string, text: string): Statement<Row> {
  if (name.length > longestName || !namePattern.test(name)) {
    throw new Error(`${JSON.stringify(name)} is not a name such as service_read, of at most ${longestName} letters`);
  }
  if (registry.has(name)) throw new Error(`there are two statements named ${JSON.stringify(name)}`);
  const declared: Statement<Row> = Object.freeze({
    name,
    text: text.trim(),
    changes: /\b(insert\s+into|update|delete\s+from)\b/i.test(text),
  });
  registry.set(name, declared);
  return declared;
}

/**
 * Returns all statements declared by the modules imported so far. Used by the test that prepares each against the real
 * schema.
 */
export function declaredStatements(): readonly Statement[] {
  return [...registry.values()];
}
