import { createHash } from 'node:crypto';

/** Returns the first `length` hexadecimal digits of the SHA-256 of the parts, for names of objects. */
export function digest(length: number, ...parts: string[]): string {
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, length);
}
