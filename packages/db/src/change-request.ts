import { AsyncLocalStorage } from 'node:async_hooks';
import type { Connection, QueryConfig } from 'pg';
import { escapeLiteral, Query, type QueryResult } from 'pg';

/*
 * Passes the author, reason and condition of a change from the place where a request arrives to the triggers that run
 * when rows change. They are passed in the setting `davit.request` of the transaction in which a statement runs:
 * - A transaction receives the setting with its BEGIN.
 * - A single statement receives the setting in the same round trip: PostgreSQL treats all messages up to a Sync as one
 *   transaction. A transaction of four round trips would have halved the throughput of creating one record.
 */

/** Content of the setting; see migration 0008 for the readers of each field. */
export interface ChangeRequest {
  readonly operation: string;
  readonly origin: string;
  readonly actor: string;
  readonly triggered_by: string;
  readonly user_agent: string | null;
  readonly address: string | null;
  /** Event type in the audit log, if it differs from that of the row's insert, update or delete. */
  readonly event?: string;
  /** A change of this record is refused (see `isStaleVersion`) unless the record has one of these versions. */
  readonly if_match?: { readonly id: string; readonly versions: readonly string[] };
  /** Row id of the idempotency key that prevents the request from being executed twice. */
  readonly idempotency_id?: string;
}

/** A request in the form that statements pass on. */
export interface CarriedRequest {
  /** Value of the setting. */
  readonly text: string;
  /**
   * Whether a statement that writes its own event needs no trigger, because the request has no idempotency key to mark.
   */
  readonly isPlain: boolean;
}

const current = new AsyncLocalStorage<CarriedRequest>();

/**
 * Runs `action` for this request. Every change that `action` makes, inside or outside of a transaction, is attributed
 * to the request.
 */
export function forRequest<Result>(request: ChangeRequest, action: () => Result): Result {
  return current.run({ text: JSON.stringify(request), isPlain: request.idempotency_id === undefined }, action);
}

/** Returns the current request, or undefined outside of a request. */
export function changeRequest(): CarriedRequest | undefined {
  return current.getStore();
}

/** Returns the SQL that begins a transaction, for the request if there is one. */
export function beginText(request: string | undefined): string {
  return request === undefined ? 'BEGIN' : `begin; select set_config('davit.request', ${escapeLiteral(request)}, true)`;
}

const settingName = 'davit_request';
// The result is long and not needed, so it is reduced to a boolean.
const settingText = `select set_config('davit.request', $1, true) is null`;

/** Internals of pg's queries (version 8) that its types do not declare. */
interface QueryInsides {
  submit(connection: Connection): Error | null;
  handleDataRow: ((message: unknown) => void) | undefined;
  handleCommandComplete: ((message: unknown, connection: Connection) => void) | undefined;
}
interface ConnectionInsides {
  readonly stream: { cork(): void; uncork(): void };
  bind(message: { readonly statement: string; readonly values: readonly string[] }): void;
  execute(message: { readonly portal: string }): void;
}

type Callback = (error: Error | null, result: QueryResult) => void;

/** Statement that must be prepared on a connection before `requestQuery`. */
export const settingStatement: QueryConfig = { name: settingName, text: settingText };

/**
 * Returns a prepared statement for `client.query` that sets the request first. The connection must have run
 * `settingStatement`: pg attributes the responses to Parse messages to the active query.
 */
export function requestQuery(query: QueryConfig, request: string, callback: Callback): Query {
  // pg's types declare the callback's error as undefined on success, but it is null.
  const made = new Query(query);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see QueryInsides
  const insides = made as unknown as QueryInsides & { callback: Callback };
  insides.callback = callback;
  const submit = insides.submit.bind(made);
  insides.submit = (connection) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see ConnectionInsides
    const wire = connection as unknown as ConnectionInsides;
    wire.stream.cork();
    try {
      wire.bind({ statement: settingName, values: [request] });
      wire.execute({ portal: '' });
      return submit(connection);
    } finally {
      wire.stream.uncork();
    }
  };
  // The first row and the first completion belong to the setting. Later ones go to the query's own methods.
  insides.handleDataRow = () => {
    // Restores the prototype's method.
    Reflect.deleteProperty(made, 'handleDataRow');
  };
  insides.handleCommandComplete = () => {
    Reflect.deleteProperty(made, 'handleCommandComplete');
  };
  return made;
}
