import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '@davit/base';
import type { Queryable } from '@davit/db';
import { jwtVerify, SignJWT } from 'jose';
import type { Vault } from '../secrets/vault.ts';
import { badToken, translated } from './issuers.ts';
import { personBySession, sessionCreate, sessionDelete, sessionKeyRead, sessionKeySet, type PersonRow } from './store.ts';

/** Issuer (`iss`) of session tokens. No configured issuer can have this name, since those are URLs. */
export const sessionIssuer = 'davit-session';
const algorithm = 'HS256';
const lifeSeconds = 3600;
const keyRecord = 'davit session key';

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
    await this.#database.run(sessionCreate, [id, personId, expiresAt.toISOString()]);
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

  async end(id: string): Promise<void> {
    await this.#database.run(sessionDelete, [id]);
  }
}
