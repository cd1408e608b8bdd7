import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as backup from './database-backup.ts';

export function mountDatabaseBackup(mounting: Mounting, deps: Needs<'database' | 'engine' | 'databases'>): void {
  mounting
    .on(operations.listDatabaseBackup, ({ caller, params, query }) =>
      backup.listBackups(deps, caller, params.databaseId, query.startId),
    )
    .on(operations.addBackupDatabase, ({ caller, params, body }) => backup.addBackup(deps, caller, params.databaseId, body))
    .on(operations.removeDatabaseBackup, ({ caller, params }) => backup.removeBackup(deps, caller, params))
    .on(operations.restoreDatabase, ({ caller, params, body }) => backup.restore(deps, caller, params.databaseId, body))
    .on(operations.listDatabaseRestore, ({ caller, params }) => backup.listRestores(deps, caller, params.databaseId))
    .on(operations.listEnvironmentDatabaseBackup, ({ caller, params }) =>
      backup.listEnvironmentBackups(deps, caller, params.environmentId),
    );
}
