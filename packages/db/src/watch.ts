import { Client, type ClientConfig } from 'pg';
import { isServerSilent } from './failures.ts';
import { limited, type Session } from './opening.ts';

/*
 * A server that vanished without a word (power, network, failover to another machine) answers no statement and ends no connection: the
 * operating system gives up after a quarter of an hour. A limit for all statements would cut those that take long and be too long for
 * the others. So when a statement goes without an answer for some seconds, the server is asked on another connection what became of it.
 *
 * Time is counted in looks: a process that stood still for a minute has not waited for a minute.
 */

const defaultLookEveryMilliseconds = 1_000;
const defaultAnswerWithinMilliseconds = 5_000;
const looksBeforeAsking = 5;
// Of a statement that takes long the server is asked less and less often.
const mostLooksBetween = 60;

export interface WatchTimes {
  /** Default: 1 s. */
  readonly lookEveryMilliseconds?: number;
  /** How long the server may take to be reached, and then to answer. Default: 5 s each. */
  readonly answerWithinMilliseconds?: number;
}

export interface WatchOptions extends WatchTimes {
  /** Of the connection that asks. */
  readonly settings: ClientConfig;
  /** Told of connections whose statement will get no answer. */
  readonly onVanished: (clients: readonly Client[]) => void;
}

interface Watched {
  readonly session: Session;
  query: unknown;
  /** Since that query is under way. */
  looks: number;
  /** At how many looks the server is asked. */
  due: number;
  /** Whether the server said that it is not at work on it: the answer may have been on its way. */
  isDoubted: boolean;
}

/** What became of the sessions: who works, or that nobody answers, or that this cannot be told. */
type Report = ReadonlySet<string> | 'silent' | 'unknown';

const atWork = `SELECT pid, backend_start::text AS "beganAt" FROM pg_stat_activity
  WHERE pid = ANY($1) AND coalesce(state, '') NOT LIKE 'idle%'`;

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
    const asked = [...this.#watched]
      .filter(([, { query }]) => query !== null)
      .map(([client, watched]) => ({ client, watched, query: watched.query }));
    const report = await this.#report(asked.map(({ watched }) => watched.session.pid));
    this.#isAsking = false;
    const still = asked.filter(({ client, query }) => this.#watched.has(client) && queryUnderWay(client) === query);
    const vanished = still.filter(({ watched }) => isVanished(watched, report)).map(({ client }) => client);
    if (vanished.length > 0) this.#options.onVanished(vanished);
  }

  async #report(pids: readonly number[]): Promise<Report> {
    const { settings, answerWithinMilliseconds = defaultAnswerWithinMilliseconds } = this.#options;
    const client = new Client({ ...settings, connectionTimeoutMillis: answerWithinMilliseconds });
    // What happens to it is told by its question.
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

/** Notes what the report means for one connection, and tells whether its statement will get no answer. */
function isVanished(watched: Watched, report: Report): boolean {
  if (report === 'silent') return true;
  if (watched.looks < watched.due) return false;
  if (report !== 'unknown' && !report.has(nameOf(watched.session))) {
    const { isDoubted } = watched;
    watched.isDoubted = true;
    return isDoubted;
  }
  watched.isDoubted = false;
  watched.due = watched.looks + (report === 'unknown' ? looksBeforeAsking : Math.min(watched.looks, mostLooksBetween));
  return false;
}

function nameOf({ pid, beganAt }: Session): string {
  return `${pid} ${beganAt}`;
}

/** What pg's clients have and its types do not tell; of version 8. */
interface ClientInsides {
  _getActiveQuery(): unknown;
  readonly connection: { readonly stream: { destroy(error?: Error): void } };
}

function insidesOf(client: Client): ClientInsides {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see ClientInsides
  return client as unknown as ClientInsides;
}

/** The query that was sent and has no answer yet; null: none. */
function queryUnderWay(client: Client): unknown {
  // oxlint-disable-next-line no-underscore-dangle -- the name is pg's
  return insidesOf(client)._getActiveQuery();
}

/** Ends a connection whose other end says nothing; what is under way on it fails as if the server had ended it. */
export function cut(client: Client): void {
  insidesOf(client).connection.stream.destroy(new Error('Connection terminated: the database does not answer'));
}
