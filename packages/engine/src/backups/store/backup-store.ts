/** Size and checksum of a stored backup. */
export interface StoredBackup {
  readonly sizeBytes: number;
  /** Checksum of the stored bytes, in hexadecimal digits. */
  readonly sha256: string;
}

/** Stores backups, as bytes under an id. The content is opaque and already encrypted. */
export interface BackupStore {
  /**
   * Stores all of the content or nothing. A failure, even the death of this process, leaves nothing under the id.
   * Replaces the content of an earlier attempt. Shares no files with another attempt under way, because a process that
   * seems dead to others may still be writing.
   *
   * `confirm` is called after all bytes are written and before the file gets its final name. If it throws, nothing is
   * stored. Fails with the error of the content or of `confirm`, and with BACKUP_STORE_FAILED or DISK_FULL.
   */
  write(id: string, content: AsyncIterable<Uint8Array>, confirm: () => Promise<void>): Promise<StoredBackup>;

  /** Returns the bytes of a backup in small pieces. Fails with BACKUP_MISSING or BACKUP_STORE_FAILED. */
  read(id: string): AsyncIterable<Uint8Array>;

  /** Removes a backup, and the leftovers of its interrupted attempts. Idempotent. */
  remove(id: string): Promise<void>;

  /** Removes the leftovers of interrupted attempts. An attempt that is under way then fails. */
  removeUnfinished(): Promise<void>;
}
