import { AsyncLocalStorage } from 'node:async_hooks';
import { backoffMilliseconds, pause } from '@davit/base';
import type { Client, ClientConfig, QueryConfig, QueryResult } from 'pg';
import { Batcher, batchValues, rowsByCall, type BatchedStatement } from './hot-path/batch.ts';
import { beginText, changeRequest, requestQuery, settingStatement } from './change-request.ts';
import { isConflictOfTransactions, isConnectionFailure, isStalePlan, toFailure } from './failures.ts';
import { ConnectionPool, type PoolState } from './pool.ts';
import type { Statement } from './statement.ts';
import { valueTypes } from './types.ts';

/**
 * Values of `$1`, `$2`, …. An array becomes a PostgreSQL array: a list for a jsonb column must be passed through
 * `JSON.stringify`.
 */
export type Values = unknown[];

/** The query methods that a store needs. They behave the same inside and outside of a transaction. */
export interface Queryable {
  /** Returns all rows. */
  many<Row>(statement: Statement<Row>, values?: Values): Promise<Row[]>;
  /** Returns the only row. Throws if there are no rows or several, which is a bug. */
  one<Row>(statement: Statement<Row>, values?: Values): Promise<Row>;
  /** Returns the only row, or undefined if there is none. Throws if there are several. */
  maybe<Row>(statement: Statement<Row>, values?: Values): Promise<Row | undefined>;
  /** Returns the number of rows that the statement changed or found. */
  run(statement: Statement, values?: Values): Promise<number>;
  /**
   * Returns the row of one call of a batched statement, or undefined if the call has none. Outside of a transaction,
   * calls that arrive while others are in progress share one statement and one transaction with those that arrive with
   * them; each call gets its own row or failure.
   */
  batched<Row>(statement: BatchedStatement<Row>, values: Values): Promise<Row | undefined>;
}

export interface Database extends Queryable {
  /**
   * Runs `action` in one transaction (READ COMMITTED) and commits it. If `action` throws, the transaction is rolled
   * back and the error is rethrown. After a deadlock or a serialization failure, `action` is called again, in at most
   * three attempts: it must do nothing but work with `tx`. A second transaction cannot be opened inside `action`.
   */
  transaction<Result>(action: (tx: Queryable) => Promise<Result>): Promise<Result>;
  /** How busy the connections are. */
  readonly pool: PoolState;
  /** Waits for running queries and closes all connections. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly connectionString: string;
  /** Application name in `pg_stat_activity`. */
  readonly applicationName: string;
  readonly maximumConnections: number;
  /** Whether a read-only server is acceptable. Default: no. */
  readonly readsOnly?: boolean;
  /** Folder of a server on this machine, for messages. Default: the server is elsewhere. */
  readonly folder?: string;
  /** Called for failures of idle connections. The connection has already been replaced. */
  readonly onIdleFailure?: (error: Error) => void;
}

// Timeout for getting a connection, including the wait for a free one.
const connectionTimeoutMilliseconds = 10_000;
const keepAliveAfterMilliseconds = 10_000;
const connectionLifetimeMilliseconds = 900_000;
const transactionAttempts = 3;

/** Returns the client settings of every Davit connection. opening.ts applies the session settings afterwards. */
export function connectionSettings(connectionString: string, applicationName: string): ClientConfig {
  return {
    connectionString,
    application_name: applicationName,
    types: valueTypes,
    keepAlive: true,
    // On Linux, TCP keepalive probes start after this idle time: ten probes, one per second. The operating system's
    // default is two hours.
    keepAliveInitialDelayMillis: keepAliveAfterMilliseconds,
    connectionTimeoutMillis: connectionTimeoutMilliseconds,
  };
}

/**
 * Creates a pool of connections; a connection is opened only for the first query. If the server cannot be reached, its
 * methods throw `DatabaseUnavailable` (code `DATABASE_UNAVAILABLE`, retryable). Other failures of PostgreSQL are thrown
 * as pg's own errors, see `isUniqueViolation`. timestamptz is returned as `2026-01-02T03:04:05.678Z`, int8 as number,
 * bytea as Buffer, json and jsonb parsed.
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

  /** Executes the call alone. Triggers write its audit event. */
  async batched<Row>({ statement, takesRequest }: BatchedStatement<Row>, values: Values): Promise<Row | undefined> {
    const rows = await this.many(statement, batchValues([takesRequest ? [...values, null] : values]));
    return rowsByCall(rows).get(0);
  }
}

class PooledDatabase extends StatementRunner implements Database {
  readonly #pool: ConnectionPool;
  readonly #maximumConnections: number;
  readonly #folder: string | null;
  /** Connections on which `settingStatement` is prepared. */
  readonly #knowSetting = new WeakSet<Client>();
  readonly #batchers = new WeakMap<BatchedStatement, unknown>();

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
    const request = statement.changes ? changeRequest() : undefined;
    if (request !== undefined) return this.#executeFor(request.text, statement, values);
    const client = this.#pool.takeIdle();
    return client === undefined ? this.#executeLater(statement, values) : this.#executeOn(client, statement, values);
  }

  override async batched<Row>(batched: BatchedStatement<Row>, values: Values): Promise<Row | undefined> {
    if (!batched.takesRequest) return this.#batcherOf(batched).call(values);
    const request = changeRequest();
    // A request with an idempotency key needs triggers to mark the key, in its own transaction.
    if (request?.isPlain === false) return super.batched(batched, values);
    return this.#batcherOf(batched).call([...values, request?.text ?? null]);
  }

  #batcherOf<Row>(batched: BatchedStatement<Row>): Batcher<Row> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the batcher of a statement returns its rows
    const known = this.#batchers.get(batched) as Batcher<Row> | undefined;
    if (known !== undefined) return known;
    const created = new Batcher<Row>(async (calls) => {
      const { rows }: Rows<{ readonly call: number } & Row> = await this.#executeLater(batched.statement, batchValues(calls));
      return rowsByCall(rows);
    });
    this.#batchers.set(batched, created);
    return created;
  }

  async #executeLater(statement: Statement, values: Values | undefined, attempt = 1): Promise<QueryResult> {
    return this.#executeOn(await this.#take(), statement, values, attempt);
  }

  #executeOn(client: Client, statement: Statement, values: Values | undefined, attempt = 1): Promise<QueryResult> {
    const { name, text } = statement;
    const again = (): Promise<QueryResult> => this.#executeLater(statement, values, attempt + 1);
    // A callback is used because pg's promise form creates three promises per query, and a stack trace for each
    // failure.
    return this.#answered(client, { again, attempt }, (callback) => client.query({ name, text, values }, callback));
  }

  /** Runs the statement as one transaction together with the setting that passes the request to triggers. */
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

  /** Returns the result of a query and releases its connection. */
  #answered(client: Client, retry: Retry, send: (callback: Callback) => void): Promise<QueryResult> {
    return new Promise((resolve, reject) => {
      send((error, result) => {
        if (error === null) {
          this.#pool.giveBack(client);
          resolve(result);
          return;
        }
        this.#pool.giveBack(client, isSpoilt(error));
        // A migration changed the columns of a table under a prepared statement. This connection is already closed. The
        // other connections may be equally old, so each of them may need one attempt.
        if (isStalePlan(error) && retry.attempt <= this.#maximumConnections) resolve(retry.again());
        // The conflict rolled back all of the statement's changes, so it can be retried like a transaction.
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
  /** Whether the connection must not be reused. */
  isSpoilt = false;
  readonly #client: Client;
  readonly #folder: string | null;
  // pg expects one statement at a time, but callers may start several at once.
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
    // Without this check, a caller that ignored a failed statement would believe that everything was written.
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back, as one of its statements had failed');
  }

  async rollback(): Promise<void> {
    this.isOpen = false;
    await this.#last;
    if (this.isSpoilt) return;
    try {
      await this.#send({ text: 'ROLLBACK' });
    } catch {
      // The caller receives the first failure. Closing the connection also rolls back.
      this.isSpoilt = true;
    }
  }

  protected override execute(statement: Statement, values: Values | undefined): Promise<QueryResult> {
    if (!this.isOpen) return Promise.reject(new Error(`statement ${statement.name} came after the end of its transaction`));
    const { name, text } = statement;
    const result = this.#last.then(() => this.#send({ name, text, values }));
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
