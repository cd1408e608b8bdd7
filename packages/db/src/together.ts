import { DatabaseUnavailable } from './failures.ts';

/*
 * Batches many small concurrent statements. Their cost is not the row but the overhead: starting a plan, committing,
 * sending and receiving, and two context switches. Calls that arrive while others are in progress wait for those, and
 * are then executed in one statement. A single call waits for nothing. For measurements with 32 clients see
 * docs/adr/0012.
 */

const mostUnderWay = 2;
const mostInOne = 64;

/** Calls of one statement, by position. Each call is the list of its parameter values. */
type Calls = readonly (readonly unknown[])[];

export interface TogetherWays<Row> {
  /** Executes one call. */
  alone(values: readonly unknown[]): Promise<Row | undefined>;
  /**
   * Executes all calls or none. Returns the rows of the successful calls, by position. A call without a row is executed
   * alone afterwards, and so are all calls after a failure, so that each call gets the failure that it would have got
   * by itself.
   */
  atOnce(calls: Calls): Promise<ReadonlyMap<number, Row>>;
}

interface Call<Row> {
  readonly values: readonly unknown[];
  readonly resolve: (row: Row | undefined | Promise<Row | undefined>) => void;
  readonly reject: (error: unknown) => void;
}

export class Together<Row> {
  readonly #ways: TogetherWays<Row>;
  #waiting: Call<Row>[] = [];
  #underWay = 0;

  constructor(ways: TogetherWays<Row>) {
    this.#ways = ways;
  }

  call(values: readonly unknown[]): Promise<Row | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ values, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    if (this.#underWay >= mostUnderWay || this.#waiting.length === 0) return;
    const calls = this.#waiting.splice(0, mostInOne);
    this.#underWay += 1;
    void this.#carryOut(calls).finally(() => {
      this.#underWay -= 1;
      this.#next();
    });
  }

  /** Never rejects. */
  async #carryOut(calls: readonly Call<Row>[]): Promise<void> {
    const [only] = calls;
    if (calls.length === 1 && only !== undefined) {
      await this.#ways.alone(only.values).then(only.resolve, only.reject);
      return;
    }
    try {
      const rows = await this.#ways.atOnce(calls.map(({ values }) => values));
      for (const [position, { values, resolve }] of calls.entries()) resolve(rows.get(position) ?? this.#ways.alone(values));
    } catch (error) {
      // Without a response it is unknown whether the statement was executed. A retry could execute it twice.
      const isLost = error instanceof DatabaseUnavailable;
      for (const { values, resolve, reject } of calls) {
        if (isLost) reject(error);
        else resolve(this.#ways.alone(values));
      }
    }
  }
}
