import { DatabaseUnavailable } from '../failures.ts';
import { statement, type Statement } from '../statement.ts';

/*
 * Batches small concurrent calls of one statement. Their cost is not the row but the overhead: starting a plan,
 * committing, sending and receiving, and two context switches. Calls that arrive while two batches are in progress wait
 * for those and are then executed in one statement and one transaction. A single call waits for nothing. README.md has
 * the reasons and the figures.
 */

const maxInProgress = 2;
const maxBatch = 64;

/** The values of one call, in the order of the parameters. */
type Call = readonly unknown[];

/** Row of a batch: `call` is the number of the call that the row belongs to, starting at 1. */
type Numbered<Row> = { readonly call: number } & Row;

/** A statement that executes several calls at once. Declared by `batchedStatement`. */
export interface BatchedStatement<Row = unknown> {
  readonly statement: Statement<Numbered<Row>>;
  /** Whether the last parameter is `request`. */
  readonly takesRequest: boolean;
}

/**
 * Declares a statement for `Queryable.batched`. There is one SQL text, whatever the number of calls: it reads its
 * parameters from the relation `asked`, which has a row for each call.
 *
 * - A parameter named `request` must be the last one. Callers omit it. It receives the request whose audit event the
 *   statement must write (see `creationEvent`), or null if a trigger writes the event.
 * - Each row of the result has the column `asked.call`. A call that cannot be executed, for example because its name is
 *   taken, must return no row instead of failing, and must not wait for locks: the other calls share its fate.
 *
 * @param parameters PostgreSQL types by name.
 * @param text Returns the SQL. Its argument is the common table expression of `asked`.
 */
export function batchedStatement<Row>(
  name: string,
  parameters: Readonly<Record<string, string>>,
  text: (asked: string) => string,
): BatchedStatement<Row> {
  const columns = Object.keys(parameters);
  const arrays = Object.values(parameters).map((type, index) => `$${index + 1}::${type}[]`);
  const asked = `asked as (select * from unnest(${arrays.join(', ')}) with ordinality as call (${columns.join(', ')}, call))`;
  return { statement: statement<Numbered<Row>>(name, text(asked)), takesRequest: columns.at(-1) === 'request' };
}

/** Returns the values of a batch: an array for each parameter. */
export function batchValues(calls: readonly Call[]): unknown[] {
  return (calls[0] ?? []).map((_value, index) => calls.map((values) => values[index]));
}

/** Returns the rows of a batch by the position of their call. */
export function rowsByCall<Row>(rows: readonly Numbered<Row>[]): ReadonlyMap<number, Row> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a row without what `Numbered` added to it
  return new Map(rows.map(({ call, ...row }) => [call - 1, row as unknown as Row]));
}

interface Waiting<Row> {
  readonly values: Call;
  readonly resolve: (row: Row | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export class Batcher<Row> {
  readonly #execute: (calls: readonly Call[]) => Promise<ReadonlyMap<number, Row>>;
  readonly #waiting: Waiting<Row>[] = [];
  #inProgress = 0;

  /** `execute` executes all calls or none, and returns the rows by position. */
  constructor(execute: (calls: readonly Call[]) => Promise<ReadonlyMap<number, Row>>) {
    this.#execute = execute;
  }

  /** Returns the row of the call, or undefined if the call has none. */
  call(values: Call): Promise<Row | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ values, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    if (this.#inProgress >= maxInProgress || this.#waiting.length === 0) return;
    const batch = this.#waiting.splice(0, maxBatch);
    this.#inProgress += 1;
    void this.#run(batch).finally(() => {
      this.#inProgress -= 1;
      this.#next();
    });
  }

  /** Never rejects. */
  async #run(batch: readonly Waiting<Row>[]): Promise<void> {
    try {
      const rows = await this.#execute(batch.map(({ values }) => values));
      for (const [position, { resolve }] of batch.entries()) resolve(rows.get(position));
    } catch (error) {
      // Without a response it is unknown whether the statement was executed. A retry could execute it twice.
      if (batch.length === 1 || error instanceof DatabaseUnavailable) {
        for (const { reject } of batch) reject(error);
        return;
      }
      // One call failed all of them. Each is executed alone, so that each gets its own result.
      await Promise.all(batch.map((one) => this.#run([one])));
    }
  }
}
