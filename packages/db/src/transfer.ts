import { pipeline } from 'node:stream/promises';
import { AppError } from '@davit/base';
import { escapeIdentifier, type Client } from 'pg';
import { from, to } from 'pg-copy-streams';
import { openConnection, type DedicatedConnection } from './connection.ts';
import { toFailure } from './failures.ts';

/** A table to transfer, with its stored (not computed) columns. */
export interface MovedTable {
  readonly name: string;
  readonly columns: readonly string[];
}

export interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly sha256: string;
}

/** A consistent view of a database at one moment, while other sessions continue to change it. */
export interface Snapshot {
  readonly migrations: readonly AppliedMigration[];
  /** Id of the installation. The labels on an engine's objects contain it. */
  readonly installation: string;
  /** Tables in dependency order: referenced tables come first. */
  readonly tables: readonly MovedTable[];
  /**
   * Returns the rows of a table in PostgreSQL's text format. The caller must read them to the end before the next
   * table.
   */
  rows(table: MovedTable): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

/**
 * Tables that are not transferred: data that belongs to one database and one engine, and data that an export contains
 * in its header.
 */
const staying: ReadonlySet<string> = new Set([
  'davit_migration',
  // Runner processes of the instance.
  'runner',
  // Images on the container engine of the machine.
  'pulled_image',
  // Rate counts of the current minute. A standby does not have this table's data.
  'rate_count',
]);

/**
 * Opens a snapshot of a database. A standby is acceptable. Fails with DATABASE_UNAVAILABLE, or with INSTANCE_EMPTY if
 * Davit was never started on it.
 */
export async function openSnapshot(connectionString: string): Promise<Snapshot> {
  const connection = await openConnection(connectionString, 'davit export', { readsOnly: true });
  const { client } = connection;
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const { rows: there } = await client.query(`select where to_regclass('public.davit_migration') is not null`);
    if (there.length === 0)
      throw new AppError({ code: 'INSTANCE_EMPTY', message: 'this instance was never started: there is nothing to export.' });
    const { rows } = await client.query<AppliedMigration>('select number, name, sha256 from davit_migration order by number');
    const { rows: installations } = await client.query<{ id: string }>('select id from installation');
    return {
      migrations: rows,
      installation: installations[0]?.id ?? '',
      tables: await readTables(client),
      rows: (table) => client.query(to(`COPY ${target(table)} TO STDOUT`)),
      close: () => connection.close(),
    };
  } catch (error) {
    await connection.close();
    throw toFailure(error);
  }
}

/** Returns all tables to transfer, each after the tables that it references. */
async function readTables(client: Client): Promise<MovedTable[]> {
  const { rows: columns } = await client.query<{ name: string; columns: string[] }>(
    `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
       from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      group by c.relname order by c.relname`,
  );
  const { rows: references } = await client.query<{ referring: string; referred: string }>(
    `select f.relname as referring, t.relname as referred
       from pg_constraint k join pg_class f on f.oid = k.conrelid join pg_class t on t.oid = k.confrelid
      where k.contype = 'f' and k.connamespace = 'public'::regnamespace and k.conrelid <> k.confrelid`,
  );
  const left = columns.filter(({ name }) => !staying.has(name));
  const ordered: MovedTable[] = [];
  while (left.length > 0) {
    const waits = (name: string): boolean =>
      references.some(({ referring, referred }) => referring === name && left.some((table) => table.name === referred));
    const index = left.findIndex(({ name }) => !waits(name));
    if (index < 0) throw new Error(`tables refer to each other in a circle: ${left.map(({ name }) => name).join(', ')}`);
    ordered.push(...left.splice(index, 1));
  }
  return ordered;
}

function target({ name, columns }: MovedTable): string {
  return `${escapeIdentifier(name)} (${columns.map((column) => escapeIdentifier(column)).join(', ')})`;
}

/** An empty database that receives the rows of an export in one transaction: all of them or none. */
export interface ImportTarget {
  /** Writes rows in the format of `Snapshot.rows`. Returns their number. */
  fill(table: MovedTable, rows: AsyncIterable<Buffer>): Promise<number>;
  /** Runs statements on the imported rows, then commits everything. */
  commit(statements: readonly string[]): Promise<void>;
  /** Rolls everything back unless it was committed, and closes the connection. */
  close(): Promise<void>;
}

/**
 * Opens the database of a new instance for an import. Fails with INSTANCE_NOT_EMPTY if it has records, or with
 * INSTANCE_IN_USE if its server is running. Its triggers are disabled during the import, because the imported changes
 * were recorded at the source.
 */
export async function openImport(connectionString: string): Promise<ImportTarget> {
  const connection = await openConnection(connectionString, 'davit import');
  const { client } = connection;
  try {
    await refuseRunning(client);
    await client.query('BEGIN');
    const tables = await readTables(client);
    for (const { name } of tables) {
      await client.query(`lock table ${escapeIdentifier(name)} in access exclusive mode`);
      await refuseFilled(client, name);
      await client.query(`alter table ${escapeIdentifier(name)} disable trigger user`);
    }
    await client.query('delete from installation');
    return importOf(connection, tables);
  } catch (error) {
    await connection.close();
    throw toFailure(error);
  }
}

function importOf(connection: DedicatedConnection, tables: readonly MovedTable[]): ImportTarget {
  const { client } = connection;
  return {
    fill: async (table, rows) => {
      const known = tables.find(({ name }) => name === table.name);
      const missing = known === undefined ? [table.name] : table.columns.filter((column) => !known.columns.includes(column));
      if (missing.length > 0) throw new Error(`the database has no ${table.name} with ${missing.join(', ')}`);
      const copy = client.query(from(`COPY ${target(table)} FROM STDIN`));
      try {
        await pipeline(rows, copy);
      } catch (error) {
        throw toFailure(error);
      }
      return copy.rowCount;
    },
    commit: async (statements) => {
      try {
        // The statements write rows that are newer than all imported rows, so their numbers must be higher.
        for (const { name } of tables) await advanceSequences(client, name);
        for (const text of statements) await client.query(text);
        for (const { name } of tables) await client.query(`alter table ${escapeIdentifier(name)} enable trigger user`);
        await client.query('COMMIT');
      } catch (error) {
        throw toFailure(error);
      }
    },
    close: () => connection.close(),
  };
}

async function refuseRunning(client: Client): Promise<void> {
  const { rows } = await client.query<{ application: string }>(
    `select application_name as application from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name like 'davit%'`,
  );
  const [first] = rows;
  if (first === undefined) return;
  throw new AppError({
    code: 'INSTANCE_IN_USE',
    message: `this database is in use (by ${first.application}). Stop davit serve, and import into an instance of its own.`,
  });
}

async function refuseFilled(client: Client, name: string): Promise<void> {
  // The table's single row is created with the schema.
  if (name === 'installation') return;
  const { rowCount } = await client.query(`select from ${escapeIdentifier(name)} limit 1`);
  if (rowCount === 0) return;
  throw new AppError({
    code: 'INSTANCE_NOT_EMPTY',
    message: `this instance has records already (${name}). Import into one that was never started: set DAVIT_HOME to a new folder, or DATABASE_URL to an empty database.`,
  });
}

/** Advances the sequences of a table to the highest imported number. */
async function advanceSequences(client: Client, table: string): Promise<void> {
  const { rows } = await client.query<{ column: string }>(
    `select attname as column from pg_attribute where attrelid = $1::regclass and attidentity <> ''`,
    [`public.${escapeIdentifier(table)}`],
  );
  for (const { column } of rows) {
    await client.query(
      `select setval(pg_get_serial_sequence($1, $2), max(${escapeIdentifier(column)})) from ${escapeIdentifier(table)} having count(*) > 0`,
      [`public.${escapeIdentifier(table)}`, column],
    );
  }
}
