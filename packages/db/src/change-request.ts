import { AsyncLocalStorage } from 'node:async_hooks';
import type { Connection, QueryConfig } from 'pg';
import { escapeLiteral, Query, type QueryResult } from 'pg';

/*
 * Who changes something, why and on what condition: known where a request comes in, needed by triggers where rows change. It
 * travels as the setting `davit.request` of the transaction in which a statement runs. To a transaction it comes with its BEGIN;
 * to a statement of its own with the statement itself, in one round trip: PostgreSQL takes all messages up to a Sync as one
 * transaction. A transaction of four round trips would have cost a create of one record half of its throughput.
 */

/** What the setting holds; see migration 0008 for who reads what. */
export interface ChangeRequest {
  readonly operation: string;
  readonly origin: string;
  readonly actor: string;
  readonly triggered_by: string;
  readonly user_agent: string | null;
  readonly address: string | null;
  /** Word of the audit log, where it is not that of the row's insert, update or delete. */
  readonly event?: string;
  /** A change of this record is refused (see `isStaleVersion`) unless it has one of these versions. */
  readonly if_match?: { readonly id: string; readonly versions: readonly string[] };
  /** Row of the key under which the request must not be carried out twice. */
  readonly idempotency_id?: string;
}

/** A request as statements carry it. */
export interface CarriedRequest {
  /** The setting. */
  readonly text: string;
  /** Whether a statement that writes its event itself needs no trigger: the request has no key to be marked. */
  readonly isPlain: boolean;
}

const current = new AsyncLocalStorage<CarriedRequest>();

/** Runs `action`; every change that it makes, in or outside of a transaction, is made for this request. */
export function forRequest<Result>(request: ChangeRequest, action: () => Result): Result {
  return current.run({ text: JSON.stringify(request), isPlain: request.idempotency_id === undefined }, action);
}

/** Undefined outside of a request. */
export function changeRequest(): CarriedRequest | undefined {
  return current.getStore();
}

/** Begins a transaction that is made for the request, if there is one. */
export function beginText(request: string | undefined): string {
  return request === undefined ? 'BEGIN' : `BEGIN; SELECT set_config('davit.request', ${escapeLiteral(request)}, true)`;
}

const settingName = 'davit_request';
// Its answer is of no interest, and long.
const settingText = `SELECT set_config('davit.request', $1, true) IS NULL`;

/** What pg's queries have and its types do not tell; of version 8. */
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

/** A connection on which the setting's statement is prepared; see `requestQuery`. */
export const settingStatement: QueryConfig = { name: settingName, text: settingText };

/**
 * A prepared statement for `client.query` that sets the request first. Not for a connection on which `settingStatement` never
 * ran: pg notes the answers to Parse messages by the query that is active.
 */
export function requestQuery(query: QueryConfig, request: string, callback: Callback): Query {
  // pg types the callback's failure as undefined when there is none; it is null.
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
  // The first row and the first end are the setting's; what follows goes to the query's own methods.
  insides.handleDataRow = () => {
    // The prototype's is in force again.
    Reflect.deleteProperty(made, 'handleDataRow');
  };
  insides.handleCommandComplete = () => {
    Reflect.deleteProperty(made, 'handleCommandComplete');
  };
  return made;
}
