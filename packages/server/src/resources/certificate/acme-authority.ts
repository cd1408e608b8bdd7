import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID, X509Certificate } from 'node:crypto';
import { Agent } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { rootCertificates } from 'node:tls';
import acme from 'acme-client';
import type { Sensitive } from '@davit/base';
import type { Database } from '@davit/db';
import type { Vault } from '../../secrets/vault.ts';
import { AuthorityFailure, type Authority, type IssueRequest } from './authority.ts';
import * as store from './store.ts';

/*
 * Certificates of an ACME server (RFC 8555), which looks for the answer to its challenge at port 80 of the domain. An order is
 * written down before anything else happens to it: whoever goes on after a crash takes up the same one, so that no crash uses up what
 * the authority allows.
 */

export interface AcmeSettings {
  readonly directory: string;
  readonly email: string | null;
  /** PEM: who signs the directory's own certificate, beside the usual ones. */
  readonly roots: string | null;
  /** Account at the authority that the one here belongs to, where it wants that. */
  readonly binding: { readonly keyId: string; readonly hmacKey: Sensitive } | null;
  /** Between two looks at what the authority does. Default: 1000. */
  readonly pollMilliseconds?: number;
}

/** A problem document (RFC 7807) of the latest answer, which the library keeps to itself. */
interface Heard {
  type: string;
  retryAfterSeconds: number | null;
}

const heard = new AsyncLocalStorage<Heard>();
const requestTimeoutMilliseconds = 30_000;
const validationMilliseconds = 120_000;
const problemPrefix = 'urn:ietf:params:acme:error:';

acme.axios.defaults.timeout = requestTimeoutMilliseconds;
// By itself it would wait as long as the authority says, which may be hours; when to try again is decided elsewhere.
Object.assign(acme.axios.defaults, { acmeSettings: { retryMaxAttempts: 0 } });
acme.axios.interceptors.response.use((response) => {
  const now = heard.getStore();
  if (now !== undefined && response.status >= 400) {
    const body: unknown = response.data;
    now.type = typeof body === 'object' && body !== null && 'type' in body ? String(body.type).replace(problemPrefix, '') : '';
    now.retryAfterSeconds = toSeconds(String(response.headers['retry-after'] ?? ''));
  }
  return response;
});

/** One for a process, as who signs the directory's certificate is the library's own setting. */
export function acmeAuthority(database: Database, vault: Vault, settings: AcmeSettings): Authority {
  if (settings.roots !== null) {
    acme.axios.defaults.httpsAgent = new Agent({ ca: [...rootCertificates, settings.roots] });
  }
  const orders = new AcmeOrders(database, vault, settings);
  return {
    directory: settings.directory,
    isPublic: true,
    issue: (request) => {
      const now: Heard = { type: '', retryAfterSeconds: null };
      return heard.run(now, async () => {
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

  constructor(database: Database, vault: Vault, settings: AcmeSettings) {
    this.#database = database;
    this.#vault = vault;
    this.#settings = settings;
  }

  async issue(request: IssueRequest): Promise<string> {
    const client = await this.#client();
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
      throw new AuthorityFailure('AUTHORITY', `The authority gave up the order: ${toText(now.error) ?? `it is ${now.status}`}`);
    }
    const pem = toPem(key, await client.getCertificate(now));
    if (new X509Certificate(pem).checkHost(request.host) !== undefined || request.host.startsWith('*.')) return pem;
    await request.keep(null);
    throw new AuthorityFailure('AUTHORITY', 'The authority gave a certificate for another name.');
  }

  /** With an account at the authority: the one that is known, or a new one. Its key is kept before it is used. */
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
      // An account that this key has already is the answer too.
      await client.createAccount({ termsOfServiceAgreed: true, ...(email !== null && { contact: [`mailto:${email}`] }) });
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
    { publish, keep, signal }: IssueRequest,
  ): Promise<void> {
    const challenge = authorization.challenges.find(({ type }) => type === 'http-01');
    if (challenge === undefined) {
      await keep(null);
      throw new AuthorityFailure('AUTHORITY', 'The authority does not offer to look at the domain over HTTP (HTTP-01).');
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
        throw new AuthorityFailure(
          'AUTHORITY',
          `The authority could not see that the domain leads here: ${error ?? 'it does not say why'}`,
        );
      }
      if (performance.now() > deadline) {
        throw new AuthorityFailure('AUTHORITY', 'The authority did not look at the domain within two minutes.');
      }
      await pause(this.#settings.pollMilliseconds ?? 1000, null, { signal });
    }
  }

  /** The order when it is none of these any more. */
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
        throw new AuthorityFailure('AUTHORITY', 'The authority did not make the certificate within two minutes.');
      }
      await pause(this.#settings.pollMilliseconds ?? 1000, null, { signal });
    }
  }
}

/** Null: the authority does not know it any more. */
async function findOrder(client: acme.Client, url: string): Promise<acme.Order | null> {
  try {
    // The library looks at the address only.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return await client.getOrder({ url } as acme.Order);
  } catch (error) {
    const { type } = heard.getStore() ?? { type: '' };
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

/** What a problem document says, without the names that only programs know. */
function toText(problem: unknown): string | null {
  if (typeof problem !== 'object' || problem === null || !('detail' in problem)) return null;
  const type = 'type' in problem ? String(problem.type).replace(problemPrefix, '') : '';
  return sentences(String(problem.detail), advice[type]);
}

function sentences(...texts: readonly (string | undefined)[]): string {
  return texts.flatMap((text) => (text === undefined ? [] : [text.trim().replace(/[^.!?]$/, '$&.')])).join(' ');
}

const advice: Readonly<Record<string, string>> = {
  caa: 'A CAA record of the domain forbids this authority: add it there.',
  connection: 'Port 80 of the domain must lead to the gateway: open it in the firewall, and let it lead to DAVIT_GATEWAY_PORT.',
  dns: 'The authority finds no address of the domain in DNS; look at the record, and at DNSSEC.',
  unauthorized: 'Something else than this gateway answers at port 80 of the domain.',
  rateLimited: 'The authority limits how many certificates it makes.',
  rejectedIdentifier: 'The authority makes no certificates for this domain.',
  externalAccountRequired: 'The authority wants DAVIT_ACME_KEY_ID and DAVIT_ACME_HMAC_KEY.',
  userActionRequired: 'The authority wants its terms to be agreed to anew.',
};

function toFailure(error: unknown, { type, retryAfterSeconds }: Heard): AuthorityFailure {
  const words = error instanceof Error ? error.message : String(error);
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  const message =
    type === '' && typeof code === 'string'
      ? sentences(`The authority cannot be reached: ${words}`)
      : sentences(`The authority refused: ${words}`, advice[type]);
  return new AuthorityFailure('AUTHORITY', message, { cause: error, retryAfterSeconds });
}

/** Of `Retry-After` (RFC 9110, 10.2.3): seconds or a date. */
function toSeconds(value: string): number | null {
  if (/^\d+$/.test(value)) return Number(value);
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}
