import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { AppError } from '@davit/base';

const derive = promisify(argon2);

/** Parameters of argon2id that OWASP recommends: 19 MiB, two passes, one lane. One hash takes some 40 ms. */
const parameters = { memory: 19_456, passes: 2, parallelism: 1 } as const;
const saltBytes = 16;
const hashBytes = 32;
/** Hashes that are computed at once, and that may wait. Sign-in must leave the processor to other requests. */
const atOnce = 2;
const waitingAtMost = 50;

const format = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;

/** Computes and compares hashes of passwords, outside of the main thread and few at once. */
export class Passwords {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** Returns the hash to store, in the PHC string format. Throws OVERLOADED. */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(saltBytes);
    const { memory, passes, parallelism } = parameters;
    const bytes = await this.#derive(password, { salt, ...parameters });
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(bytes)}`;
  }

  /**
   * Returns whether a password has this stored hash. Without a stored hash it takes as long and returns false: the time
   * must not show whether there is an account. Throws OVERLOADED.
   */
  async verify(password: string, stored: string | null): Promise<boolean> {
    const [, memory, passes, parallelism, salt = '', expected = ''] = format.exec(stored ?? '') ?? [];
    if (memory === undefined) {
      await this.#derive(password, { salt: randomBytes(saltBytes), ...parameters });
      return false;
    }
    const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
    const bytes = await this.#derive(password, { salt: Buffer.from(salt, 'base64'), ...cost });
    const known = Buffer.from(expected, 'base64');
    return bytes.length === known.length && timingSafeEqual(bytes, known);
  }

  async #derive(
    password: string,
    { salt, ...cost }: { readonly salt: Buffer; readonly memory: number; readonly passes: number; readonly parallelism: number },
  ): Promise<Buffer> {
    await this.#enter();
    try {
      // Keyboards differ in the code points that they send for a letter with an accent.
      return await derive('argon2id', { message: password.normalize('NFC'), nonce: salt, tagLength: hashBytes, ...cost });
    } finally {
      this.#leave();
    }
  }

  async #enter(): Promise<void> {
    if (this.#running < atOnce) {
      this.#running += 1;
      return;
    }
    if (this.#waiting.length >= waitingAtMost) {
      throw new AppError({ code: 'OVERLOADED', message: 'Too many people sign in at the moment. Try again in a few seconds.' });
    }
    // `#leave` passes the place on, so `#running` stays the same.
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}
