import { createHash, randomUUID } from 'node:crypto';
import { migrate, migrationsFolder, openDatabase, readMigrations, type Database } from '@davit/db';
import { Client, escapeIdentifier } from 'pg';
import { testDatabaseVariable } from './global-database.ts';

export interface TestDatabase {
  readonly connectionString: string;
  /** An open pool of up to ten connections; `drop` closes it. */
  readonly database: Database;
  /** Drops the database, even if clients are still connected. */
  drop(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** Whether the database has the schema. If false, the database is empty, for tests of migrations. Default: true. */
  readonly isMigrated?: boolean;
}

const templatePrefix = 'davit_template_';
const testPrefix = 'davit_test_';

/**
 * Creates a separate database for a test file, with the schema of the migrations. It is a copy of a template, which the
 * first caller of a run creates. Takes about 60 ms. Requires the global setup of the projects `db` and `engine`.
 */
export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const server = serverAddress();
  const name = `${testPrefix}${randomUUID().replaceAll('-', '')}`;
  const template = options.isMigrated === false ? 'template0' : await ensureTemplate(server);
  // Copies the files: copying block by block through the log takes twice as long.
  const copy = `create database ${escapeIdentifier(name)} template ${escapeIdentifier(template)} strategy file_copy`;
  await withClient(server, (client) => client.query(copy));
  const connectionString = databaseAddress(server, name);
  // The database gets its own installation id: tests that share an engine must not mistake each other's containers and
  // volumes for their own.
  if (options.isMigrated !== false) {
    await withClient(connectionString, (client) => client.query('update installation set id = gen_random_uuid()'));
  }
  const database = openDatabase({ connectionString, applicationName: 'davit test', maximumConnections: 10 });
  return {
    connectionString,
    database,
    drop: async () => {
      await database.close();
      await withClient(server, (client) => client.query(`drop database ${escapeIdentifier(name)} with (force)`));
    },
  };
}

/** Returns the address of the test run's server, with a user that may create databases. */
export function serverAddress(): string {
  const address = process.env[testDatabaseVariable];
  if (address === undefined) {
    throw new Error(`${testDatabaseVariable} is not set: name the file *.db.test.ts or *.engine.test.ts, and run it with vitest`);
  }
  return address;
}

/** Returns the address of another database on the same server. */
export function databaseAddress(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

// Uses one template per text of the migrations, so that a changed schema never uses an old template.
async function ensureTemplate(server: string): Promise<string> {
  const template = `${templatePrefix}${await schemaHash()}`;
  await withClient(server, async (client) => {
    if (await databaseExists(client, template)) return;
    await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [templatePrefix]);
    if (await databaseExists(client, template)) return;
    await dropOldTemplates(client);
    // The template is renamed when complete, so that a run that is killed meanwhile leaves no incomplete template
    // behind.
    const unfinished = `${templatePrefix}unfinished`;
    await client.query(`create database ${unfinished} template template0`);
    await migrate({ connectionString: databaseAddress(server, unfinished) });
    await client.query(`alter database ${unfinished} rename to ${escapeIdentifier(template)}`);
  });
  return template;
}

let knownHash: Promise<string> | undefined;

function schemaHash(): Promise<string> {
  return (knownHash ??= readSchemaHash());
}

async function readSchemaHash(): Promise<string> {
  const hash = createHash('sha256');
  for (const { sha256 } of await readMigrations(migrationsFolder)) hash.update(sha256);
  return hash.digest('hex').slice(0, 16);
}

async function databaseExists(client: Client, name: string): Promise<boolean> {
  const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
  return rowCount === 1;
}

async function dropOldTemplates(client: Client): Promise<void> {
  const { rows } = await client.query<{ datname: string }>('select datname from pg_database where starts_with(datname, $1)', [
    templatePrefix,
  ]);
  for (const { datname } of rows) await client.query(`drop database ${escapeIdentifier(datname)} with (force)`);
}

async function withClient<Result>(address: string, action: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: address });
  await client.connect();
  try {
    return await action(client);
  } finally {
    await client.end();
  }
}
