import { randomUUID } from 'node:crypto';
import { Loop } from '@davit/base';
import type { Database } from '@davit/db';
import type { RateLimiter } from './rate-limit.ts';
import { countsExchange, countsForget } from './rate-limit-store.ts';

const beatMilliseconds = 1000;
// More frequent keys than all processes can serve in a minute.
const maxKeysRead = 10_000;

export interface SharingParts {
  readonly limiter: RateLimiter;
  readonly database: Database;
  readonly log: { warn(details: object, message: string): void };
}

/**
 * Shares the rate limit among all processes of one database. Once a second, while this process serves requests, it
 * reports its counts to the database and reads the counts of the others. No request waits for that. While the database
 * is unreachable, each process continues with the counts it knows. See adr/0028.
 */
export class RateLimitSharing {
  readonly #parts: SharingParts;
  // Id of this run of the process. The counts from before a restart belong to another id.
  readonly #process = randomUUID();
  readonly #loop: Loop;
  #isFailing = false;
  #forgottenIn = 0;

  constructor(parts: SharingParts) {
    this.#parts = parts;
    const onError = (error: unknown): void => parts.log.warn({ err: error }, 'the rate-limit counts could not be exchanged');
    this.#loop = new Loop({ look: () => this.#look(), everyMilliseconds: beatMilliseconds, onError });
  }

  /** Reads the clock of the database and starts the exchange; does nothing if there is no limit. Never fails. */
  async start(): Promise<void> {
    if (this.#parts.limiter.limit === 0) return;
    this.#loop.start();
    await this.#loop.wake();
  }

  /** Waits for the running exchange. Counts since the latest exchange are not reported. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #look(): Promise<void> {
    // The counts of other processes are not needed here before the first request of a minute. The clock is, once.
    if (this.#forgottenIn === 0 || this.#parts.limiter.isCounting()) await this.exchange();
  }

  /**
   * Reports this process's counts and reads those of the others, once. Must not run concurrently. Never fails: counts
   * that could not be reported are reported the next time.
   */
  async exchange(): Promise<void> {
    const { limiter, database, log } = this.#parts;
    const report = limiter.report();
    const began = performance.now();
    try {
      const values = [this.#process, report.minute, report.keys, report.counts, maxKeysRead];
      const others = await database.one(countsExchange, values);
      limiter.learn(others, report, performance.now() - began);
      if (others.minute !== this.#forgottenIn) {
        await database.run(countsForget);
        this.#forgottenIn = others.minute;
      }
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) {
        log.warn(
          { err: error },
          'the rate-limit counts of other processes could not be read; until then this process counts alone',
        );
      }
      this.#isFailing = true;
    }
  }
}
