import { git, runGit } from './git.ts';

/** Rules for the files that are always sent. */
const always = '!/Dockerfile\n!/.dockerignore\n';

/**
 * Returns rules of .gitignore for those of a .dockerignore. A pattern of Docker is about the whole path, one of git is
 * about any part of it unless it begins with a slash. The Dockerfile is always sent.
 */
export function ignoreRules(dockerignore: string): string {
  const rules = dockerignore
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const isException = line.startsWith('!');
      const pattern = (isException ? line.slice(1) : line)
        .trim()
        .replace(/^\.?\/+/, '')
        .replace(/\/+$/, '');
      return pattern === '' || pattern === '.' ? '' : `${isException ? '!' : ''}/${pattern}`;
    })
    .filter((line) => line !== '');
  return ['/.git', ...rules, always].join('\n');
}

/**
 * Returns rules for what the repository of a folder leaves out by files above it, as by the .gitignore of a repository
 * with several programs; an empty text if the folder is no part of a larger repository.
 */
export async function rulesFromAbove(folder: string): Promise<string> {
  const { code, out: prefix } = await runGit(['rev-parse', '--show-prefix'], { folder });
  if (code !== 0 || prefix.trim() === '' || (await isIgnored(folder))) return '';
  const words = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z'];
  const names = (await git(words, { folder })).split('\0').filter((name) => name !== '' && !name.includes('\n'));
  const rules = names.map((name) => `/${name.replaceAll(/[\\*?[\]]/g, String.raw`\$&`).replace(/ $/, String.raw`\ `)}\n`);
  return [...rules, always].join('');
}

/**
 * Returns whether a repository ignores the folder as a whole, such as one that a build makes. Then the folder has no
 * rules but its own.
 */
export async function isIgnored(folder: string): Promise<boolean> {
  return (await runGit(['check-ignore', '--quiet', '--no-index', '.'], { folder })).code === 0;
}
