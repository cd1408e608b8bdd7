import { AppError } from '@davit/base';
import type { Database } from '@davit/db';
import type { EnginePort } from '@davit/engine/port';
import type { Configuration } from '../../main/config.ts';
import { StreamHub } from './hub.ts';
import { StreamReader } from './reader.ts';
import { Subscription, type Asked } from './subscription.ts';

/** However many tokens there are. */
const mostStreams = 2000;

export interface StreamsParts {
  readonly database: Database;
  readonly engine: EnginePort;
  readonly config: Configuration;
  readonly log: { warn(details: object, message: string): void };
}

/** The live streams of this process. */
export class Streams {
  readonly #parts: StreamsParts;
  readonly #hub: StreamHub;
  readonly #reader: StreamReader;
  readonly #open = new Map<Subscription, string>();
  #whenEmpty: () => void = () => undefined;
  #isClosing = false;

  constructor(parts: StreamsParts) {
    this.#parts = parts;
    this.#hub = new StreamHub(parts);
    this.#reader = new StreamReader(parts);
  }

  /** How many are open. */
  get count(): number {
    return this.#open.size;
  }

  /** Seconds since what is new was last read; 0: nobody follows. */
  get lagSeconds(): number {
    return this.#hub.lagSeconds;
  }

  /** The database has something new. */
  news(): void {
    this.#hub.wake();
  }

  /** A token, session, membership or role was changed or taken away. */
  accessChanged(): void {
    for (const subscription of this.#open.keys()) subscription.recheck();
  }

  /** Opens one; whoever gets it must run it. Throws TOO_MANY_STREAMS where its caller has enough, OVERLOADED where the process has. */
  open(asked: Asked): Subscription {
    const { config, database, engine, log } = this.#parts;
    const { actor } = asked.caller;
    const own = [...this.#open.values()].filter((one) => one === actor).length;
    if (own >= config.streamsPerToken) {
      throw new AppError({
        code: 'TOO_MANY_STREAMS',
        message: `As many streams as are allowed to one token are open: ${config.streamsPerToken}. Close one, or follow the organization with one.`,
      });
    }
    if (this.#isClosing || this.#open.size >= mostStreams) {
      const why = this.#isClosing ? 'This server stops.' : 'This server has as many streams open as it can.';
      throw new AppError({ code: 'OVERLOADED', message: `${why} Try again in some seconds.` });
    }
    const parts = {
      hub: this.#hub,
      reader: this.#reader,
      deps: { database, engine },
      heartbeatMilliseconds: config.streamHeartbeatSeconds * 1000,
      patienceMilliseconds: config.streamPatienceSeconds * 1000,
      log,
    };
    const subscription = new Subscription(parts, asked, () => {
      this.#open.delete(subscription);
      if (this.#open.size === 0) this.#whenEmpty();
    });
    this.#open.set(subscription, actor);
    return subscription;
  }

  /** Ends all of them, saying so, and opens no more. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const subscription of this.#open.keys()) subscription.stop();
    if (this.#open.size > 0) await new Promise<void>((resolve) => (this.#whenEmpty = resolve));
    await this.#hub.close();
  }
}
