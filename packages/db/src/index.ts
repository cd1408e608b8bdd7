export { accessChannel, clustersChannel, domainsChannel, gitEventChannel } from './channels.ts';
export { openDatabase, type Database, type DatabaseOptions, type Values, type Queryable } from './database.ts';
export { declaredStatements, statement, type Statement } from './statement.ts';
export { markOf } from './mark.ts';
export { checkStatements, type BrokenStatement } from './check-statements.ts';
export {
  DatabaseUnavailable,
  isCheckViolation,
  isForeignKeyViolation,
  isStaleVersion,
  isTakenKey,
  isUniqueViolation,
} from './failures.ts';
export { listen, type Listener, type ListenOptions, type Notification } from './listen.ts';
export { acquireSessionLock, heldSessionLocks, type SessionLock } from './session-lock.ts';
export { Leadership, type LeadershipOptions } from './leadership.ts';
export {
  migrate,
  migrationsFolder,
  readMigrations,
  type MigrateOptions,
  type MigrateResult,
  type Migration,
  type MigrationWait,
} from './migrate.ts';
export { startEmbedded, type EmbeddedDatabase, type EmbeddedOptions } from './embedded.ts';
export { forRequest, type ChangeRequest } from './change-request.ts';
export { batchedStatement, type BatchedStatement } from './hot-path/batch.ts';
export { creationEvent } from './hot-path/creation-event.ts';
export { openImport, openSnapshot, type ImportTarget, type MovedTable, type Snapshot } from './transfer.ts';
export { takesNoChanges } from './opening.ts';
