import { AppError } from '@davit/base';
import type { Body, operations, Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { BackupOwner, BackupView } from '@davit/engine/port';
import type { Caller } from '../../auth/caller.ts';
import { checkEnvironment } from '../../auth/custom-role.ts';
import { compareVersions, seriesOf } from '../../catalogue/databases.ts';
import type { Needs } from '../../deps.ts';
import { openEnvironment } from '../environment/index.ts';
import { lockService, type ServiceReference } from '../service/index.ts';
import { invalidReference, notFound } from '../shared/problems.ts';
import { toBackupRecord, toRestoreRecord, type BackupRecord, type RestoreRecord } from './record.ts';
import * as store from './store.ts';
import { backupSubject } from './subject.ts';

type BackupPage = Response<(typeof operations)['listDatabaseBackup']>;
type BackupRequest = Body<(typeof operations)['addBackupDatabase']>;
type RestoreRequest = Body<(typeof operations)['restoreDatabase']>;

const pageSize = 20;
const maxOfEnvironment = 10_000;
const type = 'DATABASE';

/** Returns the backups of a database, newest first. Fails with NOT_FOUND. */
export async function listBackups(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  databaseId: string,
  startId: string | undefined,
): Promise<BackupPage> {
  const { spec } = await visible(deps, caller, databaseId);
  const storage = spec.storage[0]?.size ?? null;
  const views = await deps.engine.backups.list(deps.database, { serviceId: databaseId, before: startId, limit: pageSize });
  return { page: 1, page_size: pageSize, results: views.map((view) => toBackupRecord(view, storage)) };
}

/** Returns the backups of all databases of an environment, also of deleted databases. Fails with NOT_FOUND. */
export async function listEnvironmentBackups(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  environmentId: string,
): Promise<{ results: BackupRecord[] }> {
  await openEnvironment(deps.database, caller, environmentId, 'read');
  const views = await deps.engine.backups.list(deps.database, { environmentId, limit: maxOfEnvironment });
  return { results: views.map((view) => toBackupRecord(view)) };
}

/** Requests a backup. Fails with NOT_FOUND, BEING_DELETED or DATABASE_NOT_RUNNING. */
export async function addBackup(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  databaseId: string,
  request: BackupRequest,
): Promise<BackupRecord> {
  return deps.database.transaction(async (tx) => {
    const owner = await openRunning(deps, tx, caller, databaseId);
    const { name, message } = request;
    const view = await deps.engine.backups.add(tx, { ...owner, name, message, kind: 'MANUAL' });
    if (view === null) throw new Error('only a scheduled backup can be under way already');
    return toBackupRecord(view);
  });
}

/** Fails with NOT_FOUND, IN_USE while a restore needs the backup, or BEING_DELETED. */
export async function removeBackup(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  { databaseId, backupId }: { readonly databaseId: string; readonly backupId: string },
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    await lockService(deps, tx, caller, { id: databaseId, type, purpose: 'add' });
    const found = await deps.engine.backups.read(tx, backupId);
    if (found?.service_id !== databaseId) throw notFound('backup');
    if ((await deps.engine.backups.remove(tx, backupId)) === 'removed') return;
    throw new AppError({ code: 'IN_USE', message: 'A restore that waits or runs needs this backup. Wait until it has ended.' });
  });
}

/**
 * Requests a restore of a good backup of the same organization. A safety backup is made first unless the request says
 * otherwise. Fails with NOT_FOUND, BEING_DELETED, INVALID_REFERENCE, BACKUP_NOT_GOOD, DATABASE_NOT_RUNNING or
 * RESTORE_UNDER_WAY.
 */
export async function restore(
  deps: Needs<'database' | 'engine' | 'databases'>,
  caller: Caller,
  databaseId: string,
  request: RestoreRequest,
): Promise<RestoreRecord> {
  return deps.database.transaction(async (tx) => {
    const owner = await openRunning(deps, tx, caller, databaseId);
    const backupId = request.backup_id.toLowerCase();
    const backup = await usable(deps, tx, caller, { id: backupId, owner });
    const { backups } = deps.engine;
    const safety =
      (request.safety_backup ?? true)
        ? await backups.add(tx, {
            ...owner,
            name: `before the restore of ${backup.name}`.slice(0, 255),
            message: `What ${owner.subject.name} had before backup ${backup.id} was restored into it.`,
            kind: 'SAFETY',
          })
        : null;
    const view = await backups.restore(tx, { ...owner, backupId, safetyId: safety?.id ?? null });
    if (view !== null) return toRestoreRecord(view);
    throw new AppError({
      code: 'RESTORE_UNDER_WAY',
      message: `A restore into ${owner.subject.name} is already under way. Wait until it has ended.`,
    });
  });
}

/** Returns the restores of a database, newest first. Fails with NOT_FOUND. */
export async function listRestores(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  databaseId: string,
): Promise<{ results: RestoreRecord[] }> {
  await visible(deps, caller, databaseId);
  return { results: (await deps.engine.backups.restores(deps.database, databaseId)).map(toRestoreRecord) };
}

async function visible({ database }: Needs<'database'>, caller: Caller, databaseId: string): Promise<store.DatabaseRow> {
  const row = await database.maybe(store.readDatabase, [databaseId, caller.organizationId]);
  if (row === undefined) throw notFound('service');
  return row;
}

async function openRunning(deps: Needs<'engine'>, tx: Queryable, caller: Caller, id: string): Promise<BackupOwner> {
  const reference: ServiceReference = { id, type };
  const facts = await lockService(deps, tx, caller, { ...reference, purpose: 'add' });
  if (!(await deps.engine.backups.runs(tx, id))) {
    throw new AppError({
      code: 'DATABASE_NOT_RUNNING',
      message: `${facts.name} is not running, and its own tools must reach it. Deploy it first.`,
    });
  }
  return {
    serviceId: id,
    organizationId: facts.organization_id,
    environmentId: facts.environment_id,
    subject: backupSubject(facts),
  };
}

async function usable(
  deps: Needs<'engine' | 'databases'>,
  tx: Queryable,
  caller: Caller,
  { id, owner }: { readonly id: string; readonly owner: BackupOwner },
): Promise<BackupView> {
  const backup = await deps.engine.backups.read(tx, id);
  const unknown = invalidReference('backup_id', 'is not the id of a backup of this organization');
  if (backup === null || backup.organization_id !== owner.organizationId) throw unknown;
  // Users who restore a backup can see its content.
  const ids = await tx.maybe(store.readEnvironment, [backup.environment_id]);
  if (ids === undefined) throw unknown;
  checkEnvironment(caller, { projectId: ids.project_id, mode: ids.mode });
  const { subject } = owner;
  if (backup.subject.type !== subject.type) {
    throw invalidReference('backup_id', `is a backup of ${backup.subject.type}; this database is ${subject.type}`);
  }
  const [theirs, ours] = [backup.subject, subject].map(
    ({ version }) => seriesOf(deps.databases, subject.type, version) ?? version,
  );
  if (compareVersions(ours ?? '', theirs ?? '') < 0) {
    throw invalidReference(
      'backup_id',
      `is a backup of version ${theirs}, which ${ours} cannot read; restore it into ${theirs} or later`,
    );
  }
  if (backup.status !== 'GOOD') {
    throw new AppError({
      code: 'BACKUP_NOT_GOOD',
      message: `The backup is ${backup.status}: only one whose restore was proven is restored over a database.`,
    });
  }
  return backup;
}
