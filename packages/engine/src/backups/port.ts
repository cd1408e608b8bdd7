import { randomUUID } from 'node:crypto';
import type { Queryable } from '@davit/db';
import type { BackupSubject } from '../model.ts';
import * as store from '../store/backups.ts';

export type BackupView = store.BackupRow;
export type RestoreView = store.RestoreRow;
export type { BackupKind, BackupStatus } from '../store/backups.ts';

export interface BackupOwner {
  readonly serviceId: string;
  readonly organizationId: string;
  readonly environmentId: string;
  readonly subject: BackupSubject;
}

export interface NewBackup extends BackupOwner {
  readonly name: string;
  readonly message: string;
  readonly kind: store.BackupKind;
}

export interface BackupSelection {
  readonly serviceId?: string;
  readonly environmentId?: string;
  /** Only backups that were created before this one. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** Backups of databases. They are requested here, and created by the process that holds the lock for backups. */
export interface BackupPort {
  /**
   * Requests a backup, which begins after the caller's commit. Returns null if a scheduled backup is already queued or
   * running.
   */
  add(tx: Queryable, backup: NewBackup): Promise<BackupView | null>;
  /** Newest first. */
  list(db: Queryable, selection: BackupSelection): Promise<readonly BackupView[]>;
  /** Returns null if the backup does not exist or is being removed. */
  read(db: Queryable, id: string): Promise<BackupView | null>;
  /**
   * Removes a backup and its file. If the backup is being created, that work is ended. 'in use': a restore needs the
   * backup. Idempotent.
   */
  remove(tx: Queryable, id: string): Promise<'removed' | 'in use'>;
  /**
   * Requests a restore into a database, which begins when the safety backup `safetyId` is good. Returns null if another
   * restore of the database is queued or running.
   */
  restore(
    tx: Queryable,
    restore: BackupOwner & { readonly backupId: string; readonly safetyId: string | null },
  ): Promise<RestoreView | null>;
  /** Newest first. */
  restores(db: Queryable, serviceId: string): Promise<readonly RestoreView[]>;
  /** Returns whether an instance of the database should run, which backups and restores require. */
  runs(db: Queryable, serviceId: string): Promise<boolean>;
}

export function createBackupPort(): BackupPort {
  return {
    add: async (tx, backup) => {
      const { serviceId, organizationId, environmentId, name, message, kind, subject } = backup;
      const values = [randomUUID(), serviceId, organizationId, environmentId, name, message, kind, JSON.stringify(subject)];
      return (await tx.maybe(store.insertBackup, values)) ?? null;
    },
    list: (db, { serviceId, environmentId, before, limit }) =>
      db.many(store.listBackups, [serviceId ?? null, environmentId ?? null, before ?? null, limit]),
    read: async (db, id) => (await db.maybe(store.readBackup, [id])) ?? null,
    remove: async (tx, id) => {
      if ((await tx.one(store.isBackupInUse, [id])).used) return 'in use';
      await tx.run(store.letBackupGo, [id]);
      return 'removed';
    },
    restore: async (tx, { serviceId, organizationId, environmentId, backupId, safetyId, subject }) => {
      const values = [randomUUID(), serviceId, organizationId, environmentId, backupId, safetyId, JSON.stringify(subject)];
      return (await tx.maybe(store.insertRestore, values)) ?? null;
    },
    restores: (db, serviceId) => db.many(store.listRestores, [serviceId]),
    runs: async (db, serviceId) => (await db.maybe(store.readToolTarget, [serviceId]))?.desired === 'RUNNING',
  };
}
