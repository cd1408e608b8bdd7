import type { Query, QueryClient, QueryKey } from '@tanstack/react-query';
import { useEffect } from 'react';
import { forgetSession } from '../session.ts';
import { serverNow } from '../time.ts';
import { setConnection } from './connection.ts';
import { followOrganization, type LiveMessage } from './stream.ts';

/** Milliseconds for which events of one environment are collected before its records are read again. */
const collectMilliseconds = 60;
/** Milliseconds between two reads of the overview, at most. */
const longestPauseMilliseconds = 1000;

/** Keys of the records that a deployment makes untrue: outputs of jobs are variables, the release is compared. */
const readAgain = ['history', 'serviceHistory', 'links', 'services', 'deploymentLog', 'variables', 'gitEvents', 'comparison'];

/** Keeps the records of an organization true while the page shows it. */
export function useLive(organizationId: string | null, queries: QueryClient): void {
  useEffect(() => {
    if (organizationId === null) return undefined;
    const leave = new AbortController();
    const collected = new Collected(queries);
    setConnection({ state: 'CONNECTING' });
    followOrganization(organizationId, (message) => receive(message, queries, collected), leave.signal);
    return () => {
      leave.abort();
      collected.end();
    };
  }, [organizationId, queries]);
}

function receive(message: LiveMessage, queries: QueryClient, collected: Collected): void {
  if (message.kind === 'live') setConnection({ state: 'LIVE' });
  else if (message.kind === 'ended') forgetSession(true);
  else if (message.kind === 'lost') setConnection({ state: 'LOST', since: message.since });
  else {
    const { event, data } = message.event;
    // Events between two connections are sent after OPEN, or are gone: in both cases what is shown must be read again.
    if (event === 'OPEN' || event === 'RESET') void readAfterFirst(queries);
    else if (event === 'END') setConnection({ state: 'LOST', since: serverNow() });
    else collected.add(data.environment_id, event);
  }
}

/**
 * Reads all that is shown again, when what is just being read for the first time is there: the page shows that as early
 * as it can, and the server does not do the same work twice at once. States are read again in the turn in which they
 * arrive, so that the page can tell that they may be older than those of the overview (`useDetails`).
 */
async function readAfterFirst(queries: QueryClient): Promise<void> {
  const isFirst = ({ state }: Query): boolean => state.data === undefined;
  const early = queries.getQueryCache().findAll({ fetchStatus: 'fetching', predicate: isFirst });
  const again = new Set<string>();
  const readFirst = async (query: Query): Promise<void> => {
    await query.fetch();
    if (query.queryKey[0] !== 'details') return;
    again.add(query.queryHash);
    void queries.invalidateQueries({ queryKey: query.queryKey, exact: true });
  };
  // A query that failed is tried again by itself, and shows its error.
  await Promise.allSettled(early.map(readFirst));
  await queries.invalidateQueries({ predicate: ({ queryHash }) => !again.has(queryHash) });
}

/**
 * Reads what is shown again, also what is just being read for the first time: its answer may be older than the event.
 * Resolves when all that is shown was read.
 */
async function readShown(queries: QueryClient, filter: { readonly queryKey: QueryKey }): Promise<void> {
  const isFirst = ({ state }: Query): boolean => state.data === undefined;
  const early = queries.getQueryCache().findAll({ ...filter, fetchStatus: 'fetching', predicate: isFirst });
  const all = queries.invalidateQueries(filter);
  const again = early.map(async (query) => {
    try {
      // It is being read: this is the same answer.
      await query.fetch();
    } catch {
      // A query that failed is tried again by itself, and shows its error.
      return;
    }
    await queries.invalidateQueries({ queryKey: query.queryKey, exact: true });
  });
  await Promise.all([all, ...again]);
}

/**
 * Reads the records of an environment again after events, once for all events that arrive together. A record that is
 * being read is read again afterwards: a reading that each event began anew would never end while a deployment is busy.
 */
export class Collected {
  readonly #queries: QueryClient;
  readonly #events = new Map<string, Set<string>>();
  #keys = new Map<string, readonly string[]>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;
  #isOverviewOld = false;
  #isEnded = false;

  constructor(queries: QueryClient) {
    this.#queries = queries;
  }

  add(environmentId: string, event: string): void {
    const known = this.#events.get(environmentId) ?? new Set();
    this.#events.set(environmentId, known.add(event));
    this.#wait();
  }

  end(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
  }

  #wait(): void {
    if (!this.#isEnded) this.#timer ??= setTimeout(() => this.#read(), collectMilliseconds);
  }

  /**
   * Reads the overview again. It is large where there are many services: after each time there is a pause of twice the
   * time that it took.
   */
  async #readOverview(): Promise<void> {
    this.#isOverviewOld = true;
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#isOverviewOld && !this.#isEnded) {
      this.#isOverviewOld = false;
      const began = performance.now();
      // oxlint-disable-next-line no-await-in-loop -- one read at a time
      await readShown(this.#queries, { queryKey: ['overview'] });
      const pause = Math.min(longestPauseMilliseconds, 2 * (performance.now() - began));
      // oxlint-disable-next-line no-await-in-loop
      await new Promise((resolve) => void setTimeout(resolve, pause));
    }
    this.#isReading = false;
  }

  #read(): void {
    this.#timer = undefined;
    for (const [environmentId, events] of this.#events) {
      for (const key of keysOf(environmentId, events)) this.#keys.set(key.join(' '), key);
    }
    if (this.#events.size > 0) void this.#readOverview();
    this.#events.clear();
    const all = this.#keys;
    this.#keys = new Map();
    for (const [name, queryKey] of all) {
      if (this.#queries.isFetching({ queryKey }) > 0) this.#keys.set(name, queryKey);
      else void this.#queries.invalidateQueries({ queryKey });
    }
    if (this.#keys.size > 0) this.#wait();
  }
}

/** Returns the keys of the records that events of an environment make untrue. */
function keysOf(environmentId: string, events: ReadonlySet<string>): (readonly string[])[] {
  const isChanged = ['DEPLOYMENT', 'QUEUE', 'SERVICE_STATE'].some((event) => events.has(event));
  // References cost a read for each service; only the end of a deployment makes some, by the outputs of its jobs.
  const made = events.has('DEPLOYMENT') ? ['references'] : [];
  const own = ['details', ...made, ...(isChanged ? readAgain : events.has('STEP') ? ['deploymentLog'] : [])];
  return [...own.map((key) => [key, environmentId]), ...(events.has('ENVIRONMENT_STATE') ? [['environments']] : [])];
}
