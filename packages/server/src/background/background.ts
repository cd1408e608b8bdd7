import type { Deps } from '../deps.ts';
import { trimIdempotencyKeys } from '../http/idempotency.ts';
import { trimEvents } from '../resources/event/index.ts';
import {
  followPreviews,
  followRepositories,
  GitWorker,
  trimGitEvents,
  type PollClock,
  type PreviewClock,
} from '../resources/git-event/index.ts';
import { trimDeliveries, WebhookDeliverer } from '../resources/webhook/index.ts';
import { followRules, type RuleClock } from './rules.ts';

const trimEveryMilliseconds = 3_600_000;

export interface BackgroundParts {
  readonly deps: Deps;
  readonly version: string;
  readonly log: { warn(details: object, message: string): void };
}

/** What happens beside requests: deliveries of webhooks, deployment rules, and the removal of what is kept no longer. */
export class Background {
  readonly #parts: BackgroundParts;
  readonly #deliverer: WebhookDeliverer;
  readonly #git: GitWorker;
  #rules: RuleClock | undefined;
  #previews: PreviewClock | undefined;
  #polls: PollClock | undefined;
  #timer: NodeJS.Timeout | undefined;
  #trimming: Promise<void> = Promise.resolve();

  constructor(parts: BackgroundParts) {
    this.#parts = parts;
    const { database, vault, config } = parts.deps;
    const allowPrivateTargets = config.allowPrivateTargets;
    this.#git = new GitWorker(parts.deps, parts.log);
    this.#deliverer = new WebhookDeliverer({ ...parts, database, vault, allowPrivateTargets });
  }

  start(): void {
    this.#deliverer.start();
    this.#git.start();
    this.#previews = followPreviews(this.#parts.deps, this.#parts.log);
    this.#polls = followRepositories(this.#parts.deps, this.#parts.log);
    this.#rules = followRules(this.#parts.deps, this.#parts.log);
    this.#trimming = this.#trim();
    this.#timer = setInterval(() => {
      this.#trimming = this.#trim();
    }, trimEveryMilliseconds);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#rules?.stop();
    await this.#deliverer.stop();
    await this.#git.stop();
    await this.#previews?.stop();
    await this.#polls?.stop();
    await this.#trimming;
  }

  async #trim(): Promise<void> {
    const { deps, log } = this.#parts;
    const { database } = deps;
    try {
      await trimEvents(database);
      await trimIdempotencyKeys(database);
      await trimDeliveries(database);
      await trimGitEvents(database);
    } catch (error) {
      log.warn({ err: error }, 'old events, keys and deliveries could not be removed; the next attempt is in an hour');
    }
  }
}
