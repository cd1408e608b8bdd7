/**
 * An SQL statement. It runs as a prepared statement under its name: the server parses and plans it once per connection.
 * `Row` is the type of one result row; see `openDatabase` for the conversion of PostgreSQL's types.
 */
export interface Statement<Row = unknown> {
  readonly name: string;
  readonly text: string;
  /** Whether the statement may change rows. Such a statement passes the current request to triggers. */
  readonly changes?: boolean;
  /** Whether the last parameter is the request, so that the statement writes the audit event itself. */
  readonly takesRequest?: boolean;
  /** Variant that executes several calls at once; see `StatementOptions.together`. */
  readonly together?: Statement<{ readonly call: number } & Row>;
  /** Carries the row's type for the compiler; never set. */
  readonly row?: Row;
}

const registry = new Map<string, Statement>();

// PostgreSQL silently truncates longer names, so two statements could get the same name.
const longestName = 63;

export interface StatementOptions {
  /**
   * Whether the last parameter, of type jsonb, receives the request. Callers omit the parameter. It is null if triggers
   * write the audit event. Intended for creates whose cost is counted in microseconds: a trigger, and passing the
   * request to it, costs them 40 µs.
   */
  readonly takesRequest?: boolean;
  /**
   * For `Database.together`: SQL that does the same for several calls. Each parameter is the array of the calls'
   * values, including the parameter for the request. Each row has a column `call`, the number of the call, starting at
   * 1. A call that cannot be executed (for example because its name is taken) returns no row and must not fail the
   * other calls. The other calls must not wait for rows that somebody else has locked for such a call either.
   *
   * For a read, the types of its parameters are enough: each call then becomes its own lookup in one statement.
   */
  readonly together?: string | { readonly parameters: readonly string[] };
}

/**
 * Returns the SQL of a read for several calls, derived from its SQL for one call, so that no second text has to be
 * maintained.
 */
function eachOf(text: string, parameters: readonly string[]): string {
  const arrays = parameters.map((type, index) => `$${index + 1}::${type}[]`).join(', ');
  const names = parameters.map((_type, index) => `p${index + 1}`).join(', ');
  // `OFFSET 0` forces one lookup per call regardless of the planner's estimate. For a table that the planner considers
  // small, it would otherwise read the whole table.
  return `SELECT asked.call, found.* FROM unnest(${arrays}) WITH ORDINALITY AS asked (${names}, call)
    CROSS JOIN LATERAL (${text.replaceAll(/\$(\d+)/g, 'asked.p$1')} OFFSET 0) AS found`;
}

/**
 * Declares a statement at import time. Throws if the name is already used: the connection would run the first
 * statement's text.
 */
export function statement<Row = unknown>(name: string, text: string, options: StatementOptions = {}): Statement<Row> {
  const { takesRequest = false, together } = options;
  if (name === '' || Buffer.byteLength(name) > longestName) {
    throw new Error(`the name of a statement has 1 to ${longestName} bytes: ${JSON.stringify(name)}`);
  }
  if (registry.has(name)) throw new Error(`there are two statements named ${JSON.stringify(name)}`);
  const several = typeof together === 'object' ? eachOf(text, together.parameters) : together;
  const declared: Statement<Row> = Object.freeze({
    name,
    text: text.trim(),
    changes: /\b(insert\s+into|update|delete\s+from)\b/i.test(text),
    takesRequest,
    ...(several === undefined ? {} : { together: statement<{ readonly call: number } & Row>(`${name}_together`, several) }),
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
