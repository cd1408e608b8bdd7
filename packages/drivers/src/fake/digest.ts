import { createHash } from 'node:crypto';

/** Returns a fake id that is derived from this text. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
