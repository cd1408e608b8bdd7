import { randomUUID } from 'node:crypto';
import type { Database } from '@davit/db';
import type { RateLimiter } from './rate-limit.ts';
import { countsExchange, countsForget } from './rate-limit-store.ts';

const beatMilliseconds = 1000;
// So many keys that come so often in a minute are more than one process answers.
const mostKeysAtOnce = 10_000;

export interface SharingParts {
  readonly limiter: RateLimiter;
  readonly database: Database;
  readonly log: { warn(details: object, message: string): void };
}

/**
 * Makes the limit that of all processes of one database: once a second, while this one answers requests, it tells the others through the
 * database what it has counted, and hears what they have. No request waits for that. Without the database each process goes on counting what
 * it knows. See adr/0028.
 */
export class RateLimitSharing {
  readonly #parts: SharingParts;
  // Of this start: what a process counted before it was started anew is that of another one.
  readonly #process = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #underway: Promise<void> | undefined;
  #isStopped = false;
  #isFailing = false;
  #forgottenIn = 0;

  constructor(parts: SharingParts) {
    this.#parts = parts;
  }

  /** Learns when the window ends, and begins to exchange; does nothing where there is no limit. Never fails. */
  async start(): Promise<void> {
    if (this.#parts.limiter.limit === 0) return;
    await (this.#underway = this.exchange());
    this.#underway = undefined;
    if (this.#isStopped) return;
    this.#timer ??= setInterval(() => {
      this.#underway ??= this.#look().finally(() => (this.#underway = undefined));
    }, beatMilliseconds);
  }

  /** Waits for what is under way. What was counted since the latest beat is told to nobody. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#underway;
  }

  async #look(): Promise<void> {
    // What others count matters to nobody here until the first request of a window.
    if (this.#parts.limiter.isCounting()) await this.exchange();
  }

  /** Tells and hears, once; one at a time. Never fails: what was not told is told the next time. */
  async exchange(): Promise<void> {
    const { limiter, database, log } = this.#parts;
    const own = limiter.untold(mostKeysAtOnce);
    try {
      const values = [this.#process, own.minute, own.keys, own.counts, mostKeysAtOnce];
      const others = await database.one(countsExchange, values);
      limiter.learn(others, own);
      if (others.minute !== this.#forgottenIn) {
        await database.run(countsForget);
        this.#forgottenIn = others.minute;
      }
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) {
        log.warn(
          { err: error },
          'what other processes count for the rate limit is not known; until it is, this one counts for itself',
        );
      }
      this.#isFailing = true;
    }
  }
}
