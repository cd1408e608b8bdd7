import { execFileSync } from 'node:child_process';

/**
 * Returns a number that differs between commits of this checkout, or 0 if there is no commit. Tests that take turns use
 * it to select the ones for this commit.
 */
export function commitNumber(): number {
  try {
    const id = execFileSync('git', ['rev-parse', 'HEAD'], {
      encoding: 'utf8',
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return Number.parseInt(id.slice(0, 8), 16);
  } catch {
    return 0;
  }
}
