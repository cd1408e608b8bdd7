import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '@davit/base';
import { DriverError } from '@davit/drivers';
import type { BackupStore, StoredBackup } from './backup-store.ts';

// A former version gave all attempts of a backup the same file name, without an id of the attempt.
const unfinished = /^([0-9a-f-]{36})\.backup(?:\.[0-9a-f-]{36})?\.part$/;

/** Stores backups as files in a folder that only the user of this process can read. */
export class FolderBackupStore implements BackupStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async write(id: string, content: AsyncIterable<Uint8Array>, confirm: () => Promise<void>): Promise<StoredBackup> {
    const file = this.#fileOf(id);
    const part = `${file}.${randomUUID()}.part`;
    await translated(() => mkdir(this.#folder, { recursive: true, mode: 0o700 }));
    try {
      const stored = await this.#fill(part, content);
      await confirm();
      await translated(() => rename(part, file));
      await translated(() => this.#syncFolder());
      return stored;
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
  }

  async #fill(file: string, content: AsyncIterable<Uint8Array>): Promise<StoredBackup> {
    const handle = await translated(() => open(file, 'w', 0o600));
    try {
      const hash = createHash('sha256');
      let sizeBytes = 0;
      for await (const bytes of content) {
        await translated(() => handle.writeFile(bytes));
        hash.update(bytes);
        sizeBytes += bytes.length;
      }
      // Synced before the file gets its final name: after a power failure there must be no incomplete file under that
      // name.
      await translated(() => handle.sync());
      return { sizeBytes, sha256: hash.digest('hex') };
    } finally {
      await handle.close();
    }
  }

  async #syncFolder(): Promise<void> {
    const folder = await open(this.#folder, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  async *read(id: string): AsyncIterable<Uint8Array> {
    const file = this.#fileOf(id);
    try {
      yield* createReadStream(file, { highWaterMark: 1 << 20 });
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw failure(error);
      throw new DriverError({ cause: 'BACKUP_MISSING', message: `There is no file ${file}.`, error });
    }
  }

  async remove(id: string): Promise<void> {
    const file = this.#fileOf(id);
    await translated(() => rm(file, { force: true }));
    await this.#removeParts(id);
  }

  async removeUnfinished(): Promise<void> {
    await this.#removeParts();
  }

  /** Removes the partial files of one backup; of all backups if `id` is omitted. */
  async #removeParts(id?: string): Promise<void> {
    const names = await readdir(this.#folder).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return [];
      throw failure(error);
    });
    for (const name of names) {
      const part = unfinished.exec(name);
      if (part === null || (id !== undefined && part[1] !== id)) continue;
      await translated(() => rm(path.join(this.#folder, name), { force: true }));
    }
  }

  #fileOf(id: string): string {
    if (!/^[0-9a-f-]{36}$/.test(id)) throw new Error(`not an id of a backup: ${id}`);
    return path.join(this.#folder, `${id}.backup`);
  }
}

async function translated<Result>(action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    throw failure(error);
  }
}

function failure(error: unknown): DriverError {
  const original = messageOf(error);
  const isFull = codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT';
  return new DriverError({
    cause: isFull ? 'DISK_FULL' : 'BACKUP_STORE_FAILED',
    message: `The backup folder cannot be used: ${original}.`,
    evidence: { original },
    error,
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
