import type { QueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { forgetSession } from '../session.ts';
import { setConnection } from './connection.ts';
import { followOrganization, type LiveMessage } from './stream.ts';

/** Milliseconds for which events of one environment are collected before its records are read again. */
const collectMilliseconds = 60;

/** Keys of the records that a deployment makes untrue; outputs of jobs are variables, and what is deployed is compared. */
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
    if (event === 'OPEN' || event === 'RESET') void queries.invalidateQueries();
    else if (event === 'END') setConnection({ state: 'LOST', since: Date.now() });
    else collected.add(data.environment_id, event);
  }
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

  #read(): void {
    this.#timer = undefined;
    for (const [environmentId, events] of this.#events) {
      for (const key of keysOf(environmentId, events)) this.#keys.set(key.join(' '), key);
    }
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
  const own = ['details', ...(isChanged ? readAgain : events.has('STEP') ? ['deploymentLog'] : [])];
  return [...own.map((key) => [key, environmentId]), ...(events.has('ENVIRONMENT_STATE') ? [['environments']] : [])];
}
