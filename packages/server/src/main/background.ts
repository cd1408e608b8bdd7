import type { Database } from '@davit/db';
import { trimIdempotencyKeys } from '../http/idempotency.ts';
import { trimEvents } from '../resources/event/index.ts';
import { trimDeliveries, WebhookDeliverer } from '../resources/webhook/index.ts';
import type { Vault } from '../secrets/vault.ts';
import type { Configuration } from './config.ts';

const trimEveryMilliseconds = 3_600_000;

export interface BackgroundParts {
  readonly config: Configuration;
  readonly database: Database;
  readonly vault: Vault;
  readonly version: string;
  readonly log: { warn(details: object, message: string): void };
}

/** What the API's own tables need beside requests: deliveries of webhooks, and the removal of what is kept no longer. */
export class Background {
  readonly #parts: BackgroundParts;
  readonly #deliverer: WebhookDeliverer;
  #timer: NodeJS.Timeout | undefined;
  #trimming: Promise<void> = Promise.resolve();

  constructor(parts: BackgroundParts) {
    this.#parts = parts;
    this.#deliverer = new WebhookDeliverer({ ...parts, allowPrivateTargets: parts.config.allowPrivateTargets });
  }

  start(): void {
    this.#deliverer.start();
    this.#trimming = this.#trim();
    this.#timer = setInterval(() => {
      this.#trimming = this.#trim();
    }, trimEveryMilliseconds);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#deliverer.stop();
    await this.#trimming;
  }

  async #trim(): Promise<void> {
    const { database, log } = this.#parts;
    try {
      await trimEvents(database);
      await trimIdempotencyKeys(database);
      await trimDeliveries(database);
    } catch (error) {
      log.warn({ err: error }, 'old events, keys and deliveries could not be removed; the next attempt is in an hour');
    }
  }
}
