import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';

export interface Repository {
  readonly folder: string;
  readonly branch: string;
  readonly commit: string;
}

const branch = 'main';

/**
 * Creates a git repository of the example, like a user's own, or updates it: changes to the example since the last run
 * become a commit.
 */
export function ensureRepository(example: string, folder: string): Repository {
  mkdirSync(folder, { recursive: true });
  if (!existsSync(path.join(folder, '.git'))) git(folder, ['init', '--quiet', `--initial-branch=${branch}`]);
  for (const name of readdirSync(folder)) if (name !== '.git') rmSync(path.join(folder, name), { recursive: true });
  cpSync(example, folder, { recursive: true });
  git(folder, ['add', '--all']);
  if (git(folder, ['status', '--porcelain']) !== '') {
    const isFirst = git(folder, ['rev-list', '--all', '--max-count=1']) === '';
    git(folder, ['commit', '--quiet', '--message', isFirst ? 'Say hello' : 'Take over what changed in the example']);
  }
  return { folder, branch, commit: git(folder, ['rev-parse', 'HEAD']).trim() };
}

// Git ignores the user's configuration here: it may require signatures or hooks, or lack a name.
function git(folder: string, commandLine: readonly string[]): string {
  const settings = {
    'user.name': 'Davit',
    'user.email': 'davit@localhost',
    'commit.gpgsign': 'false',
    'core.hooksPath': '/dev/null',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return execFileSync('git', [...options, ...commandLine], { cwd: folder, encoding: 'utf8' });
}
