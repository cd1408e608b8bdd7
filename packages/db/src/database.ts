import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { backoffMilliseconds } from '@davit/base';
import type { Client, ClientConfig, QueryConfig, QueryResult } from 'pg';
import { beginText, changeRequest, requestQuery, settingStatement } from './change-request.ts';
import { isConflictOfTransactions, isConnectionFailure, isStalePlan, toFailure } from './failures.ts';
import { ConnectionPool, type PoolState } from './pool.ts';
import type { Statement } from './statement.ts';
import { Together } from './together.ts';
import { valueTypes } from './types.ts';

/** Values of `$1`, `$2`, …. An array becomes a PostgreSQL array: a list for a jsonb column goes through `JSON.stringify`. */
export type Values = unknown[];

/** What a store needs: it works with these four alike, in a transaction and outside of one. */
export interface Queryable {
  /** All rows. */
  many<Row>(statement: Statement<Row>, values?: Values): Promise<Row[]>;
  /** The only row; throws when there are none or several, which is a fault of the program. */
  one<Row>(statement: Statement<Row>, values?: Values): Promise<Row>;
  /** The only row, or undefined when there is none; throws when there are several. */
  maybe<Row>(statement: Statement<Row>, values?: Values): Promise<Row | undefined>;
  /** How many rows the statement changed or found. */
  run(statement: Statement, values?: Values): Promise<number>;
}

export interface Database extends Queryable {
  /**
   * Runs `action` in one transaction (READ COMMITTED) and commits it; whatever it throws rolls back and is thrown on.
   * A deadlock or a serialization failure starts it again from the beginning, up to three times: it must do nothing but
   * work with `tx`. Inside of it no second transaction can be opened.
   */
  transaction<Result>(action: (tx: Queryable) => Promise<Result>): Promise<Result>;
  /**
   * As `maybe`, for a statement with `together`: calls that come while others of it are under way are carried out in one statement
   * and one transaction. Each gets its own row or failure.
   */
  together<Row>(statement: Statement<Row>, values: Values): Promise<Row | undefined>;
  /** How busy its connections are. */
  readonly pool: PoolState;
  /** Waits for what is running and closes all connections. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly connectionString: string;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  readonly maximumConnections: number;
  /** Whether a server will do that takes no changes. Default: no. */
  readonly readsOnly?: boolean;
  /** Where a server of this machine has its files, for messages; default: it is elsewhere. */
  readonly folder?: string;
  /** Told of failures of connections that nobody is using; the connection has been replaced already. */
  readonly onIdleFailure?: (error: Error) => void;
}

// Time to a connection, the wait for a free one included.
const connectionTimeoutMilliseconds = 10_000;
const keepAliveAfterMilliseconds = 10_000;
const connectionLifetimeMilliseconds = 900_000;
const transactionAttempts = 3;

/** What every connection of Davit is opened with; what is set on it then is in opening.ts. */
export function connectionSettings(connectionString: string, applicationName: string): ClientConfig {
  return {
    connectionString,
    application_name: applicationName,
    types: valueTypes,
    keepAlive: true,
    // Of Linux: asks after so long without a word, ten times, each second. The operating system's own default is two hours.
    keepAliveInitialDelayMillis: keepAliveAfterMilliseconds,
    connectionTimeoutMillis: connectionTimeoutMilliseconds,
  };
}

/**
 * Opens a pool of connections; connects only when something is asked. Throws `DatabaseUnavailable` (code
 * `DATABASE_UNAVAILABLE`, retryable) from its methods when the server cannot be reached; other failures of PostgreSQL are
 * thrown as pg has them, see `isUniqueViolation`. timestamptz arrives as `2026-01-02T03:04:05.678Z`, int8 as number, bytea
 * as Buffer, json and jsonb parsed.
 */
export function openDatabase(options: DatabaseOptions): Database {
  return new PooledDatabase(options);
}

const running = new AsyncLocalStorage<Transaction>();

type Callback = (error: Error | null, result: QueryResult) => void;

interface Retry {
  readonly again: () => Promise<QueryResult>;
  readonly attempt: number;
}

interface Rows<Row> {
  readonly rows: Row[];
}

abstract class StatementRunner implements Queryable {
  protected abstract execute(statement: Statement, values: Values | undefined): Promise<QueryResult>;

  async many<Row>(statement: Statement<Row>, values?: Values): Promise<Row[]> {
    const { rows }: Rows<Row> = await this.execute(statement, values);
    return rows;
  }

  async one<Row>(statement: Statement<Row>, values?: Values): Promise<Row> {
    const { rows }: Rows<Row> = await this.execute(statement, values);
    const [row] = rows;
    if (row === undefined || rows.length > 1)
      throw new Error(`statement ${statement.name} gave ${rows.length} rows instead of one`);
    return row;
  }

  async maybe<Row>(statement: Statement<Row>, values?: Values): Promise<Row | undefined> {
    const { rows }: Rows<Row> = await this.execute(statement, values);
    if (rows.length > 1) throw new Error(`statement ${statement.name} gave ${rows.length} rows instead of one or none`);
    return rows[0];
  }

  async run(statement: Statement, values?: Values): Promise<number> {
    return (await this.execute(statement, values)).rowCount ?? 0;
  }
}

class PooledDatabase extends StatementRunner implements Database {
  readonly #pool: ConnectionPool;
  readonly #maximumConnections: number;
  readonly #folder: string | null;
  /** Connections on which the statement is prepared that tells of a request. */
  readonly #knowSetting = new WeakSet<Client>();
  readonly #together = new WeakMap<Statement, unknown>();

  constructor(options: DatabaseOptions) {
    super();
    this.#maximumConnections = options.maximumConnections;
    this.#folder = options.folder ?? null;
    this.#pool = new ConnectionPool({
      settings: connectionSettings(options.connectionString, options.applicationName),
      maximumConnections: options.maximumConnections,
      waitMilliseconds: connectionTimeoutMilliseconds,
      lifetimeMilliseconds: connectionLifetimeMilliseconds,
      readsOnly: options.readsOnly ?? false,
      onIdleFailure: (error) => options.onIdleFailure?.(error),
    });
  }

  protected override execute(statement: Statement, values: Values | undefined): Promise<QueryResult> {
    if (statement.changes) {
      const request = changeRequest();
      const isTaken = statement.takesRequest === true && request?.isPlain !== false;
      if (statement.takesRequest === true) values = [...(values ?? []), isTaken ? (request?.text ?? null) : null];
      if (request !== undefined && !isTaken) return this.#executeFor(request.text, statement, values);
    }
    const client = this.#pool.takeIdle();
    return client === undefined ? this.#executeLater(statement, values) : this.#executeOn(client, statement, values);
  }

  async together<Row>(statement: Statement<Row>, values: Values): Promise<Row | undefined> {
    const request = changeRequest();
    // One with a key is marked by triggers, in a transaction of its own.
    if (statement.together === undefined || request?.isPlain === false) return this.maybe(statement, values);
    const given = statement.takesRequest === true ? [...values, request?.text ?? null] : values;
    return this.#gathering(statement).call(given);
  }

  #gathering<Row>(statement: Statement<Row>): Together<Row> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- under each statement stands what was made for it
    const known = this.#together.get(statement) as Together<Row> | undefined;
    if (known !== undefined) return known;
    const made = new Together<Row>({
      alone: async (values) => {
        const { rows }: Rows<Row> = await this.#executeLater(statement, [...values]);
        return rows[0];
      },
      atOnce: (calls) => this.#executeTogether(statement, calls),
    });
    this.#together.set(statement, made);
    return made;
  }

  async #executeTogether<Row>(statement: Statement<Row>, calls: readonly (readonly unknown[])[]): Promise<Map<number, Row>> {
    if (statement.together === undefined) throw new Error(`statement ${statement.name} has no form for several calls`);
    const arrays = (calls[0] ?? []).map((_value, index) => calls.map((values) => values[index]));
    const { rows }: Rows<{ readonly call: number } & Row> = await this.#executeLater(statement.together, arrays);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a row without what was added to it
    return new Map(rows.map(({ call, ...row }) => [call - 1, row as unknown as Row]));
  }

  async #executeLater(statement: Statement, values: Values | undefined, attempt = 1): Promise<QueryResult> {
    return this.#executeOn(await this.#take(), statement, values, attempt);
  }

  #executeOn(client: Client, statement: Statement, values: Values | undefined, attempt = 1): Promise<QueryResult> {
    const { name, text } = statement;
    const again = (): Promise<QueryResult> => this.#executeLater(statement, values, attempt + 1);
    // With a callback: with its promise, pg makes three of them, and a stack trace for each failure.
    return this.#answered(client, { again, attempt }, (callback) => client.query({ name, text, values }, callback));
  }

  /** As one transaction with the setting that tells triggers of the request. */
  async #executeFor(request: string, statement: Statement, values: Values | undefined, attempt = 1): Promise<QueryResult> {
    const client = this.#pool.takeIdle() ?? (await this.#take());
    if (!this.#knowSetting.has(client)) await this.#prepareSetting(client);
    const { name, text } = statement;
    const again = (): Promise<QueryResult> => this.#executeFor(request, statement, values, attempt + 1);
    return this.#answered(client, { again, attempt }, (callback) => {
      client.query(requestQuery(values === undefined ? { name, text } : { name, text, values }, request, callback));
    });
  }

  async #prepareSetting(client: Client): Promise<void> {
    try {
      await client.query({ ...settingStatement, values: [''] });
      this.#knowSetting.add(client);
    } catch (error) {
      this.#pool.giveBack(client, isSpoilt(error));
      throw toFailure(error, this.#folder);
    }
  }

  /** What a query answers; gives its connection back. */
  #answered(client: Client, retry: Retry, send: (callback: Callback) => void): Promise<QueryResult> {
    return new Promise((resolve, reject) => {
      send((error, result) => {
        if (error === null) {
          this.#pool.giveBack(client);
          resolve(result);
          return;
        }
        this.#pool.giveBack(client, isSpoilt(error));
        // The columns of a table changed under a prepared statement: a migration ran. This connection is closed by now;
        // the others may be as old, so each of them gets its turn.
        if (isStalePlan(error) && retry.attempt <= this.#maximumConnections) resolve(retry.again());
        // Nothing of it remains, as of a transaction.
        else if (isConflictOfTransactions(error) && retry.attempt < transactionAttempts) resolve(retry.again());
        else reject(toFailure(error, this.#folder));
      });
    });
  }

  async #take(): Promise<Client> {
    try {
      return await this.#pool.take();
    } catch (error) {
      throw toFailure(error, this.#folder);
    }
  }

  async transaction<Result>(action: (tx: Queryable) => Promise<Result>): Promise<Result> {
    if (running.getStore()?.isOpen) {
      throw new Error('a transaction is open already: use its `tx`; a second one could wait for the first for ever');
    }
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#transactionOnce(action);
      } catch (error) {
        if (attempt >= transactionAttempts || !(isConflictOfTransactions(error) || isStalePlan(error))) throw error;
        await pause(Math.random() * backoffMilliseconds(attempt, 20, 200));
      }
    }
  }

  async #transactionOnce<Result>(action: (tx: Queryable) => Promise<Result>): Promise<Result> {
    const client = await this.#take();
    const tx = new Transaction(client, this.#folder);
    try {
      await tx.begin();
      const result = await running.run(tx, () => action(tx));
      await tx.commit();
      return result;
    } catch (error) {
      await tx.rollback();
      throw error;
    } finally {
      this.#pool.giveBack(client, tx.isSpoilt);
    }
  }

  get pool(): PoolState {
    return this.#pool.state;
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

class Transaction extends StatementRunner {
  isOpen = false;
  /** Whether the connection must not be used again. */
  isSpoilt = false;
  readonly #client: Client;
  readonly #folder: string | null;
  // pg wants one statement at a time; callers may well start several at once.
  #last: Promise<unknown> = Promise.resolve();

  constructor(client: Client, folder: string | null) {
    super();
    this.#folder = folder;
    this.#client = client;
  }

  async begin(): Promise<void> {
    await this.#send({ text: beginText(changeRequest()?.text) });
    this.isOpen = true;
  }

  async commit(): Promise<void> {
    await this.#last;
    this.isOpen = false;
    const { command } = await this.#send({ text: 'COMMIT' });
    // A caller that swallowed the failure of a statement would else be told that all is written.
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back, as one of its statements had failed');
  }

  async rollback(): Promise<void> {
    this.isOpen = false;
    await this.#last;
    if (this.isSpoilt) return;
    try {
      await this.#send({ text: 'ROLLBACK' });
    } catch {
      // The caller gets the first failure. Closing the connection rolls back as well.
      this.isSpoilt = true;
    }
  }

  protected override execute(statement: Statement, values: Values | undefined): Promise<QueryResult> {
    if (!this.isOpen) return Promise.reject(new Error(`statement ${statement.name} came after the end of its transaction`));
    const { name, text } = statement;
    // The transaction has told the triggers of the request.
    const given = statement.takesRequest === true ? [...(values ?? []), null] : values;
    const result = this.#last.then(() => this.#send({ name, text, values: given }));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #send(query: QueryConfig): Promise<QueryResult> {
    try {
      return await this.#client.query(query);
    } catch (error) {
      if (isSpoilt(error)) this.isSpoilt = true;
      throw toFailure(error, this.#folder);
    }
  }
}

function isSpoilt(error: unknown): boolean {
  return isConnectionFailure(error) || isStalePlan(error);
}
