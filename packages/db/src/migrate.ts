import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError, messageOf, pause } from '@davit/base';
import { DatabaseError, type Client } from 'pg';
import { openConnection } from './connection.ts';
import { isConflictOfTransactions, isLockTimeout, toFailure } from './failures.ts';
import { lockKey } from './session-lock.ts';

/** Folder of this program's migrations. */
export const migrationsFolder = fileURLToPath(new URL('../migrations', import.meta.url));

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
  readonly sha256: string;
  /** Number of migrations that a program must know to work with the resulting schema; 0 if any program may. */
  readonly needs: number;
}

export interface MigrateOptions {
  readonly connectionString: string;
  /** Folder of the migration files. Default: `migrationsFolder`. */
  readonly folder?: string;
  /** Number of the last migration to apply. Default: all. */
  readonly upTo?: number;
  readonly onApplied?: (migration: Migration) => void;
  /**
   * Called each time a migration cannot lock a table (for example because a dump or an export reads it), or while
   * another process migrates.
   */
  readonly onWaiting?: (wait: MigrationWait) => void;
  /**
   * Milliseconds that a migration waits for a lock before it reports the wait and lets other statements proceed. The
   * pause between two attempts is twice as long. Default: 5 s.
   */
  readonly lockWaitMilliseconds?: number;
}

export interface MigrationWait {
  /** Name of the waiting migration. */
  readonly migration: string;
  /**
   * The oldest open transactions, one of which blocks the migration: `pg_dump (process 4711, for 60 s)`. If another
   * process migrates, that process: `davit migrate (process 4712, for 60 s)`.
   */
  readonly holders: readonly string[];
}

const defaultLockWaitMilliseconds = 5_000;

export interface MigrateResult {
  /** Names of the migrations that this call applied. */
  readonly applied: readonly string[];
  /** Number of the newest migration in the database. */
  readonly current: number;
}

/**
 * Updates the database to this program's schema. Applies the missing files `0001-<name>.sql`, `0002-…` in order, each
 * in its own transaction. Several processes may call this concurrently: one migrates, and the others wait for it.
 *
 * If there is nothing to apply, the call waits for nobody, even while another process migrates. That process may wait
 * for hours, and programs of the previous version are started meanwhile. A migration that cannot get a lock retries
 * with pauses, indefinitely. While a statement waits for a lock on a whole table, all later statements on the table
 * queue behind it, even reads.
 *
 * The database may contain migrations of a newer program. This program works with them unless one of them requires a
 * newer program. Therefore processes of two versions can run side by side during an upgrade, and the older processes
 * can be restarted.
 *
 * Errors:
 * - `DATABASE_NEWER`: a newer program has left a schema that this program does not work with.
 * - `MIGRATION_CHANGED`: the text of an applied file has changed.
 * - `MIGRATION_FAILED`: names the file; its transaction was rolled back.
 * - `DATABASE_UNAVAILABLE`.
 */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  const migrations = await readMigrations(options.folder ?? migrationsFolder);
  const connection = await openConnection(options.connectionString, 'davit migrate');
  try {
    const { client } = connection;
    const wanted = options.upTo ?? migrations.length;
    const known = (await stateOfTable(client)) === 'COMPLETE' ? await compareWithDatabase(client, migrations) : null;
    if (known !== null && known >= wanted) return { applied: [], current: known };
    const first = known === null ? undefined : migrations[known];
    await takeTurn(client, { name: first?.name ?? 'davit_migration', options });
    await prepare(client, options);
    // Compares again: the previous holder of the lock may have applied the migrations.
    const before = await compareWithDatabase(client, migrations);
    const last = Math.max(before, wanted);
    const missing = migrations.slice(before, last);
    for (const migration of missing) {
      await retrying(client, { name: migration.name, options }, () => apply(client, migration));
      options.onApplied?.(migration);
    }
    return { applied: missing.map(({ name }) => name), current: last };
  } catch (error) {
    throw toFailure(error);
  } finally {
    await connection.close();
  }
}

/** State of the migrations table. `OLD`: the table was created before migrations declared their requirements. */
type TableState = 'MISSING' | 'OLD' | 'COMPLETE';

async function stateOfTable(client: Client): Promise<TableState> {
  const { rows } = await client.query<{ state: TableState }>(
    `select case when to_regclass('davit_migration') is null then 'MISSING'
                 when exists (select from pg_attribute
                               where attrelid = to_regclass('davit_migration') and attname = 'needs' and not attisdropped) then 'COMPLETE'
                 else 'OLD' end as state`,
  );
  return rows[0]?.state ?? 'MISSING';
}

/**
 * Waits until no other process migrates and acquires the migration lock. The lock lasts until the connection closes, so
 * a process that dies during a migration blocks nobody.
 */
async function takeTurn(client: Client, { name, options }: Change): Promise<void> {
  const { onWaiting, lockWaitMilliseconds = defaultLockWaitMilliseconds } = options;
  for (;;) {
    try {
      await client.query(`begin; set local lock_timeout = ${lockWaitMilliseconds}`);
      await client.query('select pg_advisory_lock($1)', [lockKey('migrate')]);
      // The lock belongs to the session and outlives the transaction.
      await client.query('COMMIT');
      return;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      await client.query('ROLLBACK');
    }
    onWaiting?.({ migration: name, holders: await migrating(client) });
  }
}

async function migrating(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ holder: string }>(
    `select ${holderWords('backend_start')} as holder
       from pg_locks join pg_stat_activity as activity using (pid)
      where locktype = 'advisory' and granted and objsubid = 1 and activity.datname = current_database()
        and pg_locks.database = activity.datid and (classid::bigint << 32) | objid::bigint = $1`,
    [lockKey('migrate')],
  );
  return rows.map(({ holder }) => holder);
}

/** Creates the migrations table. If the table is complete, nothing is locked. */
async function prepare(client: Client, options: MigrateOptions): Promise<void> {
  const state = await stateOfTable(client);
  if (state === 'MISSING') {
    await client.query(`create table if not exists davit_migration (
      number integer primary key,
      name text not null,
      sha256 text not null,
      applied_at timestamptz not null default now(),
      needs integer not null default 0
    )`);
  } else if (state === 'OLD') {
    await retrying(client, { name: 'davit_migration', options }, async () => {
      await client.query('alter table davit_migration add column if not exists needs integer not null default 0');
      await client.query('COMMIT');
    });
  }
}

interface Change {
  readonly name: string;
  readonly options: MigrateOptions;
}

/** Runs `change`, which commits, in a transaction. Retries until it gets its locks. */
async function retrying(client: Client, { name, options }: Change, change: () => Promise<void>): Promise<void> {
  const { onWaiting, lockWaitMilliseconds = defaultLockWaitMilliseconds } = options;
  for (;;) {
    try {
      await client.query(`begin; set local lock_timeout = ${lockWaitMilliseconds}`);
      return await change();
    } catch (error) {
      // The change may also run into a deadlock with statements of another version that runs meanwhile.
      if (!isLockTimeout(error) && !isConflictOfTransactions(error)) throw error;
      await client.query('ROLLBACK');
    }
    onWaiting?.({ migration: name, holders: await oldTransactions(client) });
    await pause(2 * lockWaitMilliseconds);
  }
}

async function oldTransactions(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ holder: string }>(
    `select ${holderWords('xact_start')} as holder
       from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
      order by xact_start limit 3`,
  );
  return rows.map(({ holder }) => holder);
}

/** Returns SQL that formats a row of pg_stat_activity, with the seconds since the given time. */
function holderWords(since: 'backend_start' | 'xact_start'): string {
  return `format('%s (process %s, for %s s)', coalesce(nullif(application_name, ''), usename, 'unnamed'), pid,
                 extract(epoch FROM clock_timestamp() - ${since})::int)`;
}

/** Reads the migrations of a folder in order. A gap, a duplicate number or a stray file is a bug. */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  return Promise.all(
    files.map(async (file, index) => {
      const number = index + 1;
      if (!/^\d{4}-[a-z0-9-]+\.sql$/.test(file) || Number(file.slice(0, 4)) !== number) {
        throw new Error(
          `migration ${number} is missing or misnamed: found ${file}, expected ${String(number).padStart(4, '0')}-<name>.sql`,
        );
      }
      const text = await readFile(path.join(folder, file), 'utf8');
      const sha256 = createHash('sha256').update(text).digest('hex');
      return { number, name: file.slice(0, -'.sql'.length), text, sha256, needs: neededBy(number, text) };
    }),
  );
}

/**
 * Reads the line `-- Needs 0031: why` of a migration: programs that do not know migration 0031 cannot work with the
 * schema after this migration. If the number is the migration's own, no earlier program can.
 */
function neededBy(number: number, text: string): number {
  const [, needed] = /^-- Needs (\d{4}): \S/m.exec(text) ?? [];
  if (needed === undefined) return 0;
  if (Number(needed) > number) throw new Error(`migration ${number} needs ${needed}, which comes after it`);
  return Number(needed);
}

interface AppliedRow {
  readonly number: number;
  readonly name: string;
  readonly sha256: string;
  readonly needs: number;
}

/**
 * Returns the number of migrations in the database. Throws if they differ from this program's migrations, or if the
 * program cannot work with them.
 */
async function compareWithDatabase(client: Client, migrations: readonly Migration[]): Promise<number> {
  const { rows } = await client.query<AppliedRow>('select number, name, sha256, needs from davit_migration order by number');
  const tooNew = rows.find(({ needs }) => needs > migrations.length);
  if (tooNew !== undefined) {
    throw new AppError({
      code: 'DATABASE_NEWER',
      message: `The database was used by a newer version of Davit: it has migration ${tooNew.name}, which needs ${tooNew.needs} migrations, and this program knows ${migrations.length}. Start that version or a later one, or restore a backup made before the upgrade.`,
    });
  }
  for (const row of rows.slice(0, migrations.length)) {
    const own = migrations[row.number - 1];
    if (own?.sha256 === row.sha256) continue;
    throw new AppError({
      code: 'MIGRATION_CHANGED',
      message: `Migration ${row.name} was applied to the database with another text than this program has. Use an unmodified release of Davit; a change of the schema is a new migration, never an edit of an old one.`,
    });
  }
  return rows.length;
}

/** Applies a migration in the open transaction and commits it. */
async function apply(client: Client, migration: Migration): Promise<void> {
  try {
    await client.query(migration.text);
    if (client.getTransactionStatus() !== 'T') throw new Error('the file ends the transaction that it runs in');
    await client.query('insert into davit_migration (number, name, sha256, needs) values ($1, $2, $3, $4)', [
      migration.number,
      migration.name,
      migration.sha256,
      migration.needs,
    ]);
    await client.query('COMMIT');
  } catch (error) {
    if (isLockTimeout(error) || isConflictOfTransactions(error)) throw error;
    const failure = toFailure(error);
    if (failure instanceof AppError) throw failure;
    throw new AppError({
      code: 'MIGRATION_FAILED',
      message: `Migration ${migration.name} failed${location(migration, error)}: ${messageOf(error)}. Nothing of it remains in the database.`,
      cause: error,
    });
  }
}

/** Returns ` at line 12` if PostgreSQL reports the position, otherwise an empty string. */
function location(migration: Migration, error: unknown): string {
  if (!(error instanceof DatabaseError) || error.position === undefined) return '';
  return ` at line ${migration.text.slice(0, Number(error.position)).split('\n').length}`;
}
