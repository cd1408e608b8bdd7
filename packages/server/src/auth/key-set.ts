import { AppError, type Clock } from '@davit/base';
import { createLocalJWKSet, errors, type CryptoKey, type FlattenedJWSInput, type JWSHeaderParameters } from 'jose';

/**
 * Milliseconds for which keys are used without a refresh. Older keys are still used, while a refresh runs in the
 * background.
 */
const freshMilliseconds = 5 * 60_000;
/** Milliseconds for which keys are used at all: a revoked key must not stay valid because its issuer is unreachable. */
const usableMilliseconds = 12 * 60 * 60_000;
/** Minimum milliseconds between two fetches, also after a failure and for tokens with unknown keys. */
const pauseMilliseconds = 10_000;

interface Keys {
  readonly find: ReturnType<typeof createLocalJWKSet>;
  readonly fetchedAt: number;
}

/**
 * The public keys of one issuer, found through its discovery document. An issuer that does not respond delays requests
 * by `answerMilliseconds` at most, and does not delay those of the next ten seconds at all.
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

  /**
   * Returns the key of a token's signature, for jose. Throws ISSUER_UNAVAILABLE, or jose's error if there is no such
   * key.
   */
  readonly find = async (header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey> => {
    const keys = await this.#current();
    try {
      return await keys.find(header, token);
    } catch (error) {
      // The issuer may have a new key. The pause limits fetches, since tokens may name invented keys.
      if (!(error instanceof errors.JWKSNoMatchingKey) || this.#isPausing()) throw error;
      return (await this.#fetchOnce()).find(header, token);
    }
  };

  async #current(): Promise<Keys> {
    const keys = this.#keys;
    const age = keys === null ? Number.POSITIVE_INFINITY : this.#now() - keys.fetchedAt;
    if (keys !== null && age < usableMilliseconds) {
      // The failure is stored, and reported once these keys are too old.
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

  /** Fetches the keys; concurrent callers share one fetch. */
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
  // Otherwise, the owner of one issuer's URL could issue tokens for another issuer.
  if (discovery['issuer'] !== issuer) {
    throw new BadAnswer(`its discovery document says that it is ${JSON.stringify(discovery['issuer'])}`);
  }
  const address = discovery['jwks_uri'];
  if (typeof address !== 'string' || !isTrustworthyAddress(address)) throw new BadAnswer('its jwks_uri is not an https address');
  const { keys } = await fetchJson(address, signal);
  if (!Array.isArray(keys)) throw new BadAnswer('its key set has no keys');
  return { keys };
}

async function fetchJson(address: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  const response = await fetch(address, { signal, redirect: 'error', headers: { accept: 'application/json' } });
  if (!response.ok) throw new BadAnswer(`${address} answered ${response.status}`);
  const value: unknown = await response.json().catch((error: unknown) => {
    if (error instanceof SyntaxError) throw new BadAnswer(`${address} did not return JSON`, { cause: error });
    throw error;
  });
  if (!isObject(value)) throw new BadAnswer(`${address} did not return a JSON object`);
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns whether a URL is https, or http on this machine. Otherwise, anybody who can modify the traffic could sign in
 * as any person.
 */
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
