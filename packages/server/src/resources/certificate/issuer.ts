import { X509Certificate } from 'node:crypto';
import { backoffMilliseconds, isAppError, Loop } from '@davit/base';
import { domainsChannel, Leadership, listen, type Listener } from '@davit/db';
import type { Needs } from '../../deps.ts';
import { checkDomain, isRight } from '../../dns/check.ts';
import { createDns } from '../../dns/dns.ts';
import { localDriver } from '../../local-driver.ts';
import { validationDomain, type EndpointSettings } from '../service/index.ts';
import { AuthorityFailure, type Authority, type IssueRequest, type Order } from './authority.ts';
import { awaitChallenge } from './challenge.ts';
import * as store from './store.ts';

/*
 * Issues and renews certificates. Only one process of an installation does so: the process that holds a lock in the
 * database. PostgreSQL releases the lock when that process dies, so there is never more than one order for a domain.
 * Due certificates are stored in a table, so the next process resumes where the previous one stopped. A failure does
 * not affect the certificate that is being served.
 */

const lookEveryMilliseconds = 15_000;
const ordersAtOnce = 4;
const minute = 60_000;
// Public authorities allow five failures per name and hour.
const failureBackoff = { first: 5 * minute, most: 720 * minute };
const dnsBackoff = { first: minute / 4, most: 15 * minute };

export interface IssuerParts {
  readonly deps: Needs<'database' | 'vault', keyof EndpointSettings | 'dnsServers' | 'gatewayHost'>;
  readonly connectionString: string;
  readonly authority: Authority;
  readonly log: { warn(details: object, message: string): void };
}

export class CertificateIssuer {
  readonly #parts: IssuerParts;
  readonly #leadership: Leadership;
  #listener: Listener | undefined;
  readonly #loop: Loop;

  constructor(parts: IssuerParts) {
    this.#parts = parts;
    this.#leadership = new Leadership({ connectionString: parts.connectionString, name: 'certificates' });
    this.#loop = new Loop({
      look: () => this.#look(),
      everyMilliseconds: lookEveryMilliseconds,
      onError: (error) => parts.log.warn({ err: error }, 'the due certificates could not be read; they stay due'),
    });
  }

  async start(): Promise<void> {
    const wake = (): void => void this.#loop.wake();
    this.#loop.start();
    const { connectionString } = this.#parts;
    this.#listener = await listen({ connectionString, channels: [domainsChannel], onNotification: wake, onReconnect: wake });
    wake();
  }

  /** Releases all resources. The next process resumes an order that is in progress. */
  async stop(): Promise<void> {
    this.#leadership.leave();
    const looksEnded = this.#loop.stop();
    await this.#listener?.close();
    await looksEnded;
    await this.#leadership.release();
  }

  async #look(): Promise<void> {
    const term = await this.#leadership.take();
    if (term !== null) await this.#work(term);
  }

  async #work(term: AbortSignal): Promise<void> {
    const { authority, deps } = this.#parts;
    const { database } = deps;
    await database.run(store.noteWanted, [!authority.isPublic, localDriver]);
    await database.run(store.removeUnwanted, [!authority.isPublic]);
    await database.run(store.removeOldChallenges);
    await database.run(store.renewOthers, [authority.directory]);
    for (;;) {
      const due = await database.many(store.dueCertificates, [ordersAtOnce, localDriver]);
      if (due.length === 0 || term.aborted) return;
      await Promise.all(due.map((one) => this.#renew(one, term)));
    }
  }

  async #renew(due: store.DueCertificate, signal: AbortSignal): Promise<void> {
    const { authority, deps } = this.#parts;
    try {
      const fault = authority.isPublic ? await this.#faultInDns(due) : null;
      if (fault !== null) return await this.#failed(due, { source: 'DNS', message: fault });
      await this.#served(due, await authority.issue(this.#request(due, signal)));
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof AuthorityFailure)) {
        this.#parts.log.warn({ err: error, host: due.host }, 'a certificate could not be created');
      }
      const source = error instanceof AuthorityFailure ? error.source : 'GATEWAY';
      const message =
        error instanceof AuthorityFailure || isAppError(error) ? error.message : 'Davit itself failed; its log has the details.';
      const retryAfterSeconds = error instanceof AuthorityFailure ? error.retryAfterSeconds : null;
      await this.#failed(due, { source, message, retryAfterSeconds });
    } finally {
      await deps.database.run(store.removeChallenges, [due.host]);
    }
  }

  /** Returns what is wrong in DNS. A request to a public authority would fail in that case. */
  async #faultInDns(due: store.DueCertificate): Promise<string | null> {
    const { config } = this.#parts.deps;
    if (!due.is_checked) return null;
    const lead = validationDomain(config, { id: due.service_id, type: due.service_type, driver: due.driver });
    const found = await checkDomain(createDns(config), due, lead);
    return isRight(found) ? null : found.details;
  }

  #request(due: store.DueCertificate, signal: AbortSignal): IssueRequest {
    const { database, vault, config } = this.#parts.deps;
    const former = due.order_url !== null && due.order_sealed !== null ? { url: due.order_url, sealed: due.order_sealed } : null;
    return {
      host: due.host,
      signal,
      former: former === null ? null : { url: former.url, key: vault.open(due.id, former.sealed) },
      keep: async (order: Order | null) => {
        const values = order === null ? [null, null] : [order.url, vault.seal(due.id, order.key)];
        await database.run(store.keepOrder, [due.id, ...values]);
      },
      publish: async (token, answer) => {
        await database.run(store.addChallenge, [due.host, token, answer]);
        await awaitChallenge(config, { host: due.host, token, answer }, signal);
      },
    };
  }

  async #served(due: store.DueCertificate, pem: string): Promise<void> {
    const { deps, authority } = this.#parts;
    const { validFromDate, validToDate } = new X509Certificate(pem);
    const sealed = deps.vault.seal(due.id, pem);
    await deps.database.transaction(async (tx) => {
      const values = [due.id, sealed, authority.directory, validFromDate, validToDate, renewalOf(validFromDate, validToDate)];
      await tx.run(store.storeCertificate, values);
      const event = { certificate: due.is_served ? 'RENEWED' : 'ISSUED', valid_until: validToDate };
      await tx.run(store.noteEvent, [due.host, event]);
    });
  }

  async #failed(
    due: store.DueCertificate,
    {
      source,
      message,
      retryAfterSeconds = null,
    }: Omit<store.CertificateFailure, 'at'> & { readonly retryAfterSeconds?: number | null },
  ): Promise<void> {
    const { database } = this.#parts.deps;
    const isDns = source === 'DNS';
    const attempts = due.attempts + Number(!isDns);
    const checks = isDns ? due.checks + 1 : 0;
    const { first, most } = isDns ? dnsBackoff : failureBackoff;
    const pause = Math.max(backoffMilliseconds(isDns ? checks : attempts, first, most), (retryAfterSeconds ?? 0) * 1000);
    await database.transaction(async (tx) => {
      const failure: store.CertificateFailure = { source, message, at: new Date().toISOString() };
      await tx.run(store.storeFailure, [due.id, failure, attempts, checks, pause]);
      // Records the event once, not for each attempt that fails with the same message.
      if (due.failure?.message !== message) await tx.run(store.noteEvent, [due.host, { certificate: 'FAILED', reason: message }]);
    });
  }
}

/**
 * Returns when a certificate is renewed: after two thirds of its lifetime, or up to a twenty-fourth of its lifetime
 * earlier. The random part spreads the renewals of certificates that were issued at the same time. The last third of
 * the lifetime is left for failing attempts.
 */
export function renewalOf(from: Date, to: Date, chance = Math.random()): Date {
  const life = to.getTime() - from.getTime();
  return new Date(from.getTime() + life * (2 / 3 - chance / 24));
}
