import { createHash } from 'node:crypto';
import { canonicalJson } from '@davit/base';
import type { ReleaseConfig } from './model.ts';

/** Returns the hash of a configuration. Equal configurations have equal hashes, whatever the order of their members. */
export function hashOf(config: ReleaseConfig): string {
  return createHash('sha256').update(canonicalJson(config)).digest('hex');
}
