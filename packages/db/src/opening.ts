import type { Client } from 'pg';
import { ServerReadOnly } from './failures.ts';

/*
 * Settings that are applied once to each connection. They use `set_config` and not `options` of the startup message:
 * those belong to the author of DATABASE_URL, and poolers reject unknown options there.
 */

/** A session as identified by the server. The process id alone is not enough, because process ids are reused. */
export interface Session {
  readonly pid: number;
  readonly beganAt: string;
}

export interface OpeningOptions {
  /** Whether a read-only server, such as a standby, is acceptable. */
  readonly readsOnly?: boolean;
  /** Milliseconds that the server may take to respond. */
  readonly answerWithinMilliseconds: number;
}

const sessionSettings: Readonly<Record<string, string>> = {
  TimeZone: 'UTC',
  // A client that disappears without closing its connection (power failure, firewall) leaves a session with its locks.
  // By default the server sends its first keepalive probe two hours later. With these settings the session ends within
  // half a minute. A client considers its lock lost sooner: see connection.ts. Without TCP the settings have no effect.
  tcp_keepalives_idle: '10s',
  tcp_keepalives_interval: '5s',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '20s',
  // Ends the session of a process that hangs in an open transaction. Transactions may wait for calls to clusters, which
  // take two minutes at most.
  idle_in_transaction_session_timeout: '10min',
};

const settings = Object.entries(sessionSettings)
  .map(([name, value]) => `set_config('${name}', '${value}', false)`)
  .join(', ');

/**
 * SQL condition for a read-only server. `transaction_read_only` is not used, because an export checks this in a
 * read-only transaction.
 */
export const takesNoChanges = `pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean`;

const openingText = `select ${settings}, ${takesNoChanges} as refuses, pg_backend_pid() as pid,
  (select backend_start::text from pg_stat_get_activity(pg_backend_pid())) as "beganAt"`;

/**
 * Connects and applies Davit's session settings. Throws `ServerReadOnly` if the server is read-only, or pg's own error.
 * The caller must then close the client.
 */
export async function openSession(client: Client, options: OpeningOptions): Promise<Session> {
  await client.connect();
  const { rows } = await client.query<Session & { readonly refuses: boolean }>(
    limited(openingText, options.answerWithinMilliseconds),
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the database opened no session');
  if (row.refuses && options.readsOnly !== true) throw new ServerReadOnly();
  return { pid: row.pid, beganAt: row.beganAt };
}

/**
 * Returns a query that fails with `Query read timeout` if the server does not respond. Its connection must not be used
 * afterwards.
 */
export function limited(text: string, milliseconds: number, values?: unknown[]): { text: string; values?: unknown[] } {
  // pg supports this option for single queries too, but its types declare it only for a whole client.
  const query = { text, query_timeout: milliseconds };
  return values === undefined ? query : { ...query, values };
}
