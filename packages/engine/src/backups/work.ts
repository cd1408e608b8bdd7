import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { AppError, isAppError, retry } from '@davit/base';
import type { Statement } from '@davit/db';
import { DriverError } from '@davit/drivers';
import { ClusterUnreachable } from '../shared/cluster-drivers.ts';
import type { FailureRecord } from '../model.ts';
import { driversOf, isAwaited, type EngineParts } from '../shared/parts.ts';
import { isDatabaseUnreachable, isTransient, retryPolicy } from '../shared/retry-policy.ts';
import { toFailure } from '../shared/failure.ts';
import * as store from '../store/backups.ts';
import { ToolInstance, type ToolCall, type ToolWork } from './tool-instance.ts';
import type { BackupStore } from './store/backup-store.ts';
import { opened, sealed } from './store/sealing.ts';
import { backupFolder, factsFile, givenFile, hasRelease, outFolder, toFacts, type BackupScript } from './tools.ts';

export interface BackupParts {
  readonly engine: EngineParts;
  readonly store: BackupStore;
}

const keyBytes = 32;
const maxFactBytes = 10_000;

/**
 * Creates a backup, stores it and proves it, resuming where an earlier attempt ended. Returns null if the backup is
 * good, otherwise the failure. Throws if the process must leave the work, if the cluster is unreachable and still
 * awaited, or if the database is unreachable.
 */
export async function makeBackup(
  parts: BackupParts,
  row: store.BackupRow,
  begun: { readonly attempt: number; readonly stored_at: string | null },
  call: ToolCall,
): Promise<FailureRecord | null> {
  let isStored = begun.stored_at !== null;
  return attempted(row.id, call, parts, async () => {
    const work = await workOf(parts.engine, row.id, row, call);
    if (!isStored) await dump(parts, row, begun.attempt, work);
    isStored = true;
    await prove(parts, row.id, work);
  });
}

/**
 * Restores a backup into a running database. Returns and throws like `makeBackup`. A failure is only returned after the
 * leftovers of the restore were removed.
 */
export async function restoreBackup(parts: BackupParts, row: store.RestoreRow, call: ToolCall): Promise<FailureRecord | null> {
  const failure = await attempted(row.id, call, parts, async () => {
    const work = await workOf(parts.engine, row.id, row, call);
    await withBench(parts, work, 'restore', async (tool) => {
      await give(parts, row.backup_id, { tool, work, cause: 'RESTORE_FAILED' });
      await tool.end('RESTORE_FAILED', 'The restore');
    });
  });
  return failure === null || !hasRelease(row.subject.type) ? failure : released(parts, row, { failure, call });
}

const releaseMilliseconds = 600_000;

/**
 * Removes the leftovers of a failed restore. The script of the restore may have done so itself, but reports nothing if
 * it was killed. This is therefore done after each failure, with a timeout of its own. Throws if it can be done later:
 * the restore is then repeated, and begins with it.
 */
async function released(
  parts: BackupParts,
  row: store.RestoreRow,
  { failure, call }: { readonly failure: FailureRecord; readonly call: ToolCall },
): Promise<FailureRecord> {
  const { engine } = parts;
  const signal = AbortSignal.any([call.leave, AbortSignal.timeout(releaseMilliseconds)]);
  try {
    const forAsLong = { ...retryPolicy(engine.settings), attempts: Number.POSITIVE_INFINITY, signal, isRetryable: isTransient };
    const output = await retry(forAsLong, async () => {
      const work = await workOf(engine, row.id, row, { ...call, signal });
      return withBench(parts, work, 'release', async (tool) => {
        await tool.end('RESTORE_FAILED', 'The release');
        return tool.lines();
      });
    });
    return { ...failure, evidence: { ...failure.evidence, lines: [...(failure.evidence.lines ?? []), ...output] } };
  } catch (error) {
    if (call.leave.aborted || isLetGo(engine, error)) throw error;
    // The database was stopped. A Redis that starts again is no longer a replica, and the leftovers in a PostgreSQL do
    // no harm.
    if (isAppError(error) && error.code === 'NEVER_DEPLOYED') return failure;
    engine.log.warn({ err: error, restore: row.id }, 'what a restore left behind could not be undone');
    return unreleased(row, failure, error);
  }
}

function unreleased({ subject }: store.RestoreRow, failure: FailureRecord, error: unknown): FailureRecord {
  const lines = error instanceof DriverError ? (error.evidence.lines ?? []) : [];
  const isRedis = subject.type === 'REDIS';
  const left = isRedis ? 'it may refuse all writes' : 'databases of the restore may still use space in it';
  return {
    ...failure,
    message: `${failure.message} What it may have left in ${subject.name} could not be undone: ${left}.`,
    hint: `Make sure that the database answers. ${isRedis ? 'A backup of it, or another restore,' : 'Another restore'} begins by undoing that.`,
    evidence: { ...failure.evidence, lines: [...(failure.evidence.lines ?? []), ...lines] },
  };
}

/** Returns whether work that failed with this error is resumed later. */
function isLetGo(engine: EngineParts, error: unknown): boolean {
  return (error instanceof ClusterUnreachable && isAwaited(engine, error.key)) || isDatabaseUnreachable(error);
}

async function attempted(
  reference: string,
  call: ToolCall,
  { engine }: BackupParts,
  action: () => Promise<void>,
): Promise<FailureRecord | null> {
  try {
    await retry({ ...retryPolicy(engine.settings), signal: call.signal, isRetryable: isTransient }, action);
    return null;
  } catch (error) {
    if (call.leave.aborted) throw error;
    if (error instanceof ClusterUnreachable && isAwaited(engine, error.key)) throw error;
    if (isDatabaseUnreachable(error) && !call.signal.aborted) throw error;
    const cause: unknown = call.signal.aborted ? call.signal.reason : error;
    const failure = toFailure(cause, reference);
    if (failure.code === 'INTERNAL') engine.log.error({ err: error, reference }, 'a backup or restore failed');
    return failure;
  }
}

async function workOf(
  engine: EngineParts,
  id: string,
  { service_id, subject }: Pick<store.BackupRow, 'service_id' | 'subject'>,
  call: ToolCall,
): Promise<ToolWork> {
  const target = await engine.database.maybe(store.readToolTarget, [service_id]);
  if (target !== undefined && target.desired === 'RUNNING') return { id, subject, target, call };
  throw new AppError({
    code: 'NEVER_DEPLOYED',
    message: `${subject.name} does not run, so nothing can be read from it or written to it. Deploy it, then request this again.`,
  });
}

async function withBench<Result>(
  { engine }: BackupParts,
  work: ToolWork,
  script: BackupScript,
  action: (tool: ToolInstance) => Promise<Result>,
): Promise<Result> {
  const tool = new ToolInstance(engine, work, script);
  try {
    await tool.open();
    return await action(tool);
  } finally {
    // A process that is being stopped leaves the tool instance. The next process removes it first. After a timeout
    // there is no next process: the script would continue alone, after its failure was reported.
    if (!work.call.leave.aborted) await tool.close();
  }
}

async function dump(parts: BackupParts, row: store.BackupRow, attempt: number, work: ToolWork): Promise<void> {
  const { database, hooks } = parts.engine;
  const { cluster } = driversOf(parts.engine, work.target.driver);
  const { signal } = work.call;
  const key = randomBytes(keyBytes);
  // Each statement is retried by itself until the timeout, because hours of work must not be repeated for one
  // statement.
  const patient = {
    ...retryPolicy(parts.engine.settings),
    attempts: Number.POSITIVE_INFINITY,
    signal,
    isRetryable: isDatabaseUnreachable,
  };
  const note = async (statement: Statement, ...values: readonly unknown[]): Promise<void> => {
    if ((await retry(patient, () => database.run(statement, [row.id, attempt, ...values]))) > 0) return;
    throw new AppError({ code: 'BACKUP_TAKEN_OVER', message: 'Another process continues this backup.' });
  };
  const sealedKey = hooks.seal(row.id, key.toString('base64'));
  const noteKey = (): Promise<void> => note(store.noteKey, sealedKey);
  await noteKey();
  await withBench(parts, work, 'dump', async (tool) => {
    const { id } = await tool.end('BACKUP_FAILED', 'The backup');
    const facts = toFacts(await cluster.readFile(id, { path: factsFile, maxBytes: maxFactBytes }, signal));
    const content = await cluster.download(id, backupFolder, signal);
    // The key is recorded before the file gets its final name. Otherwise the file could replace that of a later
    // attempt, whose key is the recorded one.
    const { sizeBytes, sha256 } = await parts.store.write(row.id, sealed(content, key), noteKey);
    await note(store.noteStored, sizeBytes, sha256, facts.serverVersion, work.target.image_id, facts.dataBytes);
  });
}

/** Restores the stored backup into a separate server, and compares the result with the content of the database. */
async function prove(parts: BackupParts, backupId: string, work: ToolWork): Promise<void> {
  await withBench(parts, work, 'prove', async (tool) => {
    await give(parts, backupId, { tool, work, cause: 'BACKUP_NOT_PROVEN' });
    await tool.end('BACKUP_NOT_PROVEN', 'The test restore');
  });
}

interface Given {
  readonly tool: ToolInstance;
  readonly work: ToolWork;
  readonly cause: 'RESTORE_FAILED' | 'BACKUP_NOT_PROVEN';
}

async function give(parts: BackupParts, backupId: string, { tool, work, cause }: Given): Promise<void> {
  const { database, hooks } = parts.engine;
  const { cluster } = driversOf(parts.engine, work.target.driver);
  const { signal } = work.call;
  const found = await database.maybe(store.readSealed, [backupId]);
  if (found === undefined || found.sealed_key === null)
    throw new DriverError({ cause: 'BACKUP_MISSING', message: 'The backup was removed.' });
  const key = Buffer.from(hooks.open(backupId, found.sealed_key), 'base64');
  const instance = await tool.instance();
  // The instance may have exited by itself, because a tool is missing. Its own output is then more useful than an error
  // of `upload`.
  if (instance.state === 'EXITED') await tool.end(cause, 'The restore');
  const archive = Readable.from(opened(parts.store.read(backupId), key), { objectMode: false });
  await cluster.upload(instance.id, { folder: outFolder, archive }, signal);
  await cluster.upload(instance.id, { folder: outFolder, archive: emptyFile(givenFile) }, signal);
}

/** Returns a tar with one empty file: a header, and the two blocks of zeros that end the archive. */
function emptyFile(name: string): Readable {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write('0000644\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write('00000000000\0', 124);
  header.write('00000000000\0', 136);
  header.write('        0', 148);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return Readable.from([Buffer.concat([header, Buffer.alloc(1024)])], { objectMode: false });
}
