import type { Deps } from '../deps.ts';
import { trimIdempotencyKeys } from '../http/idempotency.ts';
import { trimEvents } from '../resources/event/index.ts';
import { trimDeliveries, WebhookDeliverer } from '../resources/webhook/index.ts';
import { followBackups } from './backups.ts';
import type { Followed } from './clock.ts';
import { followRules } from './rules.ts';

const trimEveryMilliseconds = 3_600_000;

export interface BackgroundParts {
  readonly deps: Deps;
  readonly version: string;
  readonly log: { warn(details: object, message: string): void };
}

/** What happens beside requests: deliveries of webhooks, deployment rules, backups of databases, and the removal of what is kept no longer. */
export class Background {
  readonly #parts: BackgroundParts;
  readonly #deliverer: WebhookDeliverer;
  #rules: Followed | undefined;
  #backups: Followed | undefined;
  #timer: NodeJS.Timeout | undefined;
  #trimming: Promise<void> = Promise.resolve();

  constructor(parts: BackgroundParts) {
    this.#parts = parts;
    const { database, vault, config } = parts.deps;
    const allowPrivateTargets = config.allowPrivateTargets;
    this.#deliverer = new WebhookDeliverer({ ...parts, database, vault, allowPrivateTargets });
  }

  start(): void {
    this.#deliverer.start();
    this.#rules = followRules(this.#parts.deps, this.#parts.log);
    this.#backups = followBackups(this.#parts.deps, this.#parts.log);
    this.#trimming = this.#trim();
    this.#timer = setInterval(() => {
      this.#trimming = this.#trim();
    }, trimEveryMilliseconds);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#rules?.stop();
    await this.#backups?.stop();
    await this.#deliverer.stop();
    await this.#trimming;
  }

  async #trim(): Promise<void> {
    const { deps, log } = this.#parts;
    const { database } = deps;
    try {
      await trimEvents(database);
      await trimIdempotencyKeys(database);
      await trimDeliveries(database);
    } catch (error) {
      log.warn({ err: error }, 'old events, keys and deliveries could not be removed; the next attempt is in an hour');
    }
  }
}
