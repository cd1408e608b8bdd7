import { createHash, hash } from 'node:crypto';
import { AppError, type Clock, systemClock } from '@davit/base';
import type { Origin } from '@davit/contract';
import type { Queryable } from '@davit/db';
import { nowhere, type Access, type Caller, type Person } from './caller.ts';
import { issuerOf, type Issuers } from './issuers.ts';
import { personName, personOf, toPerson } from './people.ts';
import { cookieTokenPrefix, sessionIssuer, type Sessions } from './sessions.ts';
import { tokenByHash, type PersonRow, type TokenRow } from './store.ts';

interface KnownToken {
  /**
   * One caller object per origin, so that a request allocates none. `plain`: for clients that do not identify
   * themselves.
   */
  readonly callers: Readonly<Record<'plain' | 'CLI' | 'TERRAFORM_PROVIDER', Caller>>;
  /** Advice for the error that reports the expiry. */
  readonly renewal: string;
  readonly expiresAt: number;
  readonly freshUntil: number;
}

const freshMilliseconds = 5_000;
const largestCache = 10_000;

export interface AuthenticatorParts {
  readonly database: Queryable;
  readonly issuers: Issuers;
  readonly sessions: Sessions;
  readonly clock?: Clock;
}

/**
 * Authenticates requests by an API token, a JWT of an issuer, or a session. Valid tokens are cached for a few seconds;
 * `forget` clears the cache at once.
 */
export class Authenticator {
  readonly #parts: AuthenticatorParts;
  readonly #clock: Clock;
  readonly #known = new Map<string, KnownToken>();
  readonly #underway = new Map<string, Promise<KnownToken>>();
  #generation = 0;

  constructor(parts: AuthenticatorParts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? systemClock;
  }

  /**
   * Clears the cache. Called when a token, a membership or a role was revoked or changed, here or in another process.
   */
  forget(): void {
    this.#generation += 1;
    this.#known.clear();
    this.#underway.clear();
  }

  /** Returns the caller if the token is cached; undefined: call `lookUp`. Throws UNAUTHORIZED or TOKEN_EXPIRED. */
  remembered(authorization: string | undefined, userAgent: string | undefined): Caller | undefined {
    const now = this.#clock.now().getTime();
    const known = this.#known.get(fingerprint(tokenOf(authorization)));
    if (known === undefined || known.freshUntil <= now) return undefined;
    return callerOf(known, now, userAgent);
  }

  /**
   * Returns the caller from the database, or by the issuer's keys. Throws UNAUTHORIZED, TOKEN_EXPIRED or
   * ISSUER_UNAVAILABLE.
   */
  async lookUp(authorization: string | undefined, userAgent: string | undefined): Promise<Caller> {
    return callerOf(await this.#shared(tokenOf(authorization)), this.#clock.now().getTime(), userAgent);
  }

  /**
   * Returns the caller, cached or not, and when the token expires: milliseconds since 1970, infinite if it never
   * expires.
   */
  async standing(
    authorization: string | undefined,
    userAgent: string | undefined,
  ): Promise<{ readonly caller: Caller; readonly expiresAt: number }> {
    const token = tokenOf(authorization);
    const known = this.#known.get(fingerprint(token));
    const isFresh = known !== undefined && known.freshUntil > this.#clock.now().getTime();
    const found = isFresh ? known : await this.#shared(token);
    return { caller: callerOf(found, this.#clock.now().getTime(), userAgent), expiresAt: found.expiresAt };
  }

  /** Looks up a token. Concurrent requests with the same token share one look-up. */
  async #shared(token: string): Promise<KnownToken> {
    const key = fingerprint(token);
    let underway = this.#underway.get(key);
    if (underway === undefined) {
      underway = this.#read(token, key);
      this.#underway.set(key, underway);
    }
    try {
      return await underway;
    } finally {
      if (this.#underway.get(key) === underway) this.#underway.delete(key);
    }
  }

  async #read(token: string, key: string): Promise<KnownToken> {
    const generation = this.#generation;
    const freshUntil = this.#clock.now().getTime() + freshMilliseconds;
    const known = jwt.test(token) ? await this.#readJwt(token, freshUntil) : await this.#readToken(token, freshUntil);
    // A token that was revoked while it was read must not be cached.
    if (generation === this.#generation) {
      if (this.#known.size >= largestCache) this.#known.clear();
      this.#known.set(key, known);
    }
    return known;
  }

  async #readToken(token: string, freshUntil: number): Promise<KnownToken> {
    if (token.startsWith(cookieTokenPrefix)) {
      const { id, person, expiresAt } = await this.#parts.sessions.verifyCookie(token);
      return knownPerson(person, id, { expiresAt, freshUntil });
    }
    const row = await this.#parts.database.maybe(tokenByHash, [tokenHash(token)]);
    if (row === undefined) throw unauthorized('The token is not valid. Check that it is complete and was not deleted.');
    return knownToken(row, freshUntil);
  }

  async #readJwt(token: string, freshUntil: number): Promise<KnownToken> {
    if (issuerOf(token) === sessionIssuer) {
      const { id, person, expiresAt } = await this.#parts.sessions.verify(token);
      return knownPerson(person, id, { expiresAt, freshUntil });
    }
    const issued = await this.#parts.issuers.verify(token);
    const person = await personOf(this.#parts.database, this.#clock, issued);
    return knownPerson(person, null, { expiresAt: issued.expiresAt, freshUntil });
  }
}

// The header of a JWT is always a JSON object, which begins with `eyJ` in base64url.
const jwt = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/;

/** Returns the stored hash of a token. Tokens have 240 random bits, so a fast hash is as secure as a slow one. */
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
    throw unauthorized('The Authorization header must be `Token <API token>` or `Bearer <JWT or API token>`.');
  }
  return token;
}

function knownToken(row: TokenRow, freshUntil: number): KnownToken {
  const identity = { actor: row.id, name: row.name, access: accessOf(row), organizationId: row.organization_id, person: null };
  return {
    callers: callersOf(identity, 'API'),
    renewal: 'Create a new one in its organization.',
    expiresAt: row.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(row.expires_at),
    freshUntil,
  };
}

function accessOf({ scope, role, rights }: TokenRow): Access {
  if (scope !== null) return { kind: 'scope', scope };
  if (role !== null) return { kind: 'role', role };
  if (rights !== null) return { kind: 'custom', rights };
  throw new Error('an API token has neither a scope nor a role');
}

function knownPerson(
  row: PersonRow,
  sessionId: string | null,
  until: { readonly expiresAt: number; readonly freshUntil: number },
): KnownToken {
  const person = toPerson(row, sessionId);
  const identity = { actor: row.id, name: personName(row), person, ...residence(person) };
  return { callers: callersOf(identity, 'CONSOLE'), renewal: 'Sign in again.', ...until };
}

/**
 * Returns the access of a person. The access of a person with exactly one built-in role is known in advance; the
 * resource of the request need not be looked up, since everything in other organizations is invisible to that person.
 */
function residence({ memberships }: Person): Pick<Caller, 'access' | 'organizationId'> {
  const [first, ...others] = memberships;
  if (first !== undefined && others.length === 0 && first[1].kind === 'role')
    return { organizationId: first[0], access: first[1] };
  return { organizationId: nowhere, access: { kind: 'none' } };
}

function callersOf(identity: Omit<Caller, 'origin'>, plain: Origin): KnownToken['callers'] {
  const caller = (origin: Origin): Caller => Object.freeze({ ...identity, origin });
  return { plain: caller(plain), CLI: caller('CLI'), TERRAFORM_PROVIDER: caller('TERRAFORM_PROVIDER') };
}

// Clients identify themselves by their User-Agent only.
function callerOf(known: KnownToken, now: number, userAgent: string | undefined): Caller {
  if (known.expiresAt <= now) {
    throw new AppError({ code: 'TOKEN_EXPIRED', message: `The token has expired. ${known.renewal}` });
  }
  if (userAgent?.startsWith('CLI ')) return known.callers.CLI;
  if (userAgent?.startsWith('Terraform provider ')) return known.callers.TERRAFORM_PROVIDER;
  return known.callers.plain;
}

function unauthorized(message: string): AppError {
  return new AppError({ code: 'UNAUTHORIZED', message });
}
