import { X509Certificate } from 'node:crypto';
import { backoffMilliseconds, isAppError, Loop, messageOf } from '@davit/base';
import { domainsChannel, Leadership, listen, type Listener } from '@davit/db';
import type { Needs } from '../../deps.ts';
import { checkDomain, isRight } from '../../dns/check.ts';
import { createDns, type Dns } from '../../dns/dns.ts';
import { localDriver } from '../../local-driver.ts';
import { validationDomain } from '../service/index.ts';
import type { EndpointSettings } from '../shared/public-endpoint.ts';
import { AuthorityFailure, type Authority, type IssueRequest, type Order } from './authority.ts';
import { awaitChallenge } from './challenge.ts';
import { DnsChallenge } from './dns-challenge.ts';
import { ownNames, type OwnNameSettings } from './own-names.ts';
import * as store from './store.ts';

/*
 * Issues and renews certificates. Only one process of an installation does so: the process that holds a lock in the
 * database. PostgreSQL releases the lock when that process dies, so there is never more than one order for a domain.
 * Due certificates are stored in a table, so the next process resumes where the previous one stopped. A failure does
 * not affect the certificate that is being served.
 */

const lookEveryMilliseconds = 15_000;
// An order may wait for minutes, for DNS or for an authority that cannot reach a domain.
const ordersAtOnce = 16;
const minute = 60_000;
// Public authorities allow five failures per name and hour.
const failureBackoff = { first: 5 * minute, most: 720 * minute };
// The authority has counted no failure. The gateway may be starting.
const ownBackoff = { first: minute / 4, most: 60 * minute };
const dnsBackoff = { first: minute / 4, most: 15 * minute };
/** The operator may raise Davit's own limit at any time. */
const longestLimitSeconds = 3600;

export interface IssuerParts {
  readonly deps: Needs<
    'database' | 'vault',
    keyof EndpointSettings | keyof OwnNameSettings | 'dnsServers' | 'gatewayHost' | 'dnsChallenge' | 'addressCertificatesPerWeek'
  >;
  readonly connectionString: string;
  readonly authority: Authority;
  readonly log: { info(details: object, message: string): void; warn(details: object, message: string): void };
}

export class CertificateIssuer {
  readonly #parts: IssuerParts;
  readonly #leadership: Leadership;
  #listener: Listener | undefined;
  readonly #loop: Loop;
  readonly #dns: DnsChallenge | null;
  /** The certificates that are being issued, by id. */
  readonly #running = new Map<string, Promise<void>>();
  /** Those of them that count for the limit of new addresses. */
  readonly #newAddresses = new Set<string>();

  constructor(parts: IssuerParts) {
    this.#parts = parts;
    const { dnsChallenge } = parts.deps.config;
    this.#dns = dnsChallenge === null ? null : new DnsChallenge(dnsChallenge, parts.log);
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
    await Promise.all(this.#running.values());
    await this.#leadership.release();
  }

  async #look(): Promise<void> {
    const term = await this.#leadership.take();
    if (term !== null) await this.#work(term);
  }

  /**
   * Starts what is due and does not wait for it, so that a certificate whose order waits does not keep others waiting.
   */
  async #work(term: AbortSignal): Promise<void> {
    const { deps } = this.#parts;
    await this.#noteWanted();
    const free = ordersAtOnce - this.#running.size;
    if (free <= 0 || term.aborted) return;
    const due = await deps.database.many(store.dueCertificates, [free, localDriver, [...this.#running.keys()]]);
    for (const one of due) {
      const ended = this.#renew(one, term)
        .catch((error: unknown) => {
          this.#parts.log.warn({ err: error, host: one.host }, 'the state of a certificate could not be stored; it stays due');
        })
        .finally(() => {
          this.#running.delete(one.id);
          this.#newAddresses.delete(one.id);
          if (!term.aborted) void this.#loop.wake();
        });
      this.#running.set(one.id, ended);
    }
  }

  /** Adds rows for all hosts that need a certificate, and removes those of other hosts. */
  async #noteWanted(): Promise<void> {
    const { authority, deps } = this.#parts;
    const { database, config } = deps;
    const own = ownNames(config);
    await database.run(store.noteOwn, [own]);
    await database.run(store.giveUpUnwantedOwn, [own]);
    if (config.addressCertificates === 'each') {
      await database.run(store.noteAddresses, [localDriver]);
      await database.run(store.giveUpUnwantedAddresses, [localDriver]);
    } else await database.run(store.giveUpAllAddresses);
    await database.run(store.noteWanted, [!authority.isPublic, localDriver]);
    await database.run(store.removeUnwanted, [!authority.isPublic]);
    await database.run(store.removeOldChallenges);
    await database.run(store.removeOldAddressIssues);
    await database.run(store.beginElsewhere, [authority.directory]);
  }

  async #renew(due: store.DueCertificate, signal: AbortSignal): Promise<void> {
    const { authority, deps } = this.#parts;
    const records: string[] = [];
    try {
      const fault = authority.isPublic ? await this.#faultBefore(due) : null;
      if (fault !== null) return await this.#failed(due, fault);
      await this.#served(due, await authority.issue(this.#request(due, signal, records)));
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
      for (const record of records) await this.#dns?.remove(due.host, record);
    }
  }

  /** Returns why a request to a public authority would fail or must not be sent yet; null if nothing is known. */
  async #faultBefore(due: store.DueCertificate): Promise<Failure | null> {
    const { database, config } = this.#parts.deps;
    const { directory } = this.#parts.authority;
    if (isWildcard(due)) return null;
    const message = due.purpose === 'DOMAIN' ? await this.#faultInDns(due) : await missingAddress(createDns(config), due.host);
    if (message !== null) return { source: 'DNS', message };
    if (!isNewAddress(due, directory)) return null;
    const { count, seconds } = await database.one(store.countAddressIssues, [directory]);
    if (count + this.#newAddresses.size < config.addressCertificatesPerWeek) {
      this.#newAddresses.add(due.id);
      return null;
    }
    const limit = `${config.addressCertificatesPerWeek} certificates for new addresses within a week`;
    // An order under way may fail, and then no longer counts.
    const retryAfterSeconds =
      this.#newAddresses.size > 0 ? 60 : Math.min(longestLimitSeconds, Math.max(60, Math.ceil(seconds ?? 0)));
    return {
      source: 'LIMIT',
      message: `The limit of ${limit} is reached (DAVIT_ADDRESS_CERTIFICATES_PER_WEEK).`,
      retryAfterSeconds,
    };
  }

  /** Returns what is wrong in DNS. A request to a public authority would fail in that case. */
  async #faultInDns(due: store.DueCertificate): Promise<string | null> {
    const { config } = this.#parts.deps;
    const { service_id: id, service_type: type, driver, host, use_cdn } = due;
    if (!due.is_checked || id === null || type === null || driver === null) return null;
    const found = await checkDomain(
      createDns(config),
      { host, use_cdn: use_cdn === true },
      validationDomain(config, { id, type, driver }),
    );
    return isRight(found) ? null : found.details;
  }

  /** `records`: receives the DNS records that were created and must be removed. */
  #request(due: store.DueCertificate, signal: AbortSignal, records: string[]): IssueRequest {
    const { database, vault, config } = this.#parts.deps;
    const former = due.order_url !== null && due.order_sealed !== null ? { url: due.order_url, sealed: due.order_sealed } : null;
    return {
      host: due.host,
      signal,
      former: former === null ? null : { url: former.url, key: vault.open(due.id, former.sealed) },
      keep: async (order: Order | null) => {
        const values = order === null ? [null, null] : [order.url, vault.seal(due.id, order.key)];
        await database.run(store.keepOrder, [due.id, ...values, this.#parts.authority.directory]);
      },
      challenge: isWildcard(due) ? 'dns-01' : 'http-01',
      publish: async (token, answer) => {
        if (isWildcard(due)) {
          records.push(answer);
          await this.#dns?.add(due.host, answer, signal);
          return;
        }
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
      if (isNewAddress(due, authority.directory)) await tx.run(store.addAddressIssue, [due.host, authority.directory]);
      const event = { certificate: due.is_served ? 'RENEWED' : 'ISSUED', valid_until: validToDate };
      await tx.run(store.noteEvent, [due.host, event]);
    });
  }

  async #failed(due: store.DueCertificate, { source, message, retryAfterSeconds = null }: Failure): Promise<void> {
    const { deps, authority } = this.#parts;
    const isDns = source === 'DNS';
    const attempts = due.attempts + Number(!isDns && source !== 'LIMIT');
    const checks = isDns ? due.checks + 1 : 0;
    const { first, most } = { DNS: dnsBackoff, GATEWAY: ownBackoff, AUTHORITY: failureBackoff, LIMIT: ownBackoff }[source];
    const pause = Math.max(backoffMilliseconds(isDns ? checks : attempts, first, most), (retryAfterSeconds ?? 0) * 1000);
    if (due.purpose !== 'DOMAIN' && due.failure?.message !== message) {
      this.#parts.log.warn({ host: due.host, reason: message }, 'a certificate of this installation cannot be issued');
    }
    await deps.database.transaction(async (tx) => {
      const failure: store.CertificateFailure = { source, message, at: new Date().toISOString() };
      await tx.run(store.storeFailure, [due.id, failure, attempts, checks, pause, authority.directory]);
      // Records the event once, not for each attempt that fails with the same message.
      if (due.failure?.message !== message) await tx.run(store.noteEvent, [due.host, { certificate: 'FAILED', reason: message }]);
    });
  }
}

interface Failure extends Omit<store.CertificateFailure, 'at'> {
  readonly retryAfterSeconds?: number | null;
}

function isWildcard({ host }: store.DueCertificate): boolean {
  return host.startsWith('*.');
}

/** Returns whether the authority sees a certificate of an address as a new one. It limits those, but not renewals. */
function isNewAddress({ purpose, is_served, directory }: store.DueCertificate, authority: string): boolean {
  return purpose === 'ADDRESS' && !(is_served && directory === authority);
}

/** Returns that a name has no address, which the authority would find too. Null: it has one. */
async function missingAddress(dns: Dns, host: string): Promise<string | null> {
  try {
    const answer = await dns.ask(host);
    if (answer !== null && answer.addresses.length > 0) return null;
    return `DNS has no address for ${host}: add an A or AAAA record with the public address of this machine.`;
  } catch (error) {
    return `DNS could not be queried for ${host}: ${messageOf(error)}.`;
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
