import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { AppError, type Clock } from '@davit/base';
import type { Queryable } from '@davit/db';
import { jwtVerify, SignJWT } from 'jose';
import type { Vault } from '../secrets/vault.ts';
import { badToken, translated } from './issuers.ts';
import {
  personByCookie,
  personBySession,
  sessionCreate,
  sessionDelete,
  sessionDeleteByHash,
  sessionKeyRead,
  sessionKeySet,
  sessionList,
  sessionsDelete,
  sessionUsed,
  type PersonRow,
  type SessionRow,
} from './store.ts';

/** Issuer (`iss`) of session tokens. No configured issuer can have this name, since those are URLs. */
export const sessionIssuer = 'davit-session';
const algorithm = 'HS256';
const lifeSeconds = 3600;
const keyRecord = 'davit session key';

/** Days after which the session of a browser ends, however much it is used. */
const cookieDays = 30;
/** The prefix of the token in a cookie. API tokens have another one. */
export const cookieTokenPrefix = 'dvs_';
/** Minimum milliseconds between two updates of the last use. */
const useMilliseconds = 60_000;

/** Who begins a session, as the request shows it. */
export interface SessionOrigin {
  readonly address: string;
  readonly userAgent: string | null;
}

export interface CookieSession {
  readonly id: string;
  /** Value of the cookie. Only its hash is stored. */
  readonly token: string;
  readonly expiresAt: Date;
}

export interface Session {
  readonly token: string;
  readonly expiresAt: Date;
}

export interface VerifiedSession {
  readonly id: string;
  readonly person: PersonRow;
  readonly expiresAt: number;
}

/**
 * Sessions of people who signed in at a console: tokens that are valid for one hour, signed by this service, which can
 * end them earlier.
 */
export class Sessions {
  readonly #database: Queryable;
  readonly #key: Uint8Array;
  readonly #clock: Clock;

  private constructor(database: Queryable, key: Uint8Array, clock: Clock) {
    this.#database = database;
    this.#key = key;
    this.#clock = clock;
  }

  /**
   * Opens the sessions with the key in the database, which the first start creates. All processes sign with this key.
   */
  static async open(database: Queryable, vault: Vault, clock: Clock): Promise<Sessions> {
    await database.run(sessionKeySet, [vault.seal(keyRecord, randomBytes(32).toString('base64'))]);
    const { sealed } = await database.one(sessionKeyRead);
    return new Sessions(database, Buffer.from(vault.open(keyRecord, sealed), 'base64'), clock);
  }

  async create(personId: string): Promise<Session> {
    const id = randomUUID();
    const issuedAt = Math.floor(this.#clock.now().getTime() / 1000);
    const expiresAt = new Date((issuedAt + lifeSeconds) * 1000);
    await this.#database.run(sessionCreate, [id, personId, expiresAt.toISOString(), null, null, null]);
    const token = await new SignJWT({ sid: id })
      .setProtectedHeader({ alg: algorithm, typ: 'JWT' })
      .setIssuer(sessionIssuer)
      .setSubject(personId)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + lifeSeconds)
      .sign(this.#key);
    return { token, expiresAt };
  }

  /** Returns the session of a token. Throws UNAUTHORIZED or TOKEN_EXPIRED. */
  async verify(token: string): Promise<VerifiedSession> {
    const options = { algorithms: [algorithm], issuer: sessionIssuer, currentDate: this.#clock.now(), requiredClaims: ['exp'] };
    const { payload } = await translated(() => jwtVerify(token, this.#key, options));
    const { sid, sub, exp = 0 } = payload;
    const person = await this.#database.maybe(personBySession, [sid, sub]);
    if (person === undefined || typeof sid !== 'string') throw badToken('its session was ended; sign in again');
    return { id: sid, person, expiresAt: exp * 1000 };
  }

  /**
   * Begins a session of a browser. The token is always new, so that nobody can prepare a session for another person.
   */
  async begin(personId: string, { address, userAgent }: SessionOrigin, database = this.#database): Promise<CookieSession> {
    const id = randomUUID();
    const token = `${cookieTokenPrefix}${randomBytes(32).toString('base64url')}`;
    const expiresAt = new Date(this.#clock.now().getTime() + cookieDays * 86_400_000);
    const agent = userAgent === null ? null : userAgent.slice(0, longestAgent);
    await database.run(sessionCreate, [id, personId, expiresAt.toISOString(), hashOf(token), agent, address]);
    return { id, token, expiresAt };
  }

  /** Returns the session of a cookie's token. Throws UNAUTHORIZED. */
  async verifyCookie(token: string): Promise<VerifiedSession> {
    const row = await this.#database.maybe(personByCookie, [hashOf(token)]);
    if (row === undefined)
      throw new AppError({ code: 'UNAUTHORIZED', message: 'The session has ended or expired. Sign in again.' });
    const { session_id: id, session_expires_at, session_last_used_at } = row;
    if (this.#clock.now().getTime() - Date.parse(session_last_used_at) > useMilliseconds) {
      await this.#database.run(sessionUsed, [id, row.id]);
    }
    return { id, person: row, expiresAt: Date.parse(session_expires_at) };
  }

  list(personId: string): Promise<readonly SessionRow[]> {
    return this.#database.many(sessionList, [personId]);
  }

  /** Ends one session of a person. Returns whether the person had it. */
  async endOf(personId: string, id: string): Promise<boolean> {
    return (await this.#database.run(sessionsDelete, [personId, id, null])) > 0;
  }

  /** Ends all sessions of a person, except the one with the id `kept`. */
  async endAll(personId: string, kept: string | null, database = this.#database): Promise<void> {
    await database.run(sessionsDelete, [personId, null, kept]);
  }

  /** Ends the session of a cookie, if there is one. */
  async endCookie(token: string): Promise<void> {
    await this.#database.run(sessionDeleteByHash, [hashOf(token)]);
  }

  async end(id: string): Promise<void> {
    await this.#database.run(sessionDelete, [id]);
  }
}

const longestAgent = 500;

/** Returns the stored hash. The tokens have 256 random bits, so a fast hash is as secure as a slow one. */
function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
