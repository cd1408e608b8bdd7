import { Loop } from '@davit/base';
import { Leadership } from '@davit/db';
import { DriverError } from '@davit/drivers';
import { isAwaited, lookEveryMilliseconds } from '../shared/parts.ts';
import { toFailure } from '../shared/failure.ts';
import { Semaphore } from '../shared/semaphore.ts';
import * as store from '../store/backups.ts';
import type { ToolCall } from './tool-instance.ts';
import { makeBackup, restoreBackup, type BackupParts } from './work.ts';

/*
 * Executes the requested backups and restores. One process of an installation does so: the one that holds a database
 * lock, which PostgreSQL releases when the process dies. The next process resumes the work:
 *
 * - A backup that is stored only needs to be proven.
 * - Any other backup is started again.
 * - A restore is repeated from its start.
 *
 * Each attempt has a number that its writes must name, so that a process that only seemed dead cannot write anything
 * more. Work whose cluster becomes unreachable is left in the same way, and is started again when the cluster is
 * reachable.
 */

interface Running {
  readonly done: Promise<void>;
  readonly stop: AbortController;
}

export class BackupRunner {
  readonly #parts: BackupParts;
  readonly #leadership: Leadership;
  readonly #slots: Semaphore;
  /** Running work, by the id of the backup or restore. */
  readonly #running = new Map<string, Running>();
  /** Ids of services whose database is in use: only one backup or restore at a time. */
  readonly #busy = new Set<string>();
  readonly #loop: Loop;
  /** The term of leadership in which this process works. */
  #term: AbortSignal | null = null;

  constructor(parts: BackupParts) {
    this.#parts = parts;
    this.#leadership = new Leadership({ connectionString: parts.engine.connectionString, name: 'database backups' });
    this.#slots = new Semaphore(parts.engine.settings.backupsAtOnce);
    this.#loop = new Loop({
      look: () => this.#look(),
      everyMilliseconds: lookEveryMilliseconds(parts.engine.settings),
      onError: (error) => parts.engine.log.warn({ err: error }, 'the backups of databases could not be read'),
    });
  }

  start(): void {
    this.#loop.start();
    void this.#loop.wake();
  }

  /** Stops all work at once. The next process resumes it. */
  async stop(): Promise<void> {
    this.#leadership.leave();
    await this.#loop.stop();
    await this.#ended();
    await this.#leadership.release();
  }

  async #look(): Promise<void> {
    const term = await this.#leadership.take();
    if (term === null) return;
    if (term !== this.#term) await this.#beginTerm(term);
    const { database } = this.#parts.engine;
    for (const { id } of await database.many(store.leavingBackups)) await this.#remove(id);
    for (const row of await database.many(store.openBackups)) this.#begin(row, term, (signal) => this.#make(row, signal));
    for (const row of await database.many(store.openRestores)) await this.#beginRestore(row, term);
  }

  /** Waits for the work of a former term before it begins the work of the next one. */
  async #beginTerm(term: AbortSignal): Promise<void> {
    await this.#ended();
    await this.#parts.store.removeUnfinished();
    this.#term = term;
  }

  async #ended(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  /** Ends the work on a backup, then removes its file, then deletes its row. */
  async #remove(id: string): Promise<void> {
    const running = this.#running.get(id);
    running?.stop.abort();
    await running?.done;
    await this.#parts.store.remove(id);
    await this.#parts.engine.database.run(store.forgetBackup, [id]);
  }

  async #beginRestore(
    row: store.RestoreRow & store.DatabaseCluster & { readonly safety_status: store.BackupStatus | null },
    term: AbortSignal,
  ): Promise<void> {
    if (row.safety_id === null || row.safety_status === 'GOOD') {
      this.#begin(row, term, (signal) => this.#restore(row, signal));
      return;
    }
    if (row.safety_status === 'QUEUED' || row.safety_status === 'RUNNING') return;
    const failure = new DriverError({
      cause: 'RESTORE_FAILED',
      message: 'The safety backup that comes before a restore failed, so nothing was restored and the database is as it was.',
      hint: 'Check why the safety backup failed. If the database is already broken, restore with safety_backup false.',
    });
    await this.#parts.engine.database.run(store.endRestore, [row.id, null, JSON.stringify(toFailure(failure, row.id))]);
  }

  #begin(
    row: store.DatabaseCluster & { readonly id: string; readonly service_id: string },
    term: AbortSignal,
    action: (signal: AbortSignal) => Promise<void>,
  ): void {
    if (this.#running.has(row.id) || this.#busy.has(row.service_id) || term.aborted) return;
    // The work was left because its cluster is unreachable. It would only take a slot from work on other clusters.
    if (row.driver !== null && isAwaited(this.#parts.engine, row.driver)) return;
    this.#busy.add(row.service_id);
    const stop = new AbortController();
    const signal = AbortSignal.any([term, stop.signal]);
    const done = this.#slots
      .use(() => (signal.aborted ? Promise.resolve() : action(signal)))
      .catch((error: unknown) => {
        if (!signal.aborted)
          this.#parts.engine.log.warn({ err: error, id: row.id }, 'a backup or restore was interrupted; resuming it');
      })
      .finally(() => {
        this.#running.delete(row.id);
        this.#busy.delete(row.service_id);
      });
    this.#running.set(row.id, { done, stop });
  }

  async #make(row: store.BackupRow, signal: AbortSignal): Promise<void> {
    const { database, settings } = this.#parts.engine;
    const begun = await database.maybe(store.beginBackup, [row.id]);
    if (begun === undefined) return;
    const failure = await this.#within(row, signal, (call) => makeBackup(this.#parts, row, begun, call));
    await database.run(store.endBackup, [row.id, begun.attempt, failure === null ? null : JSON.stringify(failure)]);
    this.#parts.engine.counts.backupEnded({ work: 'BACKUP', cause: failure?.code ?? null });
    if (failure !== null)
      this.#parts.engine.log.warn({ service: row.service_id, backup: row.id, code: failure.code }, 'a backup failed');
    if (row.kind === 'SCHEDULED') await database.run(store.retireScheduled, [row.service_id, settings.keptBackups]);
  }

  async #restore(row: store.RestoreRow, signal: AbortSignal): Promise<void> {
    const { database } = this.#parts.engine;
    const begun = await database.maybe(store.beginRestore, [row.id]);
    if (begun === undefined) return;
    const failure = await this.#within(row, signal, (call) => restoreBackup(this.#parts, row, call));
    // Stored before the restore ends: anyone who sees the failed restore must not find the backup good.
    if (failure?.code === 'BACKUP_DAMAGED') await database.run(store.markDamaged, [row.backup_id, JSON.stringify(failure)]);
    await database.run(store.endRestore, [row.id, begun.attempt, failure === null ? null : JSON.stringify(failure)]);
    this.#parts.engine.counts.backupEnded({ work: 'RESTORE', cause: failure?.code ?? null });
  }

  async #within<Result>(
    { id, service_id }: { readonly id: string; readonly service_id: string },
    signal: AbortSignal,
    action: (call: ToolCall) => Promise<Result>,
  ): Promise<Result> {
    const { log, settings } = this.#parts.engine;
    const late = new AbortController();
    const seconds = settings.backupTimeoutSeconds;
    const message = `It had not finished after ${seconds} s.`;
    const timer = setTimeout(() => late.abort(new DriverError({ cause: 'BACKUP_TIMEOUT', message })), seconds * 1_000);
    const call = {
      signal: AbortSignal.any([signal, late.signal]),
      leave: signal,
      log: (line: string): void => log.info({ service: service_id, work: id }, line),
    };
    try {
      return await action(call);
    } finally {
      clearTimeout(timer);
    }
  }
}
