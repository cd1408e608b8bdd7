import { Loop } from '@davit/base';
import type { Database } from '@davit/db';
import type { WebhookOutcome } from '../../metrics/counts.ts';
import type { Vault } from '../../secrets/vault.ts';
import { bodyOf, signatures } from './message.ts';
import { post, type PostAnswer } from './post.ts';
import { deliveryEnd, deliveryTake, webhookLock, webhooksDue, type DueRow } from './store.ts';

/*
 * Delivers the events of the outbox. The rules:
 * - Each event is delivered at least once. The deliveries of a webhook run one after the other, in whichever process.
 * - While a failed delivery is retried, later deliveries of its webhook wait for at most an hour and a half. A receiver
 *   that was unreachable thus gets all events in order, and one event that a receiver fails on does not block the
 *   others for the day of its attempts.
 * - A delivery that the receiver has read and refused blocks no others.
 * - A delivery whose process died before it ended is due again after a minute.
 */

/** Seconds before the second to the tenth attempt: about a day in total. */
export const pausesSeconds = [10, 30, 120, 300, 900, 3600, 10_800, 28_800, 43_200] as const;

/** Status codes with which a receiver refuses an event that it has read. */
const refusals: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);

const attemptMilliseconds = 10_000;
const lookEveryMilliseconds = 1000;
const maxAtOnce = 10;

export interface DelivererParts {
  readonly database: Database;
  readonly vault: Vault;
  readonly allowPrivateTargets: boolean;
  readonly version: string;
  /** The words of webhooks that were created under a base path. Left out: there is none. */
  readonly words?: WebhookWords;
  readonly counts: { webhookAttempted(outcome: WebhookOutcome): void };
  readonly log: { warn(details: object, message: string): void };
}

/** Translates deliveries into the words of a base path. */
export interface WebhookWords {
  readonly basePath: string;
  body(body: Readonly<Record<string, unknown>>): unknown;
  headers(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
}

const contractWords: Pick<WebhookWords, 'body' | 'headers'> = { body: (body) => body, headers: (headers) => headers };

export class WebhookDeliverer {
  readonly #parts: DelivererParts;
  readonly #underway = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  readonly #loop: Loop;

  constructor(parts: DelivererParts) {
    this.#parts = parts;
    this.#loop = new Loop({
      look: () => this.#take(),
      everyMilliseconds: lookEveryMilliseconds,
      onError: (error) =>
        parts.log.warn({ err: error }, 'the deliveries of webhooks could not be read; the next attempt is in a second'),
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Cancels running deliveries; they are due again later. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop.stop();
    await Promise.all(this.#underway);
  }

  /** Starts due deliveries. */
  look(): void {
    void this.#loop.wake();
  }

  /** Starts due deliveries and waits until all running ones have ended. */
  async idle(): Promise<void> {
    await this.#loop.wake();
    await Promise.all(this.#underway);
  }

  async #take(): Promise<void> {
    while (this.#underway.size < maxAtOnce && !this.#stop.signal.aborted) {
      const due = await this.#takeOne();
      if (due === undefined) return;
      const attempt = this.#attempt(due).finally(() => {
        this.#underway.delete(attempt);
        // The next delivery of the webhook had to wait for this one.
        this.look();
      });
      this.#underway.add(attempt);
    }
  }

  async #takeOne(): Promise<DueRow | undefined> {
    const { database } = this.#parts;
    for (const { webhook_id: id } of await database.many(webhooksDue)) {
      const due = await database.transaction(async (tx) =>
        (await tx.one(webhookLock, [id])).taken ? tx.maybe(deliveryTake, [id]) : undefined,
      );
      if (due !== undefined) return due;
    }
    return undefined;
  }

  async #attempt(due: DueRow): Promise<void> {
    const { database, log } = this.#parts;
    try {
      const words = this.#wordsOf(due);
      const body = JSON.stringify(words.body(bodyOf(due.kind, due.payload)));
      const headers = words.headers({
        'content-type': 'application/json',
        'user-agent': `Davit/${this.#parts.version}`,
        'service-delivery': due.id,
      });
      const answer = await this.#send(due, headers, body);
      if (this.#stop.signal.aborted && answer.status === 0) return;
      const isDelivered = answer.status >= 200 && answer.status < 300;
      const pause = isDelivered ? null : (pausesSeconds[due.attempts - 1] ?? null);
      const request = JSON.stringify({ headers, body: JSON.parse(body) });
      const { id, kind, target_url: url, attempts } = due;
      const isRefused = refusals.has(answer.status);
      this.#parts.counts.webhookAttempted(
        isDelivered ? 'DELIVERED' : pause === null ? 'GIVEN_UP' : isRefused ? 'REFUSED' : 'FAILED',
      );
      await database.run(deliveryEnd, [id, kind, url, request, answer.status, answer.body, pause, attempts, isRefused]);
    } catch (error) {
      log.warn({ err: error, webhook: due.webhook_id }, 'the end of a delivery could not be written; it will be repeated');
    }
  }

  /** Returns the contract's words also if the vocabulary that the webhook was created with is no longer served. */
  #wordsOf({ base_path: basePath }: DueRow): Pick<WebhookWords, 'body' | 'headers'> {
    const { words } = this.#parts;
    return words !== undefined && words.basePath === basePath ? words : contractWords;
  }

  async #send(due: DueRow, headers: Readonly<Record<string, string>>, body: string): Promise<PostAnswer> {
    const { vault, allowPrivateTargets } = this.#parts;
    try {
      const secret = due.sealed === null ? null : vault.open(due.webhook_id, due.sealed);
      const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(attemptMilliseconds)]);
      const all = { ...headers, ...this.#wordsOf(due).headers(signatures(secret, body)) };
      return await post({ url: due.target_url, headers: all, body, allowPrivate: allowPrivateTargets, signal });
    } catch (error) {
      return { status: 0, body: reasonOf(error) };
    }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return `no answer within ${attemptMilliseconds / 1000} s`;
  const reason = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0].message : error.message;
  return reason === '' ? error.name : reason;
}
