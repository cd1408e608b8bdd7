import { readFileSync } from 'node:fs';

/**
 * Returns a hard limit of this process. The engine on the same machine is likely allowed the same. If this guess is
 * wrong, the limit is lowered once more.
 */
export function ownHardLimit(name: string, fallback: number): number {
  let limits = '';
  try {
    limits = readFileSync('/proc/self/limits', 'utf8');
  } catch {
    // This system has no such file. Every system allows the fallback.
  }
  const value = new RegExp(`^${name} +\\S+ +(\\d+) `, 'm').exec(limits)?.[1];
  return value === undefined ? fallback : Number(value);
}
