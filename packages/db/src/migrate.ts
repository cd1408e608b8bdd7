import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { AppError } from '@davit/base';
import { DatabaseError, type Client } from 'pg';
import { openConnection } from './connection.ts';
import { isConflictOfTransactions, isLockTimeout, toFailure } from './failures.ts';
import { lockKey } from './session-lock.ts';

/** The migrations of this program. */
export const migrationsFolder = fileURLToPath(new URL('../migrations', import.meta.url));

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
  readonly sha256: string;
  /** How many migrations a program must know to work with the schema that this one leaves; 0: any program may. */
  readonly needs: number;
}

export interface MigrateOptions {
  readonly connectionString: string;
  /** Where the files are, `migrationsFolder` unless told. */
  readonly folder?: string;
  /** Number of the last one to apply; default: all. */
  readonly upTo?: number;
  readonly onApplied?: (migration: Migration) => void;
  /** Told each time that a migration could not have a table for itself, as a dump or an export reads it, or that another process migrates. */
  readonly onWaiting?: (wait: MigrationWait) => void;
  /** How long a migration waits for a lock before it says so and lets others pass; between two tries is twice as much. Default: 5 s. */
  readonly lockWaitMilliseconds?: number;
}

export interface MigrationWait {
  /** The name of the one that waits. */
  readonly migration: string;
  /**
   * Whose transactions are open the longest, of which one is in the way: `pg_dump (process 4711, for 60 s)`. While another process migrates,
   * that one: `davit migrate (process 4712, for 60 s)`.
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
 * Brings the database to this program's schema: applies the files `0001-<name>.sql`, `0002-…` that it does not have yet, in
 * order, each in a transaction of its own. May be called by several processes at once: one works, the others wait for it.
 *
 * With nothing to do it waits for nobody, also while another process migrates: that one may wait for hours, and programs of the version before
 * are started meanwhile. A migration that cannot have a lock tries again with pauses, without end: what waits for a lock
 * of a whole table has everybody else wait behind it, also for what only reads.
 *
 * Migrations of a newer program may be there: it works with them as long as none says that it needs a program that knows more. So the
 * processes of two versions work side by side while one follows the other, and the older ones can be started again.
 *
 * Errors: `DATABASE_NEWER` (a newer program was here, and has left a schema that this one does not work with), `MIGRATION_CHANGED` (an applied file has another text now),
 * `MIGRATION_FAILED` (names the file; nothing of it remains), `DATABASE_UNAVAILABLE`.
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
    // Once more: whoever had the turn before may have applied them.
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

/** OLD: made before migrations said what they need. */
type TableState = 'MISSING' | 'OLD' | 'COMPLETE';

async function stateOfTable(client: Client): Promise<TableState> {
  const { rows } = await client.query<{ state: TableState }>(
    `SELECT CASE WHEN to_regclass('davit_migration') IS NULL THEN 'MISSING'
                 WHEN EXISTS (SELECT FROM pg_attribute
                               WHERE attrelid = to_regclass('davit_migration') AND attname = 'needs' AND NOT attisdropped) THEN 'COMPLETE'
                 ELSE 'OLD' END AS state`,
  );
  return rows[0]?.state ?? 'MISSING';
}

/**
 * Waits until no other process migrates. None does then until the connection is closed, so one that dies in a migration holds nobody up.
 */
async function takeTurn(client: Client, { name, options }: Change): Promise<void> {
  const { onWaiting, lockWaitMilliseconds = defaultLockWaitMilliseconds } = options;
  for (;;) {
    try {
      await client.query(`BEGIN; SET LOCAL lock_timeout = ${lockWaitMilliseconds}`);
      await client.query('SELECT pg_advisory_lock($1)', [lockKey('migrate')]);
      // The lock is the session's, and stays.
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
    `SELECT ${holderWords('backend_start')} AS holder
       FROM pg_locks JOIN pg_stat_activity AS activity USING (pid)
      WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND activity.datname = current_database()
        AND pg_locks.database = activity.datid AND (classid::bigint << 32) | objid::bigint = $1`,
    [lockKey('migrate')],
  );
  return rows.map(({ holder }) => holder);
}

/** Makes the table of migrations. Of one that is as it should be nothing is locked. */
async function prepare(client: Client, options: MigrateOptions): Promise<void> {
  const state = await stateOfTable(client);
  if (state === 'MISSING') {
    await client.query(`CREATE TABLE IF NOT EXISTS davit_migration (
      number integer PRIMARY KEY,
      name text NOT NULL,
      sha256 text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now(),
      needs integer NOT NULL DEFAULT 0
    )`);
  } else if (state === 'OLD') {
    await retrying(client, { name: 'davit_migration', options }, async () => {
      await client.query('ALTER TABLE davit_migration ADD COLUMN IF NOT EXISTS needs integer NOT NULL DEFAULT 0');
      await client.query('COMMIT');
    });
  }
}

interface Change {
  readonly name: string;
  readonly options: MigrateOptions;
}

/** Does `change`, which commits, in a transaction; again for as long as it cannot have its locks. */
async function retrying(client: Client, { name, options }: Change, change: () => Promise<void>): Promise<void> {
  const { onWaiting, lockWaitMilliseconds = defaultLockWaitMilliseconds } = options;
  for (;;) {
    try {
      await client.query(`BEGIN; SET LOCAL lock_timeout = ${lockWaitMilliseconds}`);
      return await change();
    } catch (error) {
      // With the statements of a version that runs meanwhile it may also come into a deadlock.
      if (!isLockTimeout(error) && !isConflictOfTransactions(error)) throw error;
      await client.query('ROLLBACK');
    }
    onWaiting?.({ migration: name, holders: await oldTransactions(client) });
    await pause(2 * lockWaitMilliseconds);
  }
}

async function oldTransactions(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ holder: string }>(
    `SELECT ${holderWords('xact_start')} AS holder
       FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
      ORDER BY xact_start LIMIT 3`,
  );
  return rows.map(({ holder }) => holder);
}

/** In SQL: how a row of pg_stat_activity is told, and since when. */
function holderWords(since: 'backend_start' | 'xact_start'): string {
  return `format('%s (process %s, for %s s)', coalesce(nullif(application_name, ''), usename, 'unnamed'), pid,
                 extract(epoch FROM clock_timestamp() - ${since})::int)`;
}

/** Reads the migrations of a folder in order. A gap, a doubled number or a stray file is a fault of the program. */
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
 * `-- Needs 0031: why` in a migration: programs that do not know the migration of that number cannot work with what this one leaves. Its
 * own number: no earlier program can.
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

/** How many migrations the database has; throws where they are not those of this program, or it cannot work with them. */
async function compareWithDatabase(client: Client, migrations: readonly Migration[]): Promise<number> {
  const { rows } = await client.query<AppliedRow>('SELECT number, name, sha256, needs FROM davit_migration ORDER BY number');
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

/** In a transaction that is open, and which it commits. */
async function apply(client: Client, migration: Migration): Promise<void> {
  try {
    await client.query(migration.text);
    if (client.getTransactionStatus() !== 'T') throw new Error('the file ends the transaction that it runs in');
    await client.query('INSERT INTO davit_migration (number, name, sha256, needs) VALUES ($1, $2, $3, $4)', [
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
      message: `Migration ${migration.name} failed${place(migration, error)}: ${error instanceof Error ? error.message : String(error)}. Nothing of it remains in the database.`,
      cause: error,
    });
  }
}

/** ` at line 12`, when PostgreSQL says where. */
function place(migration: Migration, error: unknown): string {
  if (!(error instanceof DatabaseError) || error.position === undefined) return '';
  return ` at line ${migration.text.slice(0, Number(error.position)).split('\n').length}`;
}
