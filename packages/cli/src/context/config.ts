import type { Stats } from 'node:fs';
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { CliError, codeOf, messageOf } from '../errors.ts';

export interface Named {
  readonly id: string;
  readonly name: string;
}

/** A server, and the token with which commands call it. */
export interface Context {
  readonly server: string;
  readonly token: string;
  /** Whether `login` created the token, so that `logout` revokes it. */
  readonly isOwn: boolean;
  readonly tokenName: string | null;
  readonly expiresAt: string | null;
  readonly organization: Named | null;
}

/** The service or environment that a folder is linked to. */
export interface Link {
  readonly context: string;
  readonly organization: Named;
  readonly project: Named;
  readonly environment: Named;
  readonly service: (Named & { readonly type: string }) | null;
}

/** The configuration file: contexts by name, links by the absolute path of their folder. */
export interface Config {
  readonly current: string | null;
  readonly contexts: Readonly<Record<string, Context>>;
  readonly links: Readonly<Record<string, Link>>;
}

const empty: Config = { current: null, contexts: {}, links: {} };
/** A lock that is older was left by a process that was killed. */
const staleMilliseconds = 10_000;
const lockTries = 400;
const lockPauseMilliseconds = 25;

/** Returns where the configuration file is: DAVIT_CONFIG, or davit/config.json below XDG_CONFIG_HOME or ~/.config. */
export function configFile(environment: Readonly<Partial<Record<string, string>>>): string {
  const { DAVIT_CONFIG: file, XDG_CONFIG_HOME: folder } = environment;
  if (file !== undefined && file !== '') return path.resolve(file);
  const base = folder === undefined || folder === '' ? path.join(environment['HOME'] ?? homedir(), '.config') : folder;
  return path.join(base, 'davit', 'config.json');
}

/** Reads the configuration. A missing file is an empty configuration. */
export async function readConfig(file: string): Promise<Config> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return empty;
    throw new CliError(`${file} cannot be read: ${messageOf(error)}`);
  }
  try {
    const value: Partial<Config> | null = JSON.parse(text);
    return { ...empty, ...value };
  } catch {
    throw new CliError(`${file} is not valid JSON.`, { advice: ['Repair or remove it, then sign in: davit login'] });
  }
}

/**
 * Changes the configuration. Several commands may do so at the same time: each reads what the one before it wrote. The
 * file is replaced as a whole, so that a crash or a full disk leaves the former one.
 */
export async function changeConfig(file: string, change: (config: Config) => Config): Promise<void> {
  try {
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    await withLock(`${file}.lock`, async () => replace(file, JSON.stringify(change(await readConfig(file)), null, 2)));
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${file} cannot be written: ${messageOf(error)}`);
  }
}

async function replace(file: string, text: string): Promise<void> {
  // Only the command that holds the lock writes this file.
  const written = `${file}.${process.pid}.new`;
  try {
    await writeFile(written, `${text}\n`, { mode: 0o600, flush: true });
    await rename(written, file);
  } finally {
    await rm(written, { force: true });
  }
}

async function withLock(lock: string, action: () => Promise<void>): Promise<void> {
  const own = await acquire(lock);
  try {
    await action();
  } finally {
    // A command that slept for long may have lost its lock to another one.
    if ((await identityOf(lock)) === own) await rm(lock, { force: true });
  }
}

/** Makes the lock, as soon as no other command holds it; returns its identity. */
async function acquire(lock: string): Promise<string> {
  for (let attempt = 0; attempt <= lockTries; attempt += 1) {
    try {
      const handle = await open(lock, 'wx', 0o600);
      try {
        return toIdentity(await handle.stat());
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    const found = await stat(lock).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > staleMilliseconds) await breakLock(lock, toIdentity(found));
    await pause(lockPauseMilliseconds);
  }
  throw new CliError(`Another command holds ${lock}.`, { advice: [`If none runs: rm ${lock}`] });
}

/**
 * Removes a lock that was left. Several commands may find it at once: the one that makes the file of the claim removes
 * it, so that none removes the lock that another one has made since.
 */
export async function breakLock(lock: string, identity: string): Promise<void> {
  const claim = `${lock}.${identity}`;
  try {
    await writeFile(claim, '', { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return;
    throw error;
  }
  try {
    if ((await identityOf(lock)) === identity) await rm(lock, { force: true });
  } finally {
    await rm(claim, { force: true });
  }
}

/** Returns the identity of a file, which others that had or will have its name do not have; null if there is none. */
export async function identityOf(file: string): Promise<string | null> {
  const found = await stat(file).catch(() => null);
  return found === null ? null : toIdentity(found);
}

/** The inode alone may be that of a file before, the time alone that of another command's file. */
function toIdentity({ ino, mtimeMs }: Stats): string {
  return `${ino}-${mtimeMs}`;
}

/** Returns the link of a folder or of the nearest folder above it; null if there is none. */
export function linkOf({ links }: Config, folder: string): Link | null {
  for (let at = folder; ; at = path.dirname(at)) {
    const link = links[at];
    if (link !== undefined) return link;
    if (path.dirname(at) === at) return null;
  }
}
