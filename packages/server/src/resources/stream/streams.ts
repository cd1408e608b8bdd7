import { AppError } from '@davit/base';
import type { Database } from '@davit/db';
import type { EnginePort } from '@davit/engine/port';
import type { Settings } from '../../configuration.ts';
import { StreamHub } from './hub.ts';
import { StreamReader } from './reader.ts';
import { SharedPages } from './shared-pages.ts';
import { Subscription, type SubscriptionRequest } from './subscription.ts';

/** Most streams in this process, for any number of tokens. */
const maxStreams = 2000;

export interface StreamsParts {
  readonly database: Database;
  readonly engine: EnginePort;
  readonly config: Settings<'streamsPerToken' | 'streamHeartbeatSeconds' | 'streamPatienceSeconds'>;
  readonly log: { warn(details: object, message: string): void };
}

/** The live streams of this process. */
export class Streams {
  readonly #parts: StreamsParts;
  readonly #hub: StreamHub;
  readonly #reader: StreamReader;
  readonly #pages: SharedPages;
  readonly #open = new Map<Subscription, string>();
  #whenEmpty: () => void = () => undefined;
  #isClosing = false;

  constructor(parts: StreamsParts) {
    this.#parts = parts;
    this.#hub = new StreamHub(parts);
    this.#reader = new StreamReader(parts);
    this.#pages = new SharedPages(this.#reader);
  }

  /** Number of open streams. */
  get count(): number {
    return this.#open.size;
  }

  /** Seconds since new events were last read; 0: there are no streams. */
  get lagSeconds(): number {
    return this.#hub.lagSeconds;
  }

  /** Checks the rights of all streams again, after a token, session, membership or role was changed or removed. */
  accessChanged(): void {
    for (const subscription of this.#open.keys()) subscription.recheck();
  }

  /**
   * Opens a stream, which the caller must run. Fails with TOO_MANY_STREAMS if the caller has too many streams, or with
   * OVERLOADED if the process has.
   */
  open(requested: SubscriptionRequest): Subscription {
    const { config, database, engine, log } = this.#parts;
    const { actor } = requested.caller;
    const own = [...this.#open.values()].filter((one) => one === actor).length;
    if (own >= config.streamsPerToken) {
      throw new AppError({
        code: 'TOO_MANY_STREAMS',
        message: `The token has reached its limit of ${config.streamsPerToken} open streams. Close one, or follow the whole organization with one stream.`,
      });
    }
    if (this.#isClosing || this.#open.size >= maxStreams) {
      const why = this.#isClosing ? 'This server is stopping.' : 'This server has reached its limit of open streams.';
      throw new AppError({ code: 'OVERLOADED', message: `${why} Try again in some seconds.` });
    }
    const parts = {
      hub: this.#hub,
      reader: this.#reader,
      pages: this.#pages,
      deps: { database, engine },
      heartbeatMilliseconds: config.streamHeartbeatSeconds * 1000,
      patienceMilliseconds: config.streamPatienceSeconds * 1000,
      log,
    };
    const subscription = new Subscription(parts, requested, () => {
      this.#open.delete(subscription);
      if (this.#open.size > 0) return;
      this.#pages.clear();
      this.#whenEmpty();
    });
    this.#open.set(subscription, actor);
    return subscription;
  }

  /** Ends all streams with a final event, and opens no new ones. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const subscription of this.#open.keys()) subscription.stop();
    if (this.#open.size > 0) await new Promise<void>((resolve) => (this.#whenEmpty = resolve));
    await this.#hub.close();
  }
}
