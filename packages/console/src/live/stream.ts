import { ApiError, type Received } from '@davit/client';
import { api } from '../api.ts';
import { sessionName } from '../session.ts';
import { serverNow } from '../time.ts';
import { lead } from './leader.ts';

/** A message of the tab that holds the stream to all tabs. */
export type LiveMessage =
  | { readonly kind: 'event'; readonly event: Received }
  | { readonly kind: 'live' }
  /** The server no longer accepts the session. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'lost'; readonly since: number };
type TabMessage = LiveMessage | { readonly kind: 'hello' };

const firstPauseMilliseconds = 500;
const longestPauseMilliseconds = 5000;
/**
 * The server sends something every 15 seconds; silence beyond that means that the connection is gone. An operator may
 * set another time, up to five minutes: each silent connection doubles the patience for the next one.
 */
const firstSilenceMilliseconds = 20_000;
const longestSilenceMilliseconds = 640_000;

/**
 * Follows the live events of an organization until the signal aborts. One tab holds the stream for all tabs of the same
 * session: browsers open only six connections to a server that speaks HTTP/1.1.
 */
export function followOrganization(organizationId: string, receive: (message: LiveMessage) => void, signal: AbortSignal): void {
  const name = `davit-${sessionName()}-${organizationId}`;
  const channel = new BroadcastChannel(name);
  let latest: LiveMessage | null = null;
  let isLeader = false;
  const publish = (message: LiveMessage): void => {
    if (message.kind !== 'event') latest = message;
    receive(message);
    channel.postMessage(message);
  };
  channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
    if (data.kind !== 'hello') receive(data);
    else if (isLeader && latest !== null) channel.postMessage(latest);
  });
  channel.postMessage({ kind: 'hello' });
  signal.addEventListener('abort', () => channel.close(), { once: true });
  void lead(name, signal, async (whileLeading) => {
    isLeader = true;
    await hold(organizationId, publish, whileLeading);
    isLeader = false;
  });
}

/** Holds the stream, over all its connections. Each new connection resumes after the last event. */
async function hold(organizationId: string, publish: (message: LiveMessage) => void, signal: AbortSignal): Promise<void> {
  let lastEventId: string | undefined;
  let failures = 0;
  let silence = firstSilenceMilliseconds;
  while (!signal.aborted) {
    const connection = new Watch(signal, silence);
    try {
      const options = { reconnect: false, signal: connection.signal, onAlive: () => connection.receive() };
      const input = { params: { organizationId }, ...(lastEventId === undefined ? {} : { lastEventId }), ...options };
      for await (const event of api().stream('streamOrganization', input)) {
        failures = 0;
        lastEventId = event.id ?? lastEventId;
        if (event.event === 'OPEN') publish({ kind: 'live' });
        publish({ kind: 'event', event });
      }
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) {
        publish({ kind: 'ended' });
        return;
      }
      // Another reason does not matter: the next attempt shows whether the server answers; requests show their errors.
    } finally {
      connection.end();
    }
    if (signal.aborted) return;
    if (connection.isSilent) silence = Math.min(longestSilenceMilliseconds, silence * 2);
    publish({ kind: 'lost', since: connection.receivedAt });
    await pause(Math.min(longestPauseMilliseconds, firstPauseMilliseconds * 2 ** failures), signal);
    failures += 1;
  }
}

/** Aborts a connection that is silent for too long, or whose machine went offline. */
class Watch {
  readonly #abort = new AbortController();
  readonly signal: AbortSignal;
  /** When the server sent something last; what the page shows is as old. Milliseconds since 1970. */
  receivedAt = serverNow();
  /** Whether the silence ended the connection. */
  isSilent = false;
  readonly #silence: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `silence`: the longest one, in milliseconds. */
  constructor(signal: AbortSignal, silence: number) {
    this.#silence = silence;
    this.signal = AbortSignal.any([signal, this.#abort.signal]);
    window.addEventListener('offline', this.#leave);
    this.receive();
  }

  readonly #leave = (): void => this.#abort.abort();

  receive(): void {
    this.receivedAt = serverNow();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.isSilent = true;
      this.#leave();
    }, this.#silence);
  }

  end(): void {
    clearTimeout(this.#timer);
    window.removeEventListener('offline', this.#leave);
    this.#abort.abort();
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      window.removeEventListener('online', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener('abort', end);
    window.addEventListener('online', end);
  });
}
