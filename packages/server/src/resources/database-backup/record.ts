import type { operations, Response } from '@davit/contract';
import type { BackupView, RestoreView } from '@davit/engine/port';
import { toFailure } from '../shared/engine-views.ts';

export type BackupRecord = Response<(typeof operations)['addBackupDatabase']>;
export type RestoreRecord = Response<(typeof operations)['restoreDatabase']>;

/** Maps the states of backups to the states that the contract has for services. */
const statusOf = {
  QUEUED: { state: 'QUEUED', details: 'QUEUED' },
  RUNNING: { state: 'EXECUTING', details: 'ONGOING' },
  GOOD: { state: 'READY', details: 'SUCCESS' },
  FAILED: { state: 'UNAVAILABLE', details: 'ERROR' },
} as const;

const nearlyFull = 0.8;
const gigabyte = 1024 ** 3;

/** `storageGiB`: size of the database's storage in GiB, if known. */
export function toBackupRecord(view: BackupView, storageGiB: number | null = null): BackupRecord {
  const { subject, status } = view;
  const { state, details } = statusOf[status];
  return {
    id: view.id,
    created_at: view.created_at,
    updated_at: view.updated_at,
    name: view.name,
    message: view.message,
    status: {
      id: view.id,
      state,
      service_deployment_status: status === 'GOOD' ? 'UP_TO_DATE' : 'NEVER_DEPLOYED',
      ...(view.finished_at === null ? {} : { last_deployment_date: view.finished_at }),
      is_part_last_deployment: false,
      status_details: { action: 'UNKNOWN', status: details, sub_action: 'NONE' },
      deployment_request_id: null,
      deployment_requests_count: 0,
    },
    kind: view.kind,
    backup_state: status,
    database: { id: view.service_id, name: subject.name, type: subject.type, version: subject.version },
    server_version: view.server_version,
    image_id: view.image_id,
    size_bytes: view.size_bytes,
    sha256: view.sha256,
    data_bytes: view.data_bytes,
    stored_at: view.stored_at,
    proven_at: view.proven_at,
    finished_at: view.finished_at,
    failure: view.failure === null ? null : toFailure(view.failure),
    warning: warningOf(view, storageGiB),
  };
}

/**
 * Returns a warning if the data nearly fills the volume. The engine of this machine does not enforce the size of a
 * volume, so nothing else reports that the volume is too small.
 */
function warningOf({ data_bytes: bytes }: BackupView, storageGiB: number | null): string | null {
  if (bytes === null || storageGiB === null || bytes < nearlyFull * storageGiB * gigabyte) return null;
  const gigabytes = (bytes / gigabyte).toFixed(1);
  return `The database has ${gigabytes} GB of data, of ${storageGiB} GB of storage. Raise storage, and check the disk of this machine: nothing limits the data to that size.`;
}

export function toRestoreRecord(view: RestoreView): RestoreRecord {
  return {
    id: view.id,
    created_at: view.created_at,
    updated_at: view.updated_at,
    finished_at: view.finished_at,
    database_id: view.service_id,
    backup_id: view.backup_id,
    safety_backup_id: view.safety_id,
    restore_state: view.status,
    failure: view.failure === null ? null : toFailure(view.failure),
  };
}
