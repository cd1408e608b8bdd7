import { execFileSync } from 'node:child_process';

/**
 * A number that differs between commits of this checkout: of tests that take turns, it chooses the ones of this commit. 0 where
 * there is no commit.
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
