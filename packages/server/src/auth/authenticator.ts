import { createHash, hash } from 'node:crypto';
import { AppError, type Clock, systemClock } from '@davit/base';
import type { Origin } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { Caller } from './caller.ts';
import { tokenByHash, type TokenRow } from './store.ts';

interface KnownToken {
  /** One for each origin, so that a request makes no new object. */
  readonly callers: Readonly<Record<'API' | 'CLI' | 'TERRAFORM_PROVIDER', Caller>>;
  readonly expiresAt: number;
  readonly freshUntil: number;
}

const freshMilliseconds = 5_000;
const largestCache = 10_000;

/** Says who makes a request. Tokens found good are remembered for a few seconds; `forget` ends that at once. */
export class Authenticator {
  readonly #database: Queryable;
  readonly #clock: Clock;
  readonly #known = new Map<string, KnownToken>();
  readonly #underway = new Map<string, Promise<KnownToken>>();
  #generation = 0;

  constructor(database: Queryable, clock: Clock = systemClock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Forgets all tokens: one was taken away, here or in another process. */
  forget(): void {
    this.#generation += 1;
    this.#known.clear();
    this.#underway.clear();
  }

  /** The caller, where the token is remembered; undefined: ask `lookUp`. Throws UNAUTHORIZED or TOKEN_EXPIRED. */
  remembered(authorization: string | undefined, userAgent: string | undefined): Caller | undefined {
    const now = this.#clock.now().getTime();
    const known = this.#known.get(fingerprint(tokenOf(authorization)));
    if (known === undefined || known.freshUntil <= now) return undefined;
    return callerOf(known, now, userAgent);
  }

  /** The caller, from the database. Throws UNAUTHORIZED or TOKEN_EXPIRED. */
  async lookUp(authorization: string | undefined, userAgent: string | undefined): Promise<Caller> {
    const token = tokenOf(authorization);
    const key = fingerprint(token);
    // Many requests with one token at the same moment need one answer.
    let underway = this.#underway.get(key);
    if (underway === undefined) {
      underway = this.#read(token, key);
      this.#underway.set(key, underway);
    }
    try {
      return callerOf(await underway, this.#clock.now().getTime(), userAgent);
    } finally {
      if (this.#underway.get(key) === underway) this.#underway.delete(key);
    }
  }

  async #read(token: string, key: string): Promise<KnownToken> {
    const generation = this.#generation;
    const row = await this.#database.maybe(tokenByHash, [tokenHash(token)]);
    if (row === undefined) throw unauthorized('The token is not valid. Check that it is complete and was not deleted.');
    const known = toKnown(row, this.#clock.now().getTime() + freshMilliseconds);
    // A token that was taken away while it was read must not be remembered.
    if (generation === this.#generation) {
      if (this.#known.size >= largestCache) this.#known.clear();
      this.#known.set(key, known);
    }
    return known;
  }
}

/** What is stored of a token. Tokens have 240 random bits, so a plain hash is as good as a slow one. */
export function tokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function fingerprint(token: string): string {
  return hash('sha256', token, 'base64');
}

const schemes = /^(?:token|bearer) +(\S+)$/i;

function tokenOf(authorization: string | undefined): string {
  if (authorization === undefined) {
    throw unauthorized('A token is needed: send the header `Authorization: Token <API token>`.');
  }
  const token = schemes.exec(authorization)?.[1];
  if (token === undefined) {
    throw unauthorized('The Authorization header must be `Token <API token>` or `Bearer <API token>`.');
  }
  return token;
}

function toKnown(row: TokenRow, freshUntil: number): KnownToken {
  const caller = (origin: Origin): Caller =>
    Object.freeze({ actor: row.id, name: row.name, scope: row.scope, organizationId: row.organization_id, origin });
  return {
    callers: { API: caller('API'), CLI: caller('CLI'), TERRAFORM_PROVIDER: caller('TERRAFORM_PROVIDER') },
    expiresAt: row.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(row.expires_at),
    freshUntil,
  };
}

// Clients tell themselves apart by nothing but their User-Agent.
function callerOf(known: KnownToken, now: number, userAgent: string | undefined): Caller {
  if (known.expiresAt <= now) {
    throw new AppError({ code: 'TOKEN_EXPIRED', message: 'The token has expired. Create a new one in its organization.' });
  }
  if (userAgent?.startsWith('CLI ')) return known.callers.CLI;
  if (userAgent?.startsWith('Terraform provider ')) return known.callers.TERRAFORM_PROVIDER;
  return known.callers.API;
}

function unauthorized(message: string): AppError {
  return new AppError({ code: 'UNAUTHORIZED', message });
}
