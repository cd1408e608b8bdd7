import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@davit/client';
import type { Cli } from '../cli.ts';
import { command, flags, locationAliases, locationFlags } from '../command.ts';
import { CliError, exitCodes, misused } from '../errors.ts';
import { announce } from '../follow.ts';
import { ago, duration, phrase, size, table } from '../output/text.ts';
import { findService, openSite, type LocationFlags, type ServiceReference, type Site } from '../location.ts';

const aDatabase = { name: 'database', brief: 'The database. Default: that of this folder', count: 'optional' } as const;
const pollMilliseconds = 500;

async function findDatabase(cli: Cli, site: Site, name: string | undefined): Promise<ServiceReference> {
  const service = await findService(cli, site, name);
  if (service.type !== 'DATABASE') throw misused(`${service.name} is not a database.`);
  return service;
}

async function readBackups(client: Client, databaseId: string) {
  return (await client.call('listDatabaseBackup', { params: { databaseId } })).results;
}

export const backup = command<LocationFlags & { readonly name?: string; readonly list: boolean; readonly detach: boolean }>({
  brief: 'Make a backup of a database, and prove it by a test restore; or list the backups',
  examples: [
    ['orders', 'make one, and wait until it is proven'],
    ['orders --list', 'list those that there are'],
  ],
  flags: {
    ...locationFlags,
    name: flags.text('The name of the backup', 'name'),
    list: flags.flag('List the newest backups instead'),
    detach: flags.flag('Do not wait; print its id'),
  },
  aliases: locationAliases,
  arguments: [aDatabase],
  run: async (cli, given, [name]) => {
    const site = await openSite(cli, given);
    const database = await findDatabase(cli, site, name);
    if (given.list) return list(cli, site, database, given);
    announce(cli, site.location);
    const params = { databaseId: database.id };
    const title = given.name ?? `by hand ${new Date(cli.now()).toISOString().slice(0, 19)}`;
    const begun = performance.now();
    const made = await site.client.call('addBackupDatabase', { params, body: { name: title, message: '' } });
    if (given.detach) return cli.out.data(made.id);
    cli.out.talk(`  Waiting until the backup of ${database.name} is made and proven.`);
    const end = await poll(async () => {
      const found = (await readBackups(site.client, database.id)).find(({ id }) => id === made.id);
      if (found === undefined) throw new CliError('The backup was deleted.');
      return found.backup_state === 'GOOD' || found.backup_state === 'FAILED' ? found : null;
    });
    if (given.json) cli.out.json(end);
    if (end.backup_state === 'FAILED') throw failed('The backup failed', end.failure);
    if (!given.json) cli.out.data(end.id);
    const bytes = end.size_bytes === null ? '' : `, ${size(end.size_bytes)}`;
    cli.out.talk(`  ${cli.out.mark('ok')} Proven by a test restore${bytes}, ${duration(performance.now() - begun)}`);
  },
});

async function list(cli: Cli, site: Site, database: ServiceReference, given: LocationFlags): Promise<void> {
  const all = await readBackups(site.client, database.id);
  if (given.json) return cli.out.json({ results: all });
  if (given.quiet) return all.forEach(({ id }) => cli.out.data(id));
  const rows = all.map((one) => [
    one.id,
    phrase(one.backup_state),
    ago(one.created_at, cli.now()),
    one.size_bytes === null ? '' : size(one.size_bytes),
    phrase(one.kind),
    one.name,
  ]);
  const columns = ['ID', 'STATE', 'WHEN', 'SIZE', 'KIND', 'NAME'].map((title) => ({ title, cutFirst: title === 'NAME' ? 1 : 0 }));
  for (const line of table(columns, rows, cli.out.dataColumns)) cli.out.data(line);
}

export const restore = command<LocationFlags & { readonly backup?: string; readonly yes: boolean }>({
  brief: 'Replace all data of a database by a backup; a safety backup is made before',
  examples: [
    ['orders', 'restore the newest good backup, after a question'],
    ['orders --backup 0a1b2c3d-… --yes', 'restore a certain one, without a question'],
  ],
  flags: {
    ...locationFlags,
    backup: flags.text('The id of the backup. Default: the newest good one', 'id'),
    yes: flags.flag('Do not ask'),
  },
  aliases: { ...locationAliases, y: 'yes' },
  arguments: [aDatabase],
  run: async (cli, given, [name]) => {
    const site = await openSite(cli, given);
    const database = await findDatabase(cli, site, name);
    const good = (await readBackups(site.client, database.id)).find(({ backup_state: state }) => state === 'GOOD');
    const id = given.backup ?? good?.id;
    if (id === undefined)
      throw new CliError(`${database.name} has no good backup.`, { advice: [`davit database backup ${database.name}`] });
    announce(cli, site.location);
    const made = good?.id === id ? `, made ${ago(good.created_at, cli.now())}` : '';
    if (!given.yes) await cli.confirm(`Replace all data of ${database.name} by backup ${id}${made}?`, '--yes');
    const params = { databaseId: database.id };
    const begun = performance.now();
    const { id: restoreId } = await site.client.call('restoreDatabase', { params, body: { backup_id: id } });
    cli.out.talk('  Waiting until the data is restored.');
    const end = await poll(async () => {
      const { results } = await site.client.call('listDatabaseRestore', { params });
      const found = results.find((one) => one.id === restoreId);
      return found?.restore_state === 'SUCCEEDED' || found?.restore_state === 'FAILED' ? found : null;
    });
    if (given.json) cli.out.json(end);
    if (end.restore_state === 'FAILED') throw failed('The restore failed', end.failure);
    cli.out.talk(`  ${cli.out.mark('ok')} Restored, ${duration(performance.now() - begun)}`);
  },
});

interface Failed {
  readonly message: string;
  readonly hint: string;
  readonly code: string;
}

function failed(what: string, failure: Failed | null): CliError {
  const advice = failure === null ? [] : [failure.hint];
  const why = failure === null ? '.' : `: ${failure.message} (${failure.code})`;
  return new CliError(`${what}${why}`, { exitCode: exitCodes.deploymentFailed, advice });
}

/** Asks until there is an answer. The stream has no events of backups. */
async function poll<Result>(ask: () => Promise<Result | null>): Promise<Result> {
  for (;;) {
    const result = await ask();
    if (result !== null) return result;
    await pause(pollMilliseconds);
  }
}

const schemes: Readonly<Record<string, string>> = {
  POSTGRESQL: 'postgresql',
  MYSQL: 'mysql',
  MONGODB: 'mongodb',
  REDIS: 'redis',
};

export const url = command<LocationFlags & { readonly show: boolean }>({
  brief: 'Print the address of a database',
  details: 'Without --show the password is left out, as it would stay in the history of the terminal.',
  examples: [
    ['orders', 'where it is'],
    ['orders --show', 'with its password, for a client'],
  ],
  flags: { ...locationFlags, show: flags.flag('With the password') },
  aliases: locationAliases,
  arguments: [aDatabase],
  run: async (cli, given, [name]) => {
    const site = await openSite(cli, given);
    const database = await findDatabase(cli, site, name);
    const params = { databaseId: database.id };
    const [record, credentials] = await Promise.all([
      site.client.call('getDatabase', { params }),
      site.client.call('getDatabaseMasterCredentials', { params }),
    ]);
    const { host, port, login, password } = credentials;
    if (given.json) return cli.out.json(given.show ? credentials : { host, port, login });
    const user = login === '' ? '' : encodeURIComponent(login);
    const secret = given.show ? `:${encodeURIComponent(password)}` : '';
    const at = user === '' && secret === '' ? '' : `${user}${secret}@`;
    cli.out.data(`${schemes[record.type] ?? record.type.toLowerCase()}://${at}${host}:${port}`);
    if (record.accessibility === 'PRIVATE') cli.out.talk('  Only services of its environment reach it.');
  },
});
