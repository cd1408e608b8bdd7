import Type from 'typebox';
import { oldHistoryPage, oldHistoryQuery } from '../deployment/old-history.ts';
import { operation } from '../operation.ts';
import { about, DateTime, enumeration, List, Name, Named, Nullable, Text, Uuid, Words } from '../shape.ts';
import { Failure, ServiceStatus } from '../shared/status.ts';
import { databaseTypes } from '../shared/words.ts';
import { kinds } from './kinds.ts';

/** GOOD: a restored copy of the backup was compared with the data of the database. FAILED: the backup is unreliable. */
export const backupStates = enumeration(
  'BackupState',
  {
    QUEUED: 'It waits for another backup or restore.',
    RUNNING: 'It is being made or, once `stored_at` is set, proven.',
    GOOD: 'Stored, and proven by a test restore.',
    FAILED: 'It cannot be restored; `failure` says why.',
  },
  'How far a backup is.',
);
/** SAFETY: a backup that is made before a restore overwrites the database. */
export const backupKinds = enumeration(
  'BackupKind',
  {
    MANUAL: 'On request; kept until it is deleted.',
    SCHEDULED: 'By the schedule; the newest are kept.',
    SAFETY: 'Before a restore overwrote the database.',
  },
  'Why a backup was made.',
);
export const restoreStates = enumeration(
  'RestoreState',
  {
    QUEUED: 'It waits for another backup or restore.',
    RUNNING: 'The data is being replaced.',
    SUCCEEDED: 'The database has the contents of the backup.',
    FAILED: '`failure` says why, and what was reverted.',
  },
  'How far a restore is.',
);

const { properties: status } = ServiceStatus;

const Backup = Named(
  'DatabaseBackup',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    name: about('Its name, as given or by the time.', Type.String()),
    message: about('A remark on the backup; may be empty.', Type.String()),
    status: Type.Optional(
      about(
        `The same in the form of a service's status.`,
        Named(
          'DatabaseBackupStatus',
          Type.Object({
            id: about('Identifies it; it never changes.', status.id),
            state: status.state,
            service_deployment_status: status.service_deployment_status,
            last_deployment_date: status.last_deployment_date,
            is_part_last_deployment: status.is_part_last_deployment,
            status_details: status.status_details,
            deployment_request_id: status.deployment_request_id,
            deployment_requests_count: status.deployment_requests_count,
          }),
          `The state of a backup in the form of a service's status.`,
        ),
      ),
    ),
    kind: Words(backupKinds),
    backup_state: about('Rely on it only if this is GOOD.', Words(backupStates)),
    database: Named(
      'BackedUpDatabase',
      Type.Object({
        id: about('Identifies it; it never changes.', Uuid),
        name: about('The name of the database.', Type.String()),
        type: Words(databaseTypes),
        version: about('The version that was configured.', Type.String()),
      }),
      'The database at the time of a backup.',
    ),
    /** The version that the database server reports. */
    server_version: about('The version that the server reports; null: not known yet.', Nullable(Type.String())),
    /** The container engine's id of the image that ran. */
    image_id: about(`The engine's id of the database's image; null: not known yet.`, Nullable(Type.String())),
    /** Size of the encrypted file, in bytes. */
    size_bytes: about('The size of the encrypted file in bytes; null: not stored yet.', Nullable(Type.Integer())),
    sha256: about('The checksum of the encrypted file; null: not stored yet.', Nullable(Type.String())),
    /** Bytes in use, as the database reports them. */
    data_bytes: about('The bytes that the database uses; null: not known yet.', Nullable(Type.Integer())),
    stored_at: about('When the file was complete; null: not yet.', Nullable(DateTime)),
    proven_at: about('When a test restore proved it; null: not yet.', Nullable(DateTime)),
    finished_at: about('When it ended, well or not; null: not yet.', Nullable(DateTime)),
    failure: about('Why it failed; null if it did not.', Nullable(Failure)),
    /** A problem that the owner should fix although the backup succeeded. */
    warning: about('What needs attention although it succeeded; null: nothing.', Nullable(Type.String())),
  }),
  'A backup of a database.',
);

const Restore = Named(
  'DatabaseRestore',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: about('When its state last changed.', DateTime),
    finished_at: about('When it ended; null: not yet.', Nullable(DateTime)),
    database_id: about('The database that is overwritten.', Uuid),
    backup_id: about('The backup that is restored.', Uuid),
    safety_backup_id: about('The backup of the former contents; null: none.', Nullable(Uuid)),
    restore_state: Words(restoreStates),
    failure: about('Why it failed; null if it did not.', Nullable(Failure)),
  }),
  'A restore into a database.',
);

const at = '/database/{databaseId}' as const;
const tag = kinds.DATABASE.Noun;
const target = 'service' as const;

export const listDatabaseBackup = operation({
  id: 'listDatabaseBackup',
  method: 'GET',
  path: `${at}/backup`,
  tag,
  summary: 'List the backups of a database',
  description: `
    Returns up to twenty backups, newest first; \`startId\` continues after the last one read. Rely on a backup only
    if its \`backup_state\` is GOOD: then a test restore has proven it.
  `,
  scope: 'READ',
  target,
  query: oldHistoryQuery,
  status: 200,
  response: Named(
    'DatabaseBackupPage',
    Type.Object({ ...oldHistoryPage, results: about('The backups, newest first.', Type.Array(Backup)) }),
    'A page of backups, newest first.',
  ),
  errors: [400],
});

export const addBackupDatabase = operation({
  id: 'addBackupDatabase',
  method: 'POST',
  path: `${at}/backup`,
  tag,
  summary: 'Back up a database',
  description: `
    Starts a backup with the tools of the database's own image, in a temporary instance beside it. The answer comes
    at once: wait for \`backup_state\` GOOD, which follows a test restore, or FAILED. It is kept until you delete it
    or the database.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`DATABASE_NOT_RUNNING\` (409) | The database is not deployed, or is stopped. | Deploy it first. |
  `,
  scope: 'WRITE',
  target,
  body: Named(
    'DatabaseBackupRequest',
    Type.Object({ name: about('A name for the backup.', Name), message: about('A remark; may be empty.', Text) }),
    'The name of a backup to make.',
  ),
  status: 201,
  response: Backup,
  errors: [400, 409],
});

export const removeDatabaseBackup = operation({
  id: 'removeDatabaseBackup',
  method: 'DELETE',
  path: `${at}/backup/{backupId}`,
  tag,
  summary: 'Delete a backup',
  description: `
    Deletes the backup with its file. A backup that is being made is stopped. This cannot be undone.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`IN_USE\` (409) | A restore that waits or runs needs it. | Wait until the restore has ended. |
  `,
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
  summary: 'Restore a backup into a database',
  description: `
    Replaces all data of a running database by a GOOD backup of the same type, from itself or from another database
    of the organization, in a version that is not later. The password stays. A safety backup of the current data is
    made and proven first; if that fails, nothing is restored.

    The answer comes at once: wait for \`restore_state\`. Do not deploy or stop the database meanwhile. You need the
    right to change both environments.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`BACKUP_NOT_GOOD\` (409) | The backup is not proven. | Wait for GOOD, or use another. |
    | \`RESTORE_UNDER_WAY\` (409) | Another restore into the database waits or runs. | Wait until it has ended. |
    | \`DATABASE_NOT_RUNNING\` (409) | The database is not deployed, or is stopped. | Deploy it first. |
  `,
  scope: 'WRITE',
  target,
  event: 'UPDATE',
  body: Named(
    'DatabaseRestoreRequest',
    Type.Object({
      backup_id: about('The backup; it must be GOOD.', Uuid),
      safety_backup: Type.Optional(
        about('false: no backup of the current data first, for a broken database.', Nullable(Type.Boolean({ default: true }))),
      ),
    }),
    'Which backup to restore, and how.',
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
  summary: 'List the restores into a database',
  description: `
    Returns all restores into the database, newest first, with their state and, if one failed, its cause and what
    was reverted.
  `,
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
  summary: 'List the backups of an environment',
  description: `
    Returns the backups of all databases of the environment, newest first. Backups of a deleted database are among
    them while they are kept: by default for seven days, and they can be restored into another database.
  `,
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: List(Backup),
  errors: [],
});
