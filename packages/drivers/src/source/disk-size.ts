import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Returns the bytes of all files under a folder. Files that vanish meanwhile count as 0, as git writes there at the
 * same time.
 */
export async function diskBytes(folder: string): Promise<number> {
  let bytes = 0;
  for await (const size of fileSizes(folder)) bytes += size;
  return bytes;
}

/** Returns the size of the largest file under a folder, in bytes; 0 if there is none. */
export async function largestFileBytes(folder: string): Promise<number> {
  let largest = 0;
  for await (const size of fileSizes(folder)) largest = Math.max(largest, size);
  return largest;
}

async function* fileSizes(folder: string): AsyncGenerator<number> {
  for (const entry of await entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* fileSizes(path);
    else if (entry.isFile()) yield await lstat(path).then((status) => status.size, ifGone(0));
  }
}

/** Returns every `.git` under a folder: the folder of the repository, and the files of its submodules. */
export async function gitFolders(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.name === '.git') found.push(path);
    else if (entry.isDirectory()) found.push(...(await gitFolders(path)));
  }
  return found;
}

function entriesOf(folder: string): Promise<import('node:fs').Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch(ifGone([]));
}

function ifGone<T>(value: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT') return value;
    throw error;
  };
}
