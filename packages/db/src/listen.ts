import { backoffMilliseconds } from '@davit/base';
import { escapeIdentifier } from 'pg';
import { openConnection, type DedicatedConnection } from './connection.ts';
import { toFailure } from './failures.ts';

export interface Notification {
  readonly channel: string;
  readonly payload: string;
}

export interface Listener {
  /** Ends listening; nothing is called any more afterwards. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly connectionString: string;
  readonly channels: readonly string[];
  readonly onNotification: (notification: Notification) => void;
  /**
   * Called after each reconnection. What was notified in between is lost: whoever listens must read again what it depends
   * on. It is called only once listening works again, so that no change falls between the two.
   */
  readonly onReconnect: () => void;
}

const firstPauseMilliseconds = 50;
const maximumPauseMilliseconds = 2_000;

/**
 * Listens to channels of NOTIFY on a connection of its own, which is opened again with growing pauses when it is lost.
 * Resolves once listening works; throws `DatabaseUnavailable` when the first connection cannot be had.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const listener = new ReconnectingListener(options);
  await listener.open();
  return listener;
}

class ReconnectingListener implements Listener {
  readonly #options: ListenOptions;
  readonly #closing = new AbortController();
  #connection: DedicatedConnection | undefined;
  #reconnecting: Promise<void> = Promise.resolve();

  constructor(options: ListenOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    const connection = await openConnection(this.#options.connectionString, 'davit listen');
    connection.client.on('notification', ({ channel, payload }) => {
      if (!this.#closing.signal.aborted) this.#options.onNotification({ channel, payload: payload ?? '' });
    });
    try {
      await connection.client.query(this.#options.channels.map((name) => `LISTEN ${escapeIdentifier(name)};`).join(''));
    } catch (error) {
      await connection.close();
      throw toFailure(error);
    }
    if (this.#closing.signal.aborted) return connection.close();
    this.#connection = connection;
    this.#reconnecting = this.#reconnectAfter(connection);
  }

  async #reconnectAfter(former: DedicatedConnection): Promise<void> {
    await former.lost;
    await former.close();
    for (let attempt = 1; !this.#closing.signal.aborted; attempt += 1) {
      try {
        await this.open();
        if (!this.#closing.signal.aborted) this.#options.onReconnect();
        return;
      } catch {
        // Whatever the reason is (not yet started, network, too many connections): there is nothing else to do than to
        // come back; requests report the outage meanwhile.
        await this.#pause(backoffMilliseconds(attempt, firstPauseMilliseconds, maximumPauseMilliseconds));
      }
    }
  }

  #pause(milliseconds: number): Promise<void> {
    const { signal } = this.#closing;
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, milliseconds);
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted) end();
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#connection?.close();
    await this.#reconnecting;
  }
}
