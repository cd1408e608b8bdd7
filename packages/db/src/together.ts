import { DatabaseUnavailable } from './failures.ts';

/*
 * Many small statements at once: what costs is not the row but what is around it (to start a plan, a commit, to send and to receive, two
 * changes of the running process). Calls that come while others are under way wait for those and are then carried out in one statement. A call
 * that comes alone waits for nothing. Measured with 32 clients: see docs/adr/0012.
 */

const mostUnderWay = 2;
const mostInOne = 64;

/** Calls of one statement by position: of each, the values of its parameters. */
type Calls = readonly (readonly unknown[])[];

export interface TogetherWays<Row> {
  /** One call. */
  alone(values: readonly unknown[]): Promise<Row | undefined>;
  /**
   * All of them or none; the rows of those that could be carried out, by position. Whatever is missing, and all after a failure, is
   * carried out alone: so that each call gets the failure that it would have got.
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
      // Without an answer nobody knows whether it was done: once more could be twice.
      const isLost = error instanceof DatabaseUnavailable;
      for (const { values, resolve, reject } of calls) {
        if (isLost) reject(error);
        else resolve(this.#ways.alone(values));
      }
    }
  }
}
