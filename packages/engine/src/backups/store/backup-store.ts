/** What a store has of one backup. */
export interface StoredBackup {
  readonly sizeBytes: number;
  /** Of the bytes as they are stored, in hexadecimal digits. */
  readonly sha256: string;
}

/** Where backups are kept, as bytes under an id. Knows nothing of what they are; they come sealed. */
export interface BackupStore {
  /**
   * Stores all of it or nothing: what breaks, also by the death of this process, leaves nothing under the id. Replaces what an earlier
   * attempt stored, and has nothing in common with another attempt that is under way, as one process may only seem dead to another.
   * `confirm` is called when all is written and has not its name yet; where it throws, nothing is stored. Fails with what the content or
   * `confirm` fails with, and with BACKUP_STORE_FAILED or DISK_FULL.
   */
  write(id: string, content: AsyncIterable<Uint8Array>, confirm: () => Promise<void>): Promise<StoredBackup>;

  /** Its bytes, a few at a time. Fails with BACKUP_MISSING, BACKUP_STORE_FAILED. */
  read(id: string): AsyncIterable<Uint8Array>;

  /** With what attempts that ended in the middle left of it. Idempotent. */
  remove(id: string): Promise<void>;

  /** Removes what attempts that ended in the middle left. One that is under way fails. */
  removeUnfinished(): Promise<void>;
}
