/**
 * One SQL statement. It runs as a prepared statement under its name: the server parses and plans it once per connection.
 * `Row` is what one row of its answer looks like; see `openDatabase` for how PostgreSQL's types arrive.
 */
export interface Statement<Row = unknown> {
  readonly name: string;
  readonly text: string;
  /** Whether it may change rows: such a statement tells triggers of the request that it is run for. */
  readonly changes?: boolean;
  /** Whether its last parameter takes the request, so that it writes the audit log's event itself. */
  readonly takesRequest?: boolean;
  /** How several calls of it are carried out at once; see `StatementOptions.together`. */
  readonly together?: Statement<{ readonly call: number } & Row>;
  /** Only for the compiler: carries the row's type, never set. */
  readonly row?: Row;
}

const registry = new Map<string, Statement>();

// PostgreSQL cuts longer names silently, so that two statements could become one.
const longestName = 63;

export interface StatementOptions {
  /**
   * Its last parameter, of type jsonb, which callers leave out, takes the request; null: triggers see to the audit log. For
   * creates that are counted in microseconds: a trigger, and telling it of the request, costs them 40.
   */
  readonly takesRequest?: boolean;
  /**
   * For `Database.together`: does the same for several calls, of which each parameter is the array, that of the request included.
   * Rows have `call`, from 1 on in the order of the calls. A call that cannot be carried out (a name that is taken) has no row and must not
   * fail the others; nor may they wait for what somebody else has locked for it.
   *
   * Of a read the types of its parameters are enough: each call is then its own look-up in one statement.
   */
  readonly together?: string | { readonly parameters: readonly string[] };
}

/** A read for several calls, from its text for one: so that there is no second text to keep in step. */
function eachOf(text: string, parameters: readonly string[]): string {
  const arrays = parameters.map((type, index) => `$${index + 1}::${type}[]`).join(', ');
  const names = parameters.map((_type, index) => `p${index + 1}`).join(', ');
  // OFFSET 0: looked up one by one whatever the planner believes; for a table that it takes for small it would read all of it.
  return `SELECT asked.call, found.* FROM unnest(${arrays}) WITH ORDINALITY AS asked (${names}, call)
    CROSS JOIN LATERAL (${text.replaceAll(/\$(\d+)/g, 'asked.p$1')} OFFSET 0) AS found`;
}

/**
 * Declares a statement, at import time. The name must be its own: a second statement of the same name is an error, as the
 * connection would run the first one's text.
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

/** All statements that the modules imported so far declare. For the test that prepares each against the real schema. */
export function declaredStatements(): readonly Statement[] {
  return [...registry.values()];
}
