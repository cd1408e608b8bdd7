import Type from 'typebox';
import { oldHistoryPage, oldHistoryQuery } from '../deployment/old-history.ts';
import { operation } from '../operation.ts';
import { DateTime, List, Name, Nullable, Text, Uuid, Words, Named } from '../shape.ts';
import { Failure, ServiceStatus } from '../shared/deployment.ts';
import { databaseTypes } from '../shared/words.ts';
import { kinds } from './kinds.ts';

/** GOOD: a restored copy of the backup was compared with the data of the database. FAILED: the backup is unreliable. */
export const backupStates = ['QUEUED', 'RUNNING', 'GOOD', 'FAILED'] as const;
/** SAFETY: a backup that is made before a restore overwrites the database. */
export const backupKinds = ['MANUAL', 'SCHEDULED', 'SAFETY'] as const;
export const restoreStates = ['QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED'] as const;

const { properties: status } = ServiceStatus;

const Backup = Named(
  'DatabaseBackup',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    name: Type.String(),
    message: Type.String(),
    status: Type.Optional(
      Named(
        'DatabaseBackupStatus',
        Type.Object({
          id: status.id,
          state: status.state,
          service_deployment_status: status.service_deployment_status,
          last_deployment_date: status.last_deployment_date,
          is_part_last_deployment: status.is_part_last_deployment,
          status_details: status.status_details,
          deployment_request_id: status.deployment_request_id,
          deployment_requests_count: status.deployment_requests_count,
        }),
      ),
    ),
    kind: Words(backupKinds),
    backup_state: Words(backupStates),
    database: Named(
      'BackedUpDatabase',
      Type.Object({ id: Uuid, name: Type.String(), type: Words(databaseTypes), version: Type.String() }),
    ),
    /** The version that the database server reports. */
    server_version: Nullable(Type.String()),
    /** The container engine's id of the image that ran. */
    image_id: Nullable(Type.String()),
    /** Size of the encrypted file, in bytes. */
    size_bytes: Nullable(Type.Integer()),
    sha256: Nullable(Type.String()),
    /** Bytes in use, as the database reports them. */
    data_bytes: Nullable(Type.Integer()),
    stored_at: Nullable(DateTime),
    proven_at: Nullable(DateTime),
    finished_at: Nullable(DateTime),
    failure: Nullable(Failure),
    /** A problem that the owner should fix although the backup succeeded. */
    warning: Nullable(Type.String()),
  }),
);

const Restore = Named(
  'DatabaseRestore',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: DateTime,
    finished_at: Nullable(DateTime),
    database_id: Uuid,
    backup_id: Uuid,
    safety_backup_id: Nullable(Uuid),
    restore_state: Words(restoreStates),
    failure: Nullable(Failure),
  }),
);

const at = '/database/{databaseId}' as const;
const tag = kinds.DATABASE.Noun;
const target = 'service' as const;

export const listDatabaseBackup = operation({
  id: 'listDatabaseBackup',
  method: 'GET',
  path: `${at}/backup`,
  tag,
  summary: 'List the backups of a database, newest first, twenty at a time; `startId`: those before this one',
  scope: 'READ',
  target,
  query: oldHistoryQuery,
  status: 200,
  response: Named('DatabaseBackupPage', Type.Object({ ...oldHistoryPage, results: Type.Array(Backup) })),
  errors: [400],
});

export const addBackupDatabase = operation({
  id: 'addBackupDatabase',
  method: 'POST',
  path: `${at}/backup`,
  tag,
  summary: 'Make a backup of a running database and prove it by a test restore; both continue after the response',
  scope: 'WRITE',
  target,
  body: Named('DatabaseBackupRequest', Type.Object({ name: Name, message: Text })),
  status: 201,
  response: Backup,
  errors: [400, 409],
});

export const removeDatabaseBackup = operation({
  id: 'removeDatabaseBackup',
  method: 'DELETE',
  path: `${at}/backup/{backupId}`,
  tag,
  summary: 'Delete a backup with its file; a backup that is being made is stopped',
  scope: 'WRITE',
  target,
  event: 'DELETE',
  status: 204,
  response: null,
  errors: [409],
});

export const restoreDatabase = operation({
  id: 'restoreDatabase',
  method: 'POST',
  path: `${at}/restore`,
  tag,
  summary:
    'Replace all data of a running database with a good backup, of itself or of another database of its type; a safety backup is made first unless `safety_backup` is false',
  scope: 'WRITE',
  target,
  event: 'UPDATE',
  body: Named(
    'DatabaseRestoreRequest',
    Type.Object({ backup_id: Uuid, safety_backup: Type.Optional(Nullable(Type.Boolean({ default: true }))) }),
  ),
  status: 202,
  response: Restore,
  errors: [400, 409],
});

export const listDatabaseRestore = operation({
  id: 'listDatabaseRestore',
  method: 'GET',
  path: `${at}/restore`,
  tag,
  summary: 'List the restores into a database, newest first',
  scope: 'READ',
  target,
  status: 200,
  response: List(Restore),
  errors: [],
});

export const listEnvironmentDatabaseBackup = operation({
  id: 'listEnvironmentDatabaseBackup',
  method: 'GET',
  path: '/environment/{environmentId}/databaseBackup',
  tag,
  summary:
    'List the backups of all databases of an environment, newest first, those of deleted databases included while they are kept',
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: List(Backup),
  errors: [],
});
