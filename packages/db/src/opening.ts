import type { Client } from 'pg';
import { ServerReadOnly } from './failures.ts';

/*
 * What is said once on each connection. By `set_config` and not by `options` of the start: those are for whoever writes DATABASE_URL, and
 * poolers refuse what they do not know there.
 */

/** A session as the server knows it. Its process alone would not do: numbers are given again. */
export interface Session {
  readonly pid: number;
  readonly beganAt: string;
}

export interface OpeningOptions {
  /** Whether a server will do that takes no changes, as a standby. */
  readonly readsOnly?: boolean;
  /** How long the server may take to answer. */
  readonly answerWithinMilliseconds: number;
}

const sessionSettings: Readonly<Record<string, string>> = {
  TimeZone: 'UTC',
  // A client that vanished without a word (power, firewall) leaves a session with its locks. By default the server asks after it for the first
  // time two hours later; so it is gone within half a minute. A client gives its lock up sooner: see connection.ts. Without TCP they mean nothing.
  tcp_keepalives_idle: '10s',
  tcp_keepalives_interval: '5s',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '20s',
  // Of a process that stands still with its connection open. Transactions wait for calls to clusters, of two minutes at most.
  idle_in_transaction_session_timeout: '10min',
};

const settings = Object.entries(sessionSettings)
  .map(([name, value]) => `set_config('${name}', '${value}', false)`)
  .join(', ');

/** In SQL: whether the server takes no changes. Not `transaction_read_only`: an export asks in a transaction that is. */
export const takesNoChanges = `pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean`;

const openingText = `SELECT ${settings}, ${takesNoChanges} AS refuses, pg_backend_pid() AS pid,
  (SELECT backend_start::text FROM pg_stat_get_activity(pg_backend_pid())) AS "beganAt"`;

/**
 * Connects, and makes the session one of Davit's. Throws `ServerReadOnly` where the server takes no changes, and what pg throws; the
 * client is the caller's to end then.
 */
export async function openSession(client: Client, options: OpeningOptions): Promise<Session> {
  await client.connect();
  const { rows } = await client.query<Session & { readonly refuses: boolean }>(
    limited(openingText, options.answerWithinMilliseconds),
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the database gave no session');
  if (row.refuses && options.readsOnly !== true) throw new ServerReadOnly();
  return { pid: row.pid, beganAt: row.beganAt };
}

/** A query that fails with `Query read timeout` where no answer comes. Its connection is of no use then. */
export function limited(text: string, milliseconds: number, values?: unknown[]): { text: string; values?: unknown[] } {
  // pg has this for single queries, too; its types have it for all of a client.
  const query = { text, query_timeout: milliseconds };
  return values === undefined ? query : { ...query, values };
}
