import { readFileSync } from 'node:fs';

/** A hard limit of this process: what the engine of the same machine is likely allowed too. A wrong guess is lowered once more. */
export function ownHardLimit(name: string, fallback: number): number {
  let limits = '';
  try {
    limits = readFileSync('/proc/self/limits', 'utf8');
  } catch {
    // No such file on this system: the fallback is what every system allows.
  }
  const value = new RegExp(`^${name} +\\S+ +(\\d+) `, 'm').exec(limits)?.[1];
  return value === undefined ? fallback : Number(value);
}
