import { goFile, rustFile } from './compiled.ts';
import type { Detected, Language } from './detected.ts';
import { javaFile } from './java.ts';
import { command, library } from './lines.ts';
import { phpFile, rubyFile } from './scripted.ts';

const writers: Readonly<Record<Language, (found: Detected) => string>> = {
  Node: nodeFile,
  Python: pythonFile,
  Go: goFile,
  Rust: rustFile,
  Java: javaFile,
  PHP: phpFile,
  Ruby: rubyFile,
  'static files': pagesFile,
};

/** Returns a Dockerfile for the program: short, with a comment where a line is not obvious, to be kept and changed. */
export function dockerfileFor(found: Detected): string {
  return `${writers[found.language](found).trim()}\n`;
}

/** Returns the .dockerignore that goes with it: files that are made on each machine, and those with secrets. */
export function dockerignoreFor({ language, facts }: Detected): string {
  // Files beside the pages would be served with them.
  const own = ['Dockerfile', '.dockerignore'];
  const names: Partial<Record<Language, readonly string[]>> = {
    Node: ['**/node_modules', 'npm-debug.log'],
    Python: ['__pycache__', '**/*.pyc', '.venv', 'venv'],
    Rust: ['target'],
    Java: ['**/target', 'build', '*/build', '.gradle'],
    PHP: ['vendor', 'node_modules', ...(facts['root'] === '' ? own : [])],
    Ruby: ['.bundle', 'vendor/bundle', 'log', 'tmp', 'node_modules', 'config/*.key', 'config/credentials/*.key'],
    'static files': own,
  };
  // Symfony does not start without its .env, which by its rules has no secrets; those are in .env.local.
  const settings = facts['framework'] === 'symfony' ? ['.env.local', '.env.*.local'] : ['.env'];
  return ['.git', ...settings, ...(names[language] ?? []), ''].join('\n');
}

/** Serves files as a user without rights, which the image of the library cannot. */
const pagesServer = 'docker.io/nginxinc/nginx-unprivileged:stable-alpine';

function nodeFile({ version, port, facts }: Detected): string {
  const { install = '', lean = '', prune = '', files = '', build = '', start = '', output } = facts;
  const from = `${library}/node:${version ?? '24'}-slim`;
  const early = (command: string): string =>
    files === ''
      ? `COPY . .\nRUN ${command}\n`
      : `# Packages are installed again only when these files change.\nCOPY ${files} ./\nRUN ${command}\nCOPY . .\n`;
  const building = (...last: readonly string[]): string => {
    const commands = last.filter((one) => one !== '').join(' && ');
    return `FROM ${from} AS build\nWORKDIR /app\n${early(install)}${commands === '' ? '' : `RUN ${commands}\n`}`;
  };
  if (output !== undefined) {
    return `${building(build)}
# Only the built pages are served.
FROM ${pagesServer}
COPY --from=build /app/${output} /usr/share/nginx/html
EXPOSE ${port}`;
  }
  const isOwnTool = !['node', 'npm'].includes(start.split(' ')[0] ?? '');
  const end = `ENV NODE_ENV=production PORT=${port}${isOwnTool ? ' PATH=/app/node_modules/.bin:$PATH' : ''}
USER node
EXPOSE ${port}
CMD ${command(start)}`;
  if (build === '' && lean !== '') {
    return `FROM ${from}\nWORKDIR /app\n${early(lean).replace('COPY . .', 'COPY --chown=node . .')}${end}`;
  }
  return `${building(build, prune)}
# Without what only the build needs.
FROM ${from}
WORKDIR /app
COPY --from=build --chown=node /app ./
${end}`;
}

function pythonFile({ version, port, facts }: Detected): string {
  const { install = '', files = '', start = '', server = '' } = facts;
  const installing = [install, server === '' ? '' : `pip install --no-cache-dir ${server}`]
    .filter((one) => one !== '')
    .join(' && ');
  const run = installing === '' ? '' : `RUN ${installing}\n`;
  const copies =
    files === ''
      ? `COPY --chown=app . .\n${run}`
      : `# Packages are installed again only when these files change.\nCOPY ${files} ./\n${run}COPY --chown=app . .\n`;
  return `FROM ${library}/python:${version ?? '3.13'}-slim
RUN useradd --create-home app
WORKDIR /app
# Output appears in the log at once.
ENV PYTHONUNBUFFERED=1 PORT=${port}
${copies}USER app
EXPOSE ${port}
CMD ${command(start)}`;
}

function pagesFile({ port, facts: { root = '.' } }: Detected): string {
  return `FROM ${pagesServer}
COPY ${root} /usr/share/nginx/html
EXPOSE ${port}`;
}
