import { stat } from 'node:fs/promises';
import path from 'node:path';
import { isAppError, messageOf } from '@davit/base';
import { heldSessionLocks, migrationsFolder, openDatabase, readMigrations, statement, type Database } from '@davit/db';
import { openVault, readKeys } from '../../secrets/keys.ts';
import type { Configuration } from '../../configuration.ts';
import { openState, serveLockName } from '../state.ts';
import { lookAtCertificates } from './certificates.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

const minVersion = 15;

const serverRead = statement<{ version: string; number: number; is_new: boolean; name: string }>(
  'doctor_server',
  `select version() as version, current_setting('server_version_num')::int as number,
          to_regclass('public.davit_migration') is null as is_new, current_database() as name`,
);
const appliedRead = statement<{ number: number; name: string; sha256: string; needs: number }>(
  'doctor_applied',
  // The column is missing until a program version that has it was started.
  `select number, name, sha256, coalesce((to_jsonb(davit_migration) ->> 'needs')::integer, 0) as needs
     from davit_migration order by number`,
);
const sealedRead = statement<{ is_sealed: boolean }>(
  'doctor_sealed',
  'select secret_key_check is not null as is_sealed from installation',
);
const waitingRead = statement<{ waiting: number; runners: readonly string[] }>(
  'doctor_waiting',
  `select (select count(*)::int from deployment where status in ('QUEUED', 'RUNNING')) as waiting,
          (select coalesce(array_agg('runner ' || id), '{}') from runner) as runners`,
);

/** The state of the instance in the database, for the other checks. */
export interface DatabaseState {
  /** Whether a server of this state folder is running. */
  readonly isServing: boolean;
}

/** Checks the database without changing anything: an outdated schema is migrated by the next start. */
export async function lookAtDatabase(config: Configuration, report: (state: DatabaseState) => void): Promise<Finding[]> {
  const location = config.databaseUrl === null ? 'the embedded database' : 'the database of DATABASE_URL';
  if (config.databaseUrl === null && !(await hasEmbedded(config)))
    return [ok('none yet: the first start creates the embedded one')];
  let state: Awaited<ReturnType<typeof openState>>;
  try {
    state = await openState(config, () => undefined);
  } catch (error) {
    if (!isAppError(error)) throw error;
    return [fail(error.message, 'The log of the embedded database is postgres/log in the state folder.')];
  }
  const options = { connectionString: state.connectionString, applicationName: 'davit doctor', maximumConnections: 1 };
  const database = openDatabase(options);
  try {
    report({ isServing: (await heldSessionLocks(database, [await serveLockName(config)])).size > 0 });
    return await findings(config, database);
  } catch (error) {
    const advice = 'Start it, and check host, port, user, password and name in DATABASE_URL.';
    return [
      fail(`${location} does not answer: ${messageOf(error)}`, config.databaseUrl === null ? 'Start davit serve.' : advice),
    ];
  } finally {
    await database.close();
    await state.close();
  }
}

/** Returns whether the embedded database exists. Opening it would create it. */
async function hasEmbedded({ stateFolder }: Configuration): Promise<boolean> {
  const looks = ['postgres', 'postgres-place'].map((name) => stat(path.join(stateFolder, name)).catch(() => null));
  return (await Promise.all(looks)).some((found) => found !== null);
}

async function findings(config: Configuration, database: Database): Promise<Finding[]> {
  const { version, number, is_new } = await database.one(serverRead);
  const words = version.split(' on ')[0] ?? version;
  if (number < minVersion * 10_000) {
    return [fail(`${words} is too old`, `Use PostgreSQL ${minVersion} or later.`)];
  }
  if (is_new) return [ok(`${words}, empty: the first start creates the schema`)];
  return [
    await schema(database, words),
    await secretKey(config, database),
    await queue(database),
    ...(await lookAtCertificates(config, database)),
  ];
}

async function schema(database: Database, words: string): Promise<Finding> {
  const own = await readMigrations(migrationsFolder);
  const applied = await database.many(appliedRead);
  const tooNew = applied.find(({ needs }) => needs > own.length);
  if (tooNew !== undefined) {
    return fail(
      `it was used by a newer version of Davit: it has migration ${tooNew.name}`,
      'Start that version or a later one, or restore a backup made before the upgrade.',
    );
  }
  const foreign = applied.find((row) => row.number <= own.length && own[row.number - 1]?.sha256 !== row.sha256);
  if (foreign !== undefined) {
    return fail(`migration ${foreign.name} was applied with another text`, 'Use an unmodified release of Davit.');
  }
  const missing = own.length - applied.length;
  if (missing < 0) return ok(`${words}, schema ${applied.length} of a newer version, which this one supports`);
  if (missing === 0) return ok(`${words}, schema ${own.length}`);
  return warn(`${words}, ${missing} migrations behind`, 'The next start applies them; make an export first.');
}

/** Checks the key without creating the key file: a new file must not hide that the old one is lost. */
async function secretKey(config: Configuration, database: Database): Promise<Finding> {
  const { is_sealed } = await database.one(sealedRead);
  if (!is_sealed) return ok('no secret is stored yet');
  const file = path.join(config.stateFolder, 'secret-key');
  if (config.secretKey === null && (await stat(file).catch(() => null)) === null) {
    return fail(
      `${file} is missing: secrets cannot be read`,
      'Put back the file that belongs to this database, or set DAVIT_SECRET_KEY.',
    );
  }
  try {
    await openVault(database, await readKeys(config.stateFolder, config.secretKey));
    return ok('the secret key fits');
  } catch (error) {
    return fail(messageOf(error), 'docs/operate.md, "Secret key".');
  }
}

async function queue(database: Database): Promise<Finding> {
  const { waiting, runners } = await database.one(waitingRead);
  if (waiting === 0) return ok('no deployment waits');
  const alive = await heldSessionLocks(database, runners);
  if (alive.size > 0) return ok(`${waiting} deployments wait or are under way`);
  return warn(`${waiting} deployments wait, and no worker is running`, 'Start davit serve with DAVIT_ROLE all or worker.');
}
