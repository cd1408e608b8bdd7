import type { Database } from '@davit/db';
import type { Vault } from '../../secrets/vault.ts';
import type { GitEvent } from './event.ts';
import { deliveryName, isSigned, payloadOf, readDelivery, repositoryPaths, type Delivery } from './hosts/delivery.ts';
import * as store from './store.ts';

/** The response to a git host. `status`: 202, or why nothing was accepted. */
export interface Receipt {
  readonly status: 202 | 400 | 401;
  readonly message: string;
}

interface Parts {
  readonly database: Database;
  readonly vault: Vault;
}

/**
 * Receives the events of git hosts. It only records them, because hosts wait for a few seconds only and recorded events
 * are not lost.
 */
export class GitInbox {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Returns whether the address exists. This is checked before a body is read. */
  async knows(webhookId: string): Promise<boolean> {
    return (await this.#parts.database.maybe(store.readWebhook, [webhookId])) !== undefined;
  }

  /**
   * Records a delivery. Idempotent: a repeated delivery, identified by its name, counts once. Returns null if the
   * address does not exist.
   */
  async receive(webhookId: string, delivery: Delivery): Promise<Receipt | null> {
    const { database, vault } = this.#parts;
    const webhook = await database.maybe(store.readWebhook, [webhookId]);
    if (webhook === undefined) return null;
    if (!isSigned(delivery, vault.open(webhook.id, webhook.sealed))) {
      return this.#refuse(webhook, {
        status: 401,
        message: 'The signature is wrong: enter the secret of this webhook at the git host again.',
      });
    }
    const payload = payloadOf(delivery);
    if (payload === undefined) {
      return this.#refuse(webhook, {
        status: 400,
        message: 'The body is not a JSON object; choose application/json at the git host.',
      });
    }
    const events = this.#eventsOf(webhook, delivery, payload);
    const name = deliveryName(delivery);
    const isNew = await database.transaction(async (tx) => {
      let count = 0;
      for (const [index, event] of events.entries()) {
        const [status, reason] = event.kind === 'OTHER' ? ['DONE', event.reason] : ['WAITING', null];
        const key = index === 0 ? name : `${name} ${index}`;
        const location = [webhook.organization_id, webhook.repository, 'WEBHOOK', key];
        const made = await tx.maybe(store.recordEvent, [...location, event.kind, JSON.stringify(event), status, reason]);
        if (made !== undefined) count += 1;
      }
      await tx.run(store.noteDelivery, [webhook.organization_id, webhook.repository, null]);
      return count > 0;
    });
    return { status: 202, message: isNew ? 'Recorded.' : 'Known already.' };
  }

  #eventsOf(webhook: store.WebhookRow, delivery: Delivery, payload: unknown): readonly GitEvent[] {
    const paths = repositoryPaths(payload);
    const own = webhook.repository.slice(webhook.repository.indexOf('/') + 1).toLowerCase();
    if (paths.size > 0 && ![...paths].some((path) => own === path || own.endsWith(`/${path}`))) {
      const summary = `The git host tells of ${[...paths][0]}.`;
      return [
        {
          kind: 'OTHER',
          summary,
          reason: `this is the address of ${webhook.repository}; enter that of the other repository there`,
        },
      ];
    }
    return readDelivery(delivery, payload).map((event) => complete(event));
  }

  async #refuse({ organization_id, repository }: store.WebhookRow, receipt: Receipt): Promise<Receipt> {
    await this.#parts.database.transaction(async (tx) => {
      await tx.run(store.recordRefusal, [organization_id, repository, receipt.message]);
      await tx.run(store.noteDelivery, [organization_id, repository, receipt.message]);
    });
    return receipt;
  }
}

/** Replaces an event that lacks its branch or commit, because nothing can be done for it. */
function complete(event: GitEvent): GitEvent {
  const isWhole =
    event.kind === 'OTHER' ||
    (event.kind === 'PUSH'
      ? event.after === null || event.after.length === 40
      : event.number !== '' && event.source.branch !== '' && event.target.branch !== '');
  if (isWhole) return event;
  return { kind: 'OTHER', summary: 'The git host sent an event.', reason: 'it names no branch or commit' };
}
