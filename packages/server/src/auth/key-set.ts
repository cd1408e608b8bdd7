import { AppError, type Clock } from '@davit/base';
import { createLocalJWKSet, errors, type CryptoKey, type FlattenedJWSInput, type JWSHeaderParameters } from 'jose';

/** Younger keys are used as they are; older ones too, while they are fetched anew beside the requests. */
const freshMilliseconds = 5 * 60_000;
/** Keys older than this are used no more: one that was taken back must not stay good because its issuer cannot be reached. */
const usableMilliseconds = 12 * 60 * 60_000;
/** Between two fetches, whoever sends tokens of unknown keys, and after a failure. */
const pauseMilliseconds = 10_000;

interface Keys {
  readonly find: ReturnType<typeof createLocalJWKSet>;
  readonly fetchedAt: number;
}

/**
 * The public keys of one issuer, by its discovery document. An issuer that does not answer holds up requests for
 * `answerMilliseconds` at most, and those of the next ten seconds not at all.
 */
export class KeySet {
  readonly #issuer: string;
  readonly #clock: Clock;
  readonly #answerMilliseconds: number;
  #keys: Keys | null = null;
  #failure: AppError | null = null;
  #triedAt = Number.NEGATIVE_INFINITY;
  #underway: Promise<Keys> | null = null;

  constructor(issuer: string, clock: Clock, answerMilliseconds: number) {
    this.#issuer = issuer;
    this.#answerMilliseconds = answerMilliseconds;
    this.#clock = clock;
  }

  /** The key that a token is signed with, for jose. Throws ISSUER_UNAVAILABLE, or jose's error where there is no such key. */
  readonly find = async (header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey> => {
    const keys = await this.#current();
    try {
      return await keys.find(header, token);
    } catch (error) {
      // The issuer may have a new key since. Tokens of made-up keys must not make us ask it all the time.
      if (!(error instanceof errors.JWKSNoMatchingKey) || this.#isPausing()) throw error;
      return (await this.#fetchOnce()).find(header, token);
    }
  };

  async #current(): Promise<Keys> {
    const keys = this.#keys;
    const age = keys === null ? Number.POSITIVE_INFINITY : this.#now() - keys.fetchedAt;
    if (keys !== null && age < usableMilliseconds) {
      // The failure is kept for the time when these keys are too old.
      if (age >= freshMilliseconds && !this.#isPausing()) void this.#fetchOnce().catch(() => undefined);
      return keys;
    }
    if (this.#failure !== null && this.#isPausing()) throw this.#failure;
    return this.#fetchOnce();
  }

  #isPausing(): boolean {
    return this.#now() - this.#triedAt < pauseMilliseconds;
  }

  #now(): number {
    return this.#clock.now().getTime();
  }

  /** Many requests at once wait for one answer. */
  #fetchOnce(): Promise<Keys> {
    this.#underway ??= this.#fetch().finally(() => {
      this.#underway = null;
    });
    return this.#underway;
  }

  async #fetch(): Promise<Keys> {
    this.#triedAt = this.#now();
    try {
      const keys = {
        find: createLocalJWKSet(await fetchKeys(this.#issuer, AbortSignal.timeout(this.#answerMilliseconds))),
        fetchedAt: this.#now(),
      };
      this.#keys = keys;
      this.#failure = null;
      return keys;
    } catch (error) {
      this.#failure = new AppError({
        code: 'ISSUER_UNAVAILABLE',
        message: `The keys of the issuer ${this.#issuer} could not be read: ${reasonOf(error)}. Try again in some seconds; if it lasts, the operator should check DAVIT_OIDC_ISSUER and that this server reaches it.`,
        cause: error,
      });
      throw this.#failure;
    }
  }
}

class BadAnswer extends Error {}

async function fetchKeys(issuer: string, signal: AbortSignal): Promise<{ keys: Record<string, unknown>[] }> {
  const discovery = await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, signal);
  // Otherwise somebody who holds one issuer's address could speak for another.
  if (discovery['issuer'] !== issuer) {
    throw new BadAnswer(`its discovery document says that it is ${JSON.stringify(discovery['issuer'])}`);
  }
  const address = discovery['jwks_uri'];
  if (typeof address !== 'string' || !isTrustworthyAddress(address)) throw new BadAnswer('its jwks_uri is no https address');
  const { keys } = await fetchJson(address, signal);
  if (!Array.isArray(keys)) throw new BadAnswer('its key set has no keys');
  return { keys };
}

async function fetchJson(address: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  const response = await fetch(address, { signal, redirect: 'error', headers: { accept: 'application/json' } });
  if (!response.ok) throw new BadAnswer(`${address} answered ${response.status}`);
  const value: unknown = await response.json().catch((error: unknown) => {
    if (error instanceof SyntaxError) throw new BadAnswer(`${address} answered no JSON`, { cause: error });
    throw error;
  });
  if (!isObject(value)) throw new BadAnswer(`${address} answered no JSON object`);
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** https, or http on this machine: whoever can change what comes over the wire could sign in as anybody. */
export function isTrustworthyAddress(address: string): boolean {
  const url = URL.parse(address);
  if (url === null || url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname));
}

function reasonOf(error: unknown): string {
  if (error instanceof BadAnswer) return error.message;
  if (error instanceof Error && error.name === 'TimeoutError') return 'it did not answer in time';
  if (error instanceof errors.JOSEError) return 'its key set is malformed';
  return 'it cannot be reached';
}
