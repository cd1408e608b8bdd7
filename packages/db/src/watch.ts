import { Client, type ClientConfig } from 'pg';
import { isServerSilent } from './failures.ts';
import { limited, type Session } from './opening.ts';

/*
 * A server that disappears without closing its connections (power failure, network, failover to another machine)
 * neither responds to statements nor ends connections. The operating system gives up after a quarter of an hour. One
 * timeout for all statements would end long statements and be too long for the others. Therefore, if a statement has no
 * response for some seconds, the server is asked on another connection whether it still works on the statement.
 *
 * Time is counted in checks: a process that was suspended for a minute has not waited for a minute.
 */

const defaultLookEveryMilliseconds = 1_000;
const defaultAnswerWithinMilliseconds = 5_000;
const looksBeforeAsking = 5;
// For a long-running statement, the interval between queries to the server increases up to this number of checks.
const maxLooksBetween = 60;

export interface WatchTimes {
  /** Milliseconds between two checks. Default: 1 s. */
  readonly lookEveryMilliseconds?: number;
  /** Milliseconds within which the server must accept a connection, and then respond. Default: 5 s each. */
  readonly answerWithinMilliseconds?: number;
}

export interface WatchOptions extends WatchTimes {
  /** Settings of the connection that queries the server. */
  readonly settings: ClientConfig;
  /** Called with the connections whose statements will get no response. */
  readonly onVanished: (clients: readonly Client[]) => void;
}

interface Watched {
  readonly session: Session;
  query: unknown;
  /** Number of checks since the query started. */
  looks: number;
  /** Number of checks at which the server is queried. */
  due: number;
  /** Whether the server has reported once that it does not work on the query. The response may have been in transit. */
  isDoubted: boolean;
}

/**
 * State of the sessions: the names of the working sessions, or `silent` if the server does not respond, or `unknown`.
 */
type Report = ReadonlySet<string> | 'silent' | 'unknown';

const atWork = `select pid, backend_start::text as "beganAt" from pg_stat_activity
  where pid = any($1) and coalesce(state, '') not like 'idle%'`;

export class Watch {
  readonly #options: WatchOptions;
  readonly #watched = new Map<Client, Watched>();
  readonly #timer: NodeJS.Timeout;
  #isAsking = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), options.lookEveryMilliseconds ?? defaultLookEveryMilliseconds);
    this.#timer.unref();
  }

  add(client: Client, session: Session): void {
    this.#watched.set(client, { session, query: null, ...fresh });
  }

  remove(client: Client): void {
    this.#watched.delete(client);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    let isDue = false;
    for (const [client, watched] of this.#watched) {
      const query = queryUnderWay(client);
      if (query === null || query !== watched.query) Object.assign(watched, { query }, fresh);
      else watched.looks += 1;
      isDue ||= watched.looks >= watched.due;
    }
    if (isDue && !this.#isAsking) void this.#ask();
  }

  /** Never rejects. */
  async #ask(): Promise<void> {
    this.#isAsking = true;
    const requested = [...this.#watched]
      .filter(([, { query }]) => query !== null)
      .map(([client, watched]) => ({ client, watched, query: watched.query }));
    const report = await this.#report(requested.map(({ watched }) => watched.session.pid));
    this.#isAsking = false;
    const still = requested.filter(({ client, query }) => this.#watched.has(client) && queryUnderWay(client) === query);
    const vanished = still.filter(({ watched }) => isVanished(watched, report)).map(({ client }) => client);
    if (vanished.length > 0) this.#options.onVanished(vanished);
  }

  async #report(pids: readonly number[]): Promise<Report> {
    const { settings, answerWithinMilliseconds = defaultAnswerWithinMilliseconds } = this.#options;
    const client = new Client({ ...settings, connectionTimeoutMillis: answerWithinMilliseconds });
    // A failure of the connection also fails its query.
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<Session>(limited(atWork, answerWithinMilliseconds, [pids]));
      return new Set(rows.map(nameOf));
    } catch (error) {
      return isServerSilent(error) ? 'silent' : 'unknown';
    } finally {
      client.end().catch(() => undefined);
    }
  }
}

const fresh = { looks: 0, due: looksBeforeAsking, isDoubted: false };

/** Applies a report to one connection. Returns whether its statement will get no response. */
function isVanished(watched: Watched, report: Report): boolean {
  if (report === 'silent') return true;
  if (watched.looks < watched.due) return false;
  if (report !== 'unknown' && !report.has(nameOf(watched.session))) {
    const { isDoubted } = watched;
    watched.isDoubted = true;
    return isDoubted;
  }
  watched.isDoubted = false;
  watched.due = watched.looks + (report === 'unknown' ? looksBeforeAsking : Math.min(watched.looks, maxLooksBetween));
  return false;
}

function nameOf({ pid, beganAt }: Session): string {
  return `${pid} ${beganAt}`;
}

/** Internals of pg's clients (version 8) that its types do not declare. */
interface ClientInsides {
  _getActiveQuery(): unknown;
  readonly connection: { readonly stream: { destroy(error?: Error): void } };
}

function insidesOf(client: Client): ClientInsides {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see ClientInsides
  return client as unknown as ClientInsides;
}

/** Returns the query that was sent and has no response yet, or null. */
function queryUnderWay(client: Client): unknown {
  // oxlint-disable-next-line no-underscore-dangle -- the name is pg's
  return insidesOf(client)._getActiveQuery();
}

/**
 * Closes a connection whose server does not respond. Its current query fails as if the server had closed the
 * connection.
 */
export function cut(client: Client): void {
  insidesOf(client).connection.stream.destroy(new Error('Connection terminated: the database does not answer'));
}
