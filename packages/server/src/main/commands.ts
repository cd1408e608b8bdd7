import { migrate, openDatabase, type Database, type MigrationWait } from '@davit/db';
import { listRestrictions, restrict } from '../resources/organization/index.ts';
import { createAdminToken, listAdminTokens, revokeAdminTokens } from '../resources/token/index.ts';
import type { Configuration } from '../configuration.ts';
import { openState } from './state.ts';

/** Prints a text; returns the exit code 0. */
export type Print = (text: string) => number;

function reportWait({ migration, holders }: MigrationWait): void {
  process.stderr.write(
    `davit: ${migration} waits for a lock; it may be held by: ${holders.join(', ') || 'no session any more'}\n`,
  );
}

async function withState<Result>(config: Configuration, action: (connectionString: string) => Promise<Result>): Promise<Result> {
  const state = await openState(config, (message) => process.stderr.write(`davit: ${message}\n`));
  try {
    return await action(state.connectionString);
  } finally {
    await state.close();
  }
}

/** Runs an action with the database, whose schema is brought to this version first. */
export function withDatabase<Result>(config: Configuration, action: (database: Database) => Promise<Result>): Promise<Result> {
  return withState(config, async (connectionString) => {
    await migrate({ connectionString, onWaiting: reportWait });
    const database = openDatabase({ connectionString, applicationName: 'davit command', maximumConnections: 2 });
    try {
      return await action(database);
    } finally {
      await database.close();
    }
  });
}

export function migrateCommand(config: Configuration, print: Print): Promise<number> {
  return withState(config, async (connectionString) => {
    const { applied, current } = await migrate({ connectionString, onWaiting: reportWait });
    return print(applied.length === 0 ? `nothing to do: the schema is at ${current}` : `applied ${applied.join(', ')}`);
  });
}

export function createToken(
  config: Configuration,
  { name, expiresAt }: { readonly name: string; readonly expiresAt: string | null },
  print: Print,
): Promise<number> {
  return withDatabase(config, async (database) => print(await createAdminToken(database, name, expiresAt)));
}

export function listTokens(config: Configuration, print: Print): Promise<number> {
  return withDatabase(config, async (database) => {
    const rows = await listAdminTokens(database);
    return print(
      rows.map((row) => `${row.id}  ${row.name}  created ${row.created_at}  expires ${row.expires_at ?? 'never'}\n`).join('') ||
        'there are none\n',
    );
  });
}

export function revokeToken(config: Configuration, idOrName: string, print: Print): Promise<number> {
  return withDatabase(config, async (database) => {
    const count = await revokeAdminTokens(database, idOrName);
    if (count > 0) return print(`revoked ${count}`);
    process.stderr.write(`davit: there is no administrator's token ${JSON.stringify(idOrName)}\n`);
    return 1;
  });
}

export function listOrganizations(config: Configuration, print: Print): Promise<number> {
  return withDatabase(config, async (database) => {
    const rows = await listRestrictions(database);
    const lines = rows.map((row) => `${row.id}  ${row.name}  ${row.billing_deployment_restriction ?? 'not restricted'}\n`);
    return print(lines.join('') || 'there are none\n');
  });
}

/** Sets the restriction of an organization; null removes it. */
export function restrictOrganization(
  config: Configuration,
  { idOrName, restriction }: { readonly idOrName: string; readonly restriction: string | null },
  print: Print,
): Promise<number> {
  return withDatabase(config, async (database) => {
    const row = await restrict(database, idOrName, restriction);
    if (row !== undefined) return print(`${row.name}: ${row.billing_deployment_restriction ?? 'not restricted'}`);
    process.stderr.write(`davit: there is no organization ${JSON.stringify(idOrName)}; davit organization list shows them\n`);
    return 1;
  });
}
