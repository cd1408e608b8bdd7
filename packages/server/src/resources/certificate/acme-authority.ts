import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID, X509Certificate } from 'node:crypto';
import { Agent } from 'node:https';
import { rootCertificates } from 'node:tls';
import { abortablePause, messageOf } from '@davit/base';
import acme from 'acme-client';
import type { Sensitive } from '@davit/base';
import type { Database } from '@davit/db';
import type { Vault } from '../../secrets/vault.ts';
import { AuthorityFailure, type Authority, type IssueRequest } from './authority.ts';
import * as store from './store.ts';

/*
 * Obtains certificates from an ACME server (RFC 8555), which requests the answer to its challenge at port 80 of the
 * domain, or as a TXT record in DNS. An order is stored before anything else happens to it. After a crash, the next
 * process resumes the same order, so that a crash does not use up the rate limits of the authority.
 */

export interface AcmeSettings {
  readonly directory: string;
  readonly email: string | null;
  /** CA certificates (PEM) that are trusted for the directory's own TLS certificate, in addition to the usual ones. */
  readonly roots: string | null;
  /** External account binding, for authorities that require one: the account there that the ACME account belongs to. */
  readonly binding: { readonly keyId: string; readonly hmacKey: Sensitive } | null;
  /** Milliseconds between two requests for the state of an order. Default: 1000. */
  readonly pollMilliseconds?: number;
}

/** The problem document (RFC 7807) of the latest response, which the library does not expose. */
interface Problem {
  type: string;
  retryAfterSeconds: number | null;
}

const received = new AsyncLocalStorage<Problem>();
const requestTimeoutMilliseconds = 30_000;
const validationMilliseconds = 120_000;
const problemPrefix = 'urn:ietf:params:acme:error:';

acme.axios.defaults.timeout = requestTimeoutMilliseconds;
// By default the library would wait as long as the authority demands, which may be hours. Retries are scheduled
// elsewhere.
Object.assign(acme.axios.defaults, { acmeSettings: { retryMaxAttempts: 0 } });
acme.axios.interceptors.response.use((response) => {
  const now = received.getStore();
  if (now !== undefined && response.status >= 400) {
    const body: unknown = response.data;
    now.type = typeof body === 'object' && body !== null && 'type' in body ? String(body.type).replace(problemPrefix, '') : '';
    now.retryAfterSeconds = toSeconds(String(response.headers['retry-after'] ?? ''));
  }
  return response;
});

/**
 * Creates the authority. A process can have only one, because the trusted CA certificates are a global setting of the
 * library.
 */
export function acmeAuthority(database: Database, vault: Vault, settings: AcmeSettings): Authority {
  if (settings.roots !== null) {
    acme.axios.defaults.httpsAgent = new Agent({ ca: [...rootCertificates, settings.roots] });
  }
  const orders = new AcmeOrders(database, vault, settings);
  return {
    directory: settings.directory,
    isPublic: true,
    issue: (request) => {
      const now: Problem = { type: '', retryAfterSeconds: null };
      return received.run(now, async () => {
        try {
          return await orders.issue(request);
        } catch (error) {
          if (error instanceof AuthorityFailure || request.signal.aborted) throw error;
          if (now.type === 'accountDoesNotExist') await database.run(store.keepAccount, [settings.directory, null]);
          throw toFailure(error, now);
        }
      });
    },
  };
}

class AcmeOrders {
  readonly #database: Database;
  readonly #vault: Vault;
  readonly #settings: AcmeSettings;
  /** Ends with the latest use of the account. */
  #latest: Promise<unknown> = Promise.resolve();

  constructor(database: Database, vault: Vault, settings: AcmeSettings) {
    this.#database = database;
    this.#vault = vault;
    this.#settings = settings;
  }

  async issue(request: IssueRequest): Promise<string> {
    const client = await this.#clientInTurn();
    const { order, key } = await this.#order(client, request);
    let now = order;
    if (now.status === 'pending') {
      for (const authorization of await client.getAuthorizations(now)) {
        if (authorization.status !== 'valid') await this.#authorize(client, now, authorization, request);
      }
      now = await this.#until(client, now, request, ['pending']);
    }
    if (now.status === 'ready') {
      const commonName = request.host.length <= 64 ? { commonName: request.host } : {};
      const [, csr] = await acme.crypto.createCsr({ ...commonName, altNames: [request.host] }, key);
      now = { ...(await client.finalizeOrder(now, csr)), url: now.url };
    }
    now = await this.#until(client, now, request, ['pending', 'ready', 'processing']);
    if (now.status !== 'valid') {
      await request.keep(null);
      throw new AuthorityFailure('AUTHORITY', `The authority canceled the order: ${toText(now.error) ?? `it is ${now.status}`}`);
    }
    const pem = toPem(key, await client.getCertificate(now));
    if (new X509Certificate(pem).checkHost(request.host) !== undefined || request.host.startsWith('*.')) return pem;
    await request.keep(null);
    throw new AuthorityFailure('AUTHORITY', 'The authority issued a certificate for another name.');
  }

  /** Returns a client. Orders that begin at once create one account, not several. */
  #clientInTurn(): Promise<acme.Client> {
    const client = this.#latest.then(() => this.#client());
    this.#latest = client.catch(() => undefined);
    return client;
  }

  /**
   * Returns a client with an account at the authority, either the stored account or a new one. The key of the account
   * is stored before it is used.
   */
  async #client(): Promise<acme.Client> {
    const { directory, email, binding } = this.#settings;
    let row = await this.#database.maybe(store.readAuthority, [directory]);
    if (row === undefined) {
      const id = randomUUID();
      const key = (await acme.crypto.createPrivateEcdsaKey('P-256')).toString();
      await this.#database.run(store.addAuthority, [id, directory, this.#vault.seal(id, key), null]);
      row = await this.#database.one(store.readAuthority, [directory]);
    }
    const client = new acme.Client({
      directoryUrl: directory,
      accountKey: this.#vault.open(row.id, row.sealed),
      ...(row.account_url !== null && { accountUrl: row.account_url }),
      ...(binding !== null && { externalAccountBinding: { kid: binding.keyId, hmacKey: binding.hmacKey.reveal() } }),
    });
    if (row.account_url === null) {
      try {
        await client.createAccount({ termsOfServiceAgreed: true, ...(email !== null && { contact: [`mailto:${email}`] }) });
      } catch (error) {
        // A process died before it stored the URL of the account. The library then finds the account and updates it,
        // which authorities refuse if there is nothing to update.
        if (!hasAccount(client)) throw error;
        Object.assign(received.getStore() ?? {}, { type: '' });
      }
      await this.#database.run(store.keepAccount, [directory, client.getAccountUrl()]);
    }
    return client;
  }

  async #order(client: acme.Client, { host, former, keep }: IssueRequest): Promise<{ order: acme.Order; key: string }> {
    if (former !== null) {
      const order = await findOrder(client, former.url);
      if (order !== null && order.status !== 'invalid') return { order, key: former.key };
    }
    const key = (await acme.crypto.createPrivateEcdsaKey('P-256')).toString();
    const order = await client.createOrder({ identifiers: [{ type: 'dns', value: host }] });
    await keep({ url: order.url, key });
    return { order, key };
  }

  async #authorize(
    client: acme.Client,
    order: acme.Order,
    authorization: acme.Authorization,
    { challenge: kind, publish, keep, signal }: IssueRequest,
  ): Promise<void> {
    const challenge = authorization.challenges.find(({ type }) => type === kind);
    if (challenge === undefined) {
      await keep(null);
      const way = kind === 'http-01' ? 'over HTTP (HTTP-01)' : 'through DNS (DNS-01)';
      throw new AuthorityFailure('AUTHORITY', `The authority does not offer to verify the domain ${way}.`);
    }
    await publish(challenge.token, await client.getChallengeKeyAuthorization(challenge));
    await client.completeChallenge(challenge);
    const deadline = performance.now() + validationMilliseconds;
    for (;;) {
      const now = (await client.getAuthorizations(order)).find(({ url }) => url === authorization.url);
      if (now?.status === 'valid') return;
      if (now?.status !== 'pending') {
        await keep(null);
        const error = now?.challenges.map((one) => toText('error' in one ? one.error : null)).find((text) => text !== null);
        throw new AuthorityFailure('AUTHORITY', `The authority could not verify the domain: ${error ?? 'no reason given'}`);
      }
      if (performance.now() > deadline) {
        throw new AuthorityFailure('AUTHORITY', 'The authority did not verify the domain within two minutes.');
      }
      await abortablePause(this.#settings.pollMilliseconds ?? 1000, signal);
    }
  }

  /** Polls the order until its status is none of `statuses`, and returns the order. */
  async #until(
    client: acme.Client,
    order: acme.Order,
    { signal }: IssueRequest,
    statuses: readonly acme.Order['status'][],
  ): Promise<acme.Order> {
    const deadline = performance.now() + validationMilliseconds;
    for (let now = order; ; now = await client.getOrder(order)) {
      if (!statuses.includes(now.status)) return now;
      if (performance.now() > deadline) {
        throw new AuthorityFailure('AUTHORITY', 'The authority did not issue the certificate within two minutes.');
      }
      await abortablePause(this.#settings.pollMilliseconds ?? 1000, signal);
    }
  }
}

function hasAccount(client: acme.Client): boolean {
  try {
    return client.getAccountUrl() !== '';
  } catch {
    return false;
  }
}

/** Returns null if the authority no longer knows the order. */
async function findOrder(client: acme.Client, url: string): Promise<acme.Order | null> {
  try {
    // The library reads only the URL of the order.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return await client.getOrder({ url } as acme.Order);
  } catch (error) {
    const { type } = received.getStore() ?? { type: '' };
    if (type !== '' && type !== 'accountDoesNotExist') return null;
    throw error;
  }
}

function toPem(key: string, chain: string): string {
  const blocks = `${key}\n${chain}`
    .replaceAll('\r', '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  return `${blocks.join('\n')}\n`;
}

/** Returns the text of a problem document, without the identifiers that only programs use. */
function toText(problem: unknown): string | null {
  if (typeof problem !== 'object' || problem === null || !('detail' in problem)) return null;
  const type = 'type' in problem ? String(problem.type).replace(problemPrefix, '') : '';
  return sentences(String(problem.detail), advice[type]);
}

function sentences(...texts: readonly (string | undefined)[]): string {
  return texts.flatMap((text) => (text === undefined ? [] : [text.trim().replace(/[^.!?]$/, '$&.')])).join(' ');
}

const advice: Readonly<Record<string, string>> = {
  caa: 'A CAA record of the domain forbids this authority: add the authority to it.',
  connection: 'Port 80 of the domain must reach the gateway: open it in the firewall, and forward it to DAVIT_GATEWAY_PORT.',
  dns: 'The authority finds no address of the domain in DNS; look at the record, and at DNSSEC.',
  unauthorized: 'Something other than this gateway answers at port 80 of the domain.',
  rateLimited: 'The rate limit of the authority was reached.',
  rejectedIdentifier: 'The authority refuses certificates for this domain.',
  externalAccountRequired: 'The authority requires DAVIT_ACME_KEY_ID and DAVIT_ACME_HMAC_KEY.',
  userActionRequired: 'The authority requires its terms to be accepted again.',
};

function toFailure(error: unknown, { type, retryAfterSeconds }: Problem): AuthorityFailure {
  const words = messageOf(error);
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  const message =
    type === '' && typeof code === 'string'
      ? sentences(`The authority cannot be reached: ${words}`)
      : sentences(`The authority refused: ${words}`, advice[type]);
  return new AuthorityFailure('AUTHORITY', message, { cause: error, retryAfterSeconds });
}

/** Parses `Retry-After` (RFC 9110, 10.2.3), which is a number of seconds or a date. Returns seconds. */
function toSeconds(value: string): number | null {
  if (/^\d+$/.test(value)) return Number(value);
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}
