import { backoffMilliseconds, pause } from '@davit/base';
import { escapeIdentifier } from 'pg';
import { openConnection, type DedicatedConnection } from './connection.ts';
import { toFailure } from './failures.ts';

export interface Notification {
  readonly channel: string;
  readonly payload: string;
}

export interface Listener {
  /** Stops listening. No callback is called afterwards. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly connectionString: string;
  readonly channels: readonly string[];
  readonly onNotification: (notification: Notification) => void;
  /**
   * Called after each reconnection. Notifications sent meanwhile are lost: the listener must reload the data it depends
   * on. The call comes only after listening works again, so that no change is missed in between.
   */
  readonly onReconnect: () => void;
}

const firstPauseMilliseconds = 50;
const maximumPauseMilliseconds = 2_000;

/**
 * Listens to NOTIFY channels on a dedicated connection. A lost connection is reopened with increasing pauses. Resolves
 * once listening works; throws `DatabaseUnavailable` if the first connection fails.
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
      await connection.client.query(this.#options.channels.map((name) => `listen ${escapeIdentifier(name)};`).join(''));
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
        // The reason does not matter (server not yet started, network, too many connections): the only remedy is to
        // reconnect. Requests report the outage meanwhile.
        await pause(backoffMilliseconds(attempt, firstPauseMilliseconds, maximumPauseMilliseconds), this.#closing.signal);
      }
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#connection?.close();
    await this.#reconnecting;
  }
}
