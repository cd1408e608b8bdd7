import { randomUUID } from 'node:crypto';
import { AppError, type Clock } from '@davit/base';
import { statement, type Queryable } from '@davit/db';
import type { Vault } from '../secrets/vault.ts';

/** Seconds within which a person finishes what the browser began. */
export const signInStateSeconds = 600;

const stateUse = statement(
  'sign_in_state_use',
  'insert into used_sign_in_state (id, expires_at) values ($1, $2) on conflict (id) do nothing',
);

/** The purpose of a state. A state of one purpose is refused for another one. */
type Purpose = 'ISSUER' | 'PASSKEY' | 'NEW_PASSKEY';

/** Data that was sealed into the cookie when the browser began. */
export interface SignInState<Content> {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  readonly content: Content;
}

/**
 * Seals what a browser needs to finish what it began into the value of a cookie, which nobody can read, change or use
 * twice. Nothing is stored for those who begin and never finish, so they cannot fill the database.
 */
export class SignInStates {
  readonly #database: Queryable;
  readonly #vault: Vault;
  readonly #clock: Clock;

  constructor(database: Queryable, vault: Vault, clock: Clock) {
    this.#database = database;
    this.#vault = vault;
    this.#clock = clock;
  }

  /** Returns the value of the cookie. */
  seal(purpose: Purpose, content: object): string {
    const expiresAt = this.#clock.now().getTime() + signInStateSeconds * 1000;
    return this.#vault.seal(recordOf(purpose), JSON.stringify({ id: randomUUID(), expiresAt, content })).toString('base64url');
  }

  /**
   * Returns what was sealed, without using it up. `Content` is what `seal` got for this purpose: nobody else can seal.
   * Throws SIGN_IN_EXPIRED.
   */
  open<Content>(purpose: Purpose, cookie: string | undefined): SignInState<Content> {
    if (cookie === undefined) throw expired();
    let text: string;
    try {
      text = this.#vault.open(recordOf(purpose), Buffer.from(cookie, 'base64url'));
    } catch (error) {
      throw expired(error);
    }
    const state: SignInState<Content> = JSON.parse(text);
    if (state.expiresAt <= this.#clock.now().getTime()) throw expired();
    return state;
  }

  /** Uses a state up: of concurrent calls one succeeds. Throws SIGN_IN_EXPIRED. */
  async use({ id, expiresAt }: SignInState<unknown>): Promise<void> {
    if ((await this.#database.run(stateUse, [id, new Date(expiresAt).toISOString()])) === 0) throw expired();
  }
}

function recordOf(purpose: Purpose): string {
  return `davit sign-in state ${purpose}`;
}

/** Returns the refusal of a state that is missing, forged, used, too old, or of another browser. */
export function expired(cause?: unknown): AppError {
  return new AppError({
    code: 'SIGN_IN_EXPIRED',
    message: 'This was not begun in this browser, was used already or took longer than ten minutes. Begin again.',
    cause,
  });
}
