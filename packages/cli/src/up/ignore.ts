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
  return ['/.git', ...rules, '!/Dockerfile', '!/.dockerignore', ''].join('\n');
}
