import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { go, rust } from './compiled.ts';
import type { Detected, Finder, Folder, Language } from './detected.ts';
import { runGit } from './git.ts';
import { isIgnored } from './ignore.ts';
import { java } from './java.ts';
import { findNode } from './node.ts';
import { php, ruby } from './scripted.ts';

export type { Detected, Folder, Language } from './detected.ts';

export interface Port {
  readonly port: number;
  readonly from: string;
}

const usualPorts: Readonly<Record<Language, number>> = {
  Node: 3000,
  Python: 8000,
  Go: 8080,
  Rust: 8080,
  Java: 8080,
  PHP: 8080,
  Ruby: 3000,
  'static files': 8080,
};
const largestFile = 200_000;
/** Lock files are generated, and longer than what people write. */
const largestLock = 5_000_000;
const mostFiles = 1000;
const leftOut = new Set(['node_modules', 'vendor', 'target', 'dist', 'build', 'venv', '__pycache__', 'test', 'tests']);

/** Returns the folder of a path. */
export function openFolder(root: string): Folder {
  return {
    read: async (name) => {
      const file = path.join(root, name);
      const found = await stat(file).catch(() => null);
      const most = /\.lock$|modules\.txt$/.test(name) ? largestLock : largestFile;
      return found === null || !found.isFile() || found.size > most ? null : readFile(file, 'utf8');
    },
    list: async () => {
      const names: string[] = [];
      const folders = [''];
      for (const folder of folders) {
        const entries = await readdir(path.join(root, folder), { withFileTypes: true }).catch(() => []);
        for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
          const name = path.posix.join(folder, entry.name);
          if (entry.isFile()) names.push(name);
          else if (entry.isDirectory() && !isLeftOut(name)) folders.push(name);
        }
        if (names.length > mostFiles) break;
      }
      return sent(root, names);
    },
  };
}

function isLeftOut(folder: string): boolean {
  const name = path.posix.basename(folder);
  // Bundler packs gems there.
  if (folder === 'vendor' || folder === 'vendor/cache') return false;
  return name.startsWith('.') || leftOut.has(name) || folder.startsWith('vendor/');
}

/** Returns the files without those that .gitignore names, which are not sent. Outside of a repository these are all. */
async function sent(root: string, names: readonly string[]): Promise<readonly string[]> {
  if (await isIgnored(root)) return names;
  const words = ['check-ignore', '--no-index', '-z', '--stdin'];
  const { code, out } = await runGit(words, { folder: root, stdin: names.join('\0') });
  if (code !== 0) return names;
  const ignored = new Set(out.split('\0'));
  return names.filter((name) => !ignored.has(name));
}

/** Returns what kind of program is in the folder; null if it is none that is known. */
export async function detect(folder: Folder): Promise<Detected | null> {
  const names = await folder.list();
  // Servers in other languages often have scripts of Node.js that only build their pages.
  for (const find of [nodeProgram, python, go, rust, java, php, ruby, findNode, pages]) {
    const found = await find(folder, names);
    if (found === null) continue;
    // Their sources say nothing of the port: a web server has it.
    const isServed = found.language === 'PHP' || isPages(found);
    const stated = isServed ? null : await findPort(folder, names, found.facts['at']);
    return { ...found, port: stated?.port ?? (isServed ? 8080 : usualPorts[found.language]), portFrom: stated?.from ?? null };
  }
  return null;
}

/** Returns whether a folder has only pages, also built ones: their web server listens on a port of its own. */
export function isPages({ language, facts }: Pick<Detected, 'language' | 'facts'>): boolean {
  return language === 'static files' || facts['output'] !== undefined;
}

const nodeProgram: Finder = async (folder, names) => {
  const found = await findNode(folder, names);
  return found === null || isPages(found) || found.facts['isMade'] !== undefined ? null : found;
};

const python: Finder = async (folder, names) => {
  const because = ['pyproject.toml', 'requirements.txt', 'Pipfile', 'manage.py', 'main.py', 'app.py'].find((name) =>
    names.includes(name),
  );
  if (because === undefined) return null;
  // Poetry and Pipenv refuse a version that their files do not name.
  const stated =
    /^\s*(?:requires-python|python)\s*=\s*["'][^\d"']*(\d+\.\d+)/m.exec((await folder.read('pyproject.toml')) ?? '') ??
    /^\s*python_(?:full_)?version\s*=\s*"(\d+\.\d+)/m.exec((await folder.read('Pipfile')) ?? '');
  const version = (await folder.read('.python-version')) ?? stated?.[1] ?? null;
  const requirements = (await folder.read('requirements.txt')) ?? '';
  const { install, files } = pythonInstall(names, requirements);
  const start = await pythonStart(folder, names);
  return start === null
    ? null
    : { language: 'Python', because, version: /\d+\.\d+/.exec(version ?? '')?.[0] ?? null, facts: { install, files, ...start } };
};

/** Returns the command that installs the packages, with the lock file if there is one, and the files that it reads. */
function pythonInstall(names: readonly string[], requirements: string): { readonly install: string; readonly files: string } {
  const pip = 'pip install --no-cache-dir';
  if (names.includes('requirements.txt')) {
    // The file may name others, and packages in folders of the project.
    const isAlone = !/^\s*(?:-[rce]|--(?:requirement|constraint|editable|find-links)|\.|file:)|@\s*(?:file:|\.)/m.test(
      requirements,
    );
    return { install: `${pip} -r requirements.txt`, files: isAlone ? 'requirements.txt' : '' };
  }
  if (names.includes('uv.lock')) {
    const sync = 'UV_PROJECT_ENVIRONMENT=/usr/local uv sync --frozen --no-dev --no-install-project --inexact --no-cache';
    return { install: `${pip} uv && ${sync}`, files: 'pyproject.toml uv.lock' };
  }
  if (names.includes('poetry.lock')) {
    const install = 'POETRY_VIRTUALENVS_CREATE=false poetry install --only main --no-root --no-interaction --no-cache';
    return { install: `${pip} poetry && ${install}`, files: 'pyproject.toml poetry.lock' };
  }
  // The files of the project are part of what is installed.
  if (names.includes('pyproject.toml')) return { install: `${pip} .`, files: '' };
  if (!names.includes('Pipfile')) return { install: '', files: '' };
  const hasLock = names.includes('Pipfile.lock');
  const install = `${pip} pipenv && pipenv install --system ${hasLock ? '--deploy' : '--skip-lock'}`;
  return { install, files: hasLock ? 'Pipfile Pipfile.lock' : 'Pipfile' };
}

async function pythonStart(folder: Folder, names: readonly string[]): Promise<{ start: string; server: string } | null> {
  if (names.includes('manage.py')) {
    const wsgi = names.find((name) => /^[\w]+\/wsgi\.py$/.test(name))?.replace('/wsgi.py', '');
    if (wsgi !== undefined) return { start: `gunicorn --bind 0.0.0.0:$PORT ${wsgi}.wsgi`, server: 'gunicorn' };
  }
  for (const name of ['main.py', 'app.py', 'server.py', 'wsgi.py', 'asgi.py', 'src/main.py', 'app/main.py']) {
    const text = await folder.read(name);
    if (text === null) continue;
    const module = name.replace(/\.py$/, '').replaceAll('/', '.');
    const fast = /^(\w+)\s*=\s*(?:FastAPI|Starlette|Litestar)\(/m.exec(text)?.[1];
    if (fast !== undefined) return { start: `uvicorn ${module}:${fast} --host 0.0.0.0 --port $PORT`, server: 'uvicorn' };
    const flask = /^(\w+)\s*=\s*Flask\(/m.exec(text)?.[1];
    if (flask !== undefined) return { start: `gunicorn --bind 0.0.0.0:$PORT ${module}:${flask}`, server: 'gunicorn' };
  }
  const file = ['main.py', 'app.py', 'server.py', 'src/main.py'].find((name) => names.includes(name));
  return file === undefined ? null : { start: `python ${file}`, server: '' };
}

const pages: Finder = (_folder, names) => {
  const because = ['index.html', 'public/index.html'].find((name) => names.includes(name));
  if (because === undefined) return Promise.resolve(null);
  const root = because === 'index.html' ? '.' : 'public';
  return Promise.resolve({ language: 'static files', because, version: null, facts: { root } });
};

const sources = /\.(c?js|mjs|ts|py|go|rs|java|kt|rb|properties|ya?ml|toml)$/;
/** Files that are about other programs, such as databases. */
const others = /(^|\/)(?:docker-)?compose[\w.-]*\.ya?ml$|\b(?:test|spec)\b/i;
const statements = [
  /\.listen\(\s*(?:Number\()?\s*(\d{2,5})/,
  /\bPORT\b["')\]]*\s*(?:\|\||\?\?|,|:-)\s*["']?(\d{2,5})/,
  /\bPORT\b["')\]]*\)?\s*(?:\.\w+\(.*?|\{\s*)["']?\b(\d{4,5})\b/,
  /\b(?:const|let|var)\s+port\s*(?::\s*\w+\s*)?=\s*(\d{2,5})/i,
  /ListenAndServe\(\s*"[^":]*:(\d{2,5})"/,
  /\.(?:Run|Listen|Start)\(\s*"[^":]*:(\d{2,5})"/,
  /"(?:tcp4?",\s*")?:(\d{4,5})"/,
  /bind\(\s*"[^":]*:(\d{2,5})"/,
  /\bbind\(\(\s*"[^"]*",\s*(\d{2,5})\)/,
  /\(\[\d+(?:,\s*\d+){3}\],\s*(\d{2,5})\)/,
  /\bInetSocketAddress\((?:"[^"]*",\s*)?(\d{2,5})\)/,
  /^\s*port\((\d{2,5})\)/,
  /\bset :port,\s*(\d{2,5})/,
  /\bport\s*:?=\s*["']?(\d{2,5})/,
  /^server\.port\s*=\s*(?:\$\{PORT:)?(\d{2,5})/,
  /\b(?:127\.0\.0\.1|0\.0\.0\.0|localhost|\[::\]):(\d{2,5})\b/,
];
/** Ports of databases, queues and the like, to which programs connect. */
const ofOthers = new Set([
  1025, 1433, 1521, 2181, 2379, 3306, 4222, 4317, 4318, 5432, 5672, 6379, 8125, 9092, 9200, 9411, 11_211, 26_257, 27_017,
]);

/**
 * Returns the port on which the program listens, where a source file says it; null if none does. Files in the folder
 * `near` come first: others may be of other programs.
 */
export async function findPort(folder: Folder, names: readonly string[], near = ''): Promise<Port | null> {
  const all = names.filter((name) => sources.test(name) && !others.test(name));
  const isNear = (name: string): boolean => near !== '' && name.startsWith(`${near}/`);
  for (const name of [...all.filter(isNear), ...all.filter((one) => !isNear(one))]) {
    const lines = ((await folder.read(name)) ?? '').split('\n');
    for (const [index, line] of lines.entries()) {
      for (const statement of statements) {
        const port = Number(statement.exec(line)?.[1]);
        if (port > 0 && port < 65_536 && !ofOthers.has(port)) return { port, from: `${name}:${index + 1}` };
      }
    }
  }
  return null;
}

/** Returns the port that a Dockerfile exposes; null if it exposes none, or it is a variable. */
export function exposedPort(dockerfile: string): number | null {
  const port = /^\s*EXPOSE\s+(\d{1,5})/im.exec(dockerfile)?.[1];
  return port === undefined ? null : Number(port);
}
