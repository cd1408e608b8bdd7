import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/*
 * Time-based one-time passwords (RFC 6238) with the parameters that all applications support: SHA-1, six digits, steps
 * of 30 seconds. HMAC does not depend on the collision resistance that SHA-1 lacks.
 */

const secretBytes = 20;
const stepMilliseconds = 30_000;
const digits = 6;
/** Steps by which the clock of the application may differ. */
const tolerance = 1;

/** Returns a new secret in base32, as applications read it. */
export function newTotpSecret(): string {
  return toBase32(randomBytes(secretBytes));
}

/** Returns the URL that applications read from a QR code. */
export function totpUrl(secret: string, email: string): string {
  return `otpauth://totp/${encodeURIComponent(`Davit:${email}`)}?secret=${secret}&issuer=Davit`;
}

/** Returns the number of a time step. `at`: milliseconds since 1970. */
export function totpStep(at: number): number {
  return Math.floor(at / stepMilliseconds);
}

/** Returns the code of a step. */
export function totpCode(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', fromBase32(secret)).update(counter).digest();
  const offset = mac.readUInt8(mac.length - 1) & 0x0f;
  const number = (mac.readUInt32BE(offset) & 0x7f_ff_ff_ff) % 10 ** digits;
  return String(number).padStart(digits, '0');
}

/** Returns the step whose code this is, of the present one and its neighbours; undefined: the code is wrong. */
export function matchingStep(secret: string, code: string, at: number): number | undefined {
  const given = Buffer.from(code);
  const present = totpStep(at);
  let found: number | undefined;
  for (let step = present - tolerance; step <= present + tolerance; step += 1) {
    const expected = Buffer.from(totpCode(secret, step));
    if (expected.length === given.length && timingSafeEqual(expected, given)) found = step;
  }
  return found;
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Returns bytes in base32 (RFC 4648) without padding. */
export function toBase32(bytes: Buffer): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => alphabet[Number.parseInt(five.padEnd(5, '0'), 2)] ?? '').join('');
}

function fromBase32(text: string): Buffer {
  const bits = Array.from(text, (letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)));
}
