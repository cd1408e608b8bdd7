import path from 'node:path';
import type { Detected, Folder } from './detected.ts';

interface Package {
  readonly scripts?: Readonly<Record<string, string>>;
  readonly engines?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly main?: string;
  readonly packageManager?: string;
  readonly workspaces?: unknown;
}

const entries = [
  'server.js',
  'server.mjs',
  'server.ts',
  'index.js',
  'index.mjs',
  'index.ts',
  'app.js',
  'src/index.js',
  'src/server.js',
];

/** Returns the Node.js program of a folder; null if there is none. */
export async function findNode(folder: Folder, names: readonly string[]): Promise<Omit<Detected, 'port' | 'portFrom'> | null> {
  const text = await folder.read('package.json');
  if (text === null) return null;
  const content = parsePackage(text);
  const { scripts = {}, engines = {}, dependencies = {} } = content;
  // A `main` that is not there is made by a build, or is what `npm init` wrote into the file of another language.
  const isThere = content.main !== undefined && hasModule(content.main, names);
  const main = isThere || scripts['build'] !== undefined ? content.main : undefined;
  const file = main ?? entries.find((name) => names.includes(name));
  const start = startOf(scripts, file);
  if (start === null && scripts['build'] === undefined) return null;
  const wanted = engines['node'] ?? (await folder.read('.nvmrc')) ?? (await folder.read('.node-version'));
  const version = /\d+/.exec(wanted ?? '')?.[0] ?? null;
  // From this version on, images have no Corepack.
  const corepack = Number(version) >= 25 ? 'npm install --global corepack && corepack enable' : 'corepack enable';
  const manager = managerOf(content, names, corepack);
  // Packages in folders of the project are installed from there, and so is what patches name.
  const isWhole =
    content.workspaces !== undefined ||
    names.includes('pnpm-workspace.yaml') ||
    /:\s*"(?:file|link|patch|portal|workspace):/.test(text);
  const output = dependencies['react-scripts'] === undefined ? 'dist' : 'build';
  return {
    language: 'Node',
    because: 'package.json',
    version,
    facts: {
      ...manager,
      ...(isWhole && { files: '' }),
      // Scripts of an installation may need all files, and tools that only the build needs.
      ...(['preinstall', 'install', 'postinstall', 'prepare'].some((name) => name in scripts) && { files: '', lean: '' }),
      build: scripts['build'] === undefined ? '' : `${manager.run} run build`,
      start: start ?? '',
      ...(start === null && { output }),
      ...(main !== undefined && !isThere && scripts['start'] === undefined && { isMade: 'true' }),
    },
  };
}

/** Returns whether a path that `require` takes is there. What is in a folder counts as there: not all are listed. */
function hasModule(main: string, names: readonly string[]): boolean {
  const name = path.posix.normalize(main).replace(/\/$/, '');
  return name.includes('/') || ['', '.js', '/index.js'].some((end) => names.includes(`${name}${end}`));
}

function parsePackage(text: string): Package {
  try {
    const value: Package | null = JSON.parse(text);
    return value ?? {};
  } catch {
    // npm reports what is wrong with it, when the image is built.
    return {};
  }
}

/**
 * Returns the command that starts the program; null if there is none. A script of plain words runs without the package
 * manager, which would take a process more, and may fetch itself at the start of the container.
 */
function startOf(scripts: Readonly<Record<string, string>>, file: string | undefined): string | null {
  const { start, prestart, poststart } = scripts;
  if (start === undefined) return file === undefined ? null : `node ${file}`;
  const isPlain = prestart === undefined && poststart === undefined && /^[\w@./:,-]+( [\w@./:,=-]+)*$/.test(start);
  return isPlain ? start : 'npm start';
}

/** A package manager: `run` is its name, `install` and `prune` are commands, `files` what `install` reads. */
interface Manager {
  readonly run: string;
  readonly install: string;
  /** Removes what only the build needs. */
  readonly prune: string;
  /** Installs without what only the build needs; an empty text: `install` and `prune` do that. */
  readonly lean: string;
  /** An empty text: all files. */
  readonly files: string;
}

function managerOf(
  { packageManager = '' }: Package,
  names: readonly string[],
  corepack: string,
): Manager & Readonly<Record<string, string>> {
  // Settings of the package manager may change what it installs.
  const present = (...all: readonly string[]): string => all.filter((name) => names.includes(name)).join(' ');
  if (names.includes('pnpm-lock.yaml')) {
    const install = `${corepack} && pnpm install --frozen-lockfile`;
    const files = present('package.json', 'pnpm-lock.yaml', '.npmrc');
    return { run: 'pnpm', install, lean: `${install} --prod`, prune: 'CI=true pnpm prune --prod', files };
  }
  if (names.includes('yarn.lock')) {
    // Yarn from version 2 on has other flags, and reads files of its own.
    if (names.includes('.yarnrc.yml') || /^yarn@([2-9]|\d\d)/.test(packageManager)) {
      const prepare = `${corepack} && export YARN_NODE_LINKER=node-modules`;
      const prune = 'YARN_NODE_LINKER=node-modules yarn workspaces focus --all --production';
      return { run: 'yarn', install: `${prepare} && yarn install --immutable`, lean: '', prune, files: '' };
    }
    const install = `${corepack} && yarn install --frozen-lockfile`;
    const prune = 'yarn install --frozen-lockfile --production';
    return {
      run: 'yarn',
      install,
      lean: `${install} --production`,
      prune,
      files: present('package.json', 'yarn.lock', '.npmrc', '.yarnrc'),
    };
  }
  const lock = ['npm-shrinkwrap.json', 'package-lock.json'].find((name) => names.includes(name));
  const install = lock === undefined ? 'npm install' : 'npm ci';
  const files = present('package.json', lock ?? '', '.npmrc');
  return { run: 'npm', install, lean: `${install} --omit=dev`, prune: 'npm prune --omit=dev', files };
}
