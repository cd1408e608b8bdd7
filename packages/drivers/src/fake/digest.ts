import { createHash } from 'node:crypto';

/** What stands for the id of something that follows from this text. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
