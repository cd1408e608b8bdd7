import { readdir, readFile, readlink, realpath, stat } from 'node:fs/promises';
import { createReadStream, type Dirent } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import dockerignore from '@balena/dockerignore';
import { pack, type Pack } from 'tar-stream';
import { DriverError } from '../../errors.ts';
import type { BuildSource } from '../../image-builder.ts';

/** A build context inside the checkout, and its Dockerfile. */
export interface BuildContext {
  /** Absolute path without symbolic links. */
  readonly root: string;
  /** Path relative to `root`, as the engine expects it. */
  readonly dockerfilePath: string;
  readonly dockerfile: string;
  /** The rule of `.dockerignore`, which may name the Dockerfile; null if there is none. */
  readonly isIgnored: IgnoreRule | null;
  /** Time of modification of all files. */
  readonly modifiedAt: Date;
}

/**
 * Returns whether a path (relative, with slashes) is ignored. If `canPrune` is set, everything below an ignored path is
 * ignored too.
 */
export interface IgnoreRule {
  (path: string): boolean;
  readonly canPrune: boolean;
}

// 2000-01-01, not 1970: archive formats that start in 1980 refuse earlier times in the middle of a build.
const earliestTime = new Date(946_684_800_000);
// The largest time of programs that count seconds in 32 bits, in 2038.
const latestTime = new Date((2 ** 31 - 1) * 1000);

/** Returns the time of a commit, limited to what archive formats can contain: git accepts any number. */
function fileTime(committedAt: string | undefined): Date {
  const time = Date.parse(committedAt ?? '');
  if (Number.isNaN(time)) return earliestTime;
  return new Date(Math.min(Math.max(time, earliestTime.getTime()), latestTime.getTime()));
}

/** A Dockerfile is read into the memory of this process, so a large one must not get there. */
const maxDockerfileBytes = 10_000_000;

/**
 * Finds the context. Fails with BUILD_ROOT_MISSING, DOCKERFILE_MISSING, or DOCKERFILE_INVALID if the file is larger
 * than 10 MB.
 */
export async function openContext(request: BuildSource): Promise<BuildContext> {
  const checkout = await realpath(request.directory);
  const root = await findRoot(checkout, request.rootPath);
  const written = posix.normalize(request.dockerfilePath.replaceAll('\\', '/')).replace(/^\/+/, '');
  const path = await realpathOrNull(join(root, written));
  if (path === null || !isInside(root, path) || !(await stat(path)).isFile()) {
    throw await dockerfileMissing({ checkout, root, written, leaves: path !== null && !isInside(root, path) });
  }
  const dockerfilePath = toPosix(relative(root, path));
  if ((await stat(path)).size > maxDockerfileBytes) {
    throw new DriverError({ cause: 'DOCKERFILE_INVALID', message: `${dockerfilePath} is larger than 10 MB.` });
  }
  return {
    root,
    dockerfilePath,
    dockerfile: await readFile(path, 'utf8'),
    isIgnored: await readIgnoreRule(root, dockerfilePath),
    modifiedAt: fileTime(request.committedAt),
  };
}

/** A Dockerfile that replaces the context's own one for the engine. */
export interface OwnDockerfile {
  /** A name that no file of the context has, or that of the context's own Dockerfile, which is then left out. */
  readonly name: string;
  readonly content: string;
}

/**
 * Packs the context as a tar stream. Order, owner, times and modes depend only on the commit, not on the checkout, so
 * that the engine's cache hits. Symbolic links stay links and are never followed.
 *
 * `own`: added to the archive. The context's own Dockerfile is then subject to `.dockerignore` like any other file.
 * Without `own` it is always sent, because the engine must read it.
 */
export function packContext(context: BuildContext, own: OwnDockerfile | null = null): Readable {
  const archive = pack();
  if (own !== null) archive.entry({ name: own.name, mode: 0o644, mtime: context.modifiedAt }, own.content);
  addFolder(archive, { ...context, isIgnored: own === null ? exceptDockerfile(context) : except(own.name, context) }, '')
    .then(() => archive.finalize())
    .catch((error: unknown) => archive.destroy(error instanceof Error ? error : new Error(String(error))));
  return Readable.from(archive, { objectMode: false });
}

function exceptDockerfile({ isIgnored, dockerfilePath }: BuildContext): IgnoreRule | null {
  if (isIgnored === null) return null;
  return Object.assign((path: string) => path !== dockerfilePath && isIgnored(path), { canPrune: isIgnored.canPrune });
}

function except(name: string, { isIgnored, dockerfilePath }: BuildContext): IgnoreRule | null {
  if (name !== dockerfilePath) return isIgnored;
  return Object.assign((path: string) => path === name || isIgnored?.(path) === true, { canPrune: isIgnored?.canPrune ?? true });
}

function ignoreRule(patterns: string): IgnoreRule {
  const rules = dockerignore.default({ ignorecase: false }).add(patterns.replace(/^\uFEFF/, ''));
  // An exception (`!`) may include something below an ignored folder.
  const canPrune = !/^\s*!/m.test(patterns);
  return Object.assign((path: string) => rules.ignores(path), { canPrune });
}

async function findRoot(checkout: string, rootPath: string): Promise<string> {
  const written = posix.normalize(`/${rootPath.replaceAll('\\', '/')}`);
  const root = await realpathOrNull(join(checkout, written));
  if (root !== null && isInside(checkout, root) && (await stat(root)).isDirectory()) return root;
  const folders = (await readdir(checkout, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const why = root === null ? 'does not exist' : isInside(checkout, root) ? 'is a file' : 'points outside the repository';
  const there = folders.length === 0 ? 'It has no folders.' : `Its folders: ${list(folders, 10)}.`;
  throw new DriverError({
    cause: 'BUILD_ROOT_MISSING',
    message: `The folder ${written} ${why} in the repository at this commit. ${there}`,
  });
}

interface MissingDockerfile {
  readonly checkout: string;
  readonly root: string;
  readonly written: string;
  readonly leaves: boolean;
}

async function dockerfileMissing({ checkout, root, written, leaves }: MissingDockerfile): Promise<DriverError> {
  const folder = posix.join('/', toPosix(relative(checkout, root)));
  const candidates = await dockerfilesIn(checkout);
  const there =
    candidates.length === 0 ? 'The repository has no file with such a name.' : `The repository has: ${list(candidates, 10)}.`;
  const why = leaves ? 'points outside that folder' : 'is not there';
  return new DriverError({
    cause: 'DOCKERFILE_MISSING',
    message: `${written} ${why} (looked for in the folder ${folder} of the repository). ${there}`,
  });
}

/**
 * Returns the paths of files that look like Dockerfiles, nearest first. Searches a limited number of folders, as the
 * result is only a hint in a message.
 */
async function dockerfilesIn(checkout: string): Promise<string[]> {
  const found: string[] = [];
  const folders = [''];
  for (let looked = 0; looked < 500 && looked < folders.length && found.length < 10; looked += 1) {
    const folder = folders[looked]!;
    for (const entry of await sortedEntries(join(checkout, folder))) {
      const path = posix.join(folder, entry.name);
      if (entry.isDirectory() && !/^(\.git|node_modules|vendor)$/.test(entry.name)) folders.push(path);
      else if (entry.isFile() && /^(dockerfile|containerfile)([.-].*)?$|\.dockerfile$/i.test(entry.name)) found.push(path);
    }
  }
  return found;
}

async function readIgnoreRule(root: string, dockerfilePath: string): Promise<IgnoreRule | null> {
  for (const path of [`${dockerfilePath}.dockerignore`, '.dockerignore']) {
    const location = await realpathOrNull(join(root, path));
    if (location === null || !isInside(root, location)) continue;
    const rule = ignoreRule(await readFile(location, 'utf8'));
    if (path === '.dockerignore') return rule;
    // The engine would also apply the general `.dockerignore` to files that the Dockerfile's own one includes.
    return Object.assign((each: string) => each === '.dockerignore' || rule(each), { canPrune: rule.canPrune });
  }
  return null;
}

async function addFolder(archive: Pack, context: BuildContext, folder: string): Promise<void> {
  for (const entry of await sortedEntries(join(context.root, folder))) {
    const path = posix.join(folder, entry.name);
    const isIgnored = context.isIgnored?.(path) ?? false;
    if (entry.isDirectory()) {
      if (isIgnored && context.isIgnored?.canPrune === true && !context.dockerfilePath.startsWith(`${path}/`)) continue;
      // An ignored folder may contain a file that is not ignored; the engine then creates the folder itself.
      const header = { name: `${path}/`, type: 'directory', mode: 0o755, mtime: context.modifiedAt } as const;
      if (!isIgnored) await addEntry(archive, header);
      await addFolder(archive, context, path);
    } else if (!isIgnored) {
      await addFile(archive, context, { path, entry });
    }
  }
}

interface Found {
  readonly path: string;
  readonly entry: Dirent;
}

async function addFile(archive: Pack, context: BuildContext, { path, entry }: Found): Promise<void> {
  const location = join(context.root, path);
  const mtime = context.modifiedAt;
  if (entry.isSymbolicLink()) {
    await addEntry(archive, { name: path, type: 'symlink', linkname: await readlink(location), mode: 0o777, mtime });
  } else if (entry.isFile()) {
    const { size, mode } = await stat(location);
    const target = archive.entry({
      name: path,
      type: 'file',
      size,
      mode: mode & 0o100 ? 0o755 : 0o644,
      mtime,
      uid: 0,
      gid: 0,
    });
    await pipeline(createReadStream(location, size === 0 ? {} : { end: size - 1 }), target);
  }
}

type Header = Parameters<Pack['entry']>[0];

function addEntry(archive: Pack, header: Header): Promise<void> {
  return new Promise((resolve, reject) => {
    archive.entry({ ...header, uid: 0, gid: 0 }, (error) => (error ? reject(error) : resolve()));
  });
}

async function sortedEntries(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function realpathOrNull(path: string): Promise<string | null> {
  return realpath(path).catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'EINVAL'].includes(error.code ?? '')) return null;
    throw error;
  });
}

function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function toPosix(path: string): string {
  return path.split(sep).join('/');
}

function list(names: readonly string[], limit: number): string {
  const more = names.length - limit;
  return names.slice(0, limit).join(', ') + (more > 0 ? `, and ${more} more` : '');
}
