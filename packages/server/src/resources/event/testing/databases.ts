import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { keyed, named, type Ids, type Recipe, type Recipes, type EventFixture } from './fixture.ts';

/*
 * Calls that change data of databases other than their record. Nothing runs here: the tests write what an engine would
 * have done.
 */

/** Parameter: id of a database. */
export const databaseRuns = statement(
  'test_database_runs',
  `insert into service_runtime (service_id, organization_id, project_id, environment_id, driver, desired)
   select id, organization_id, project_id, environment_id, 'docker', 'RUNNING' from service where id = $1
   on conflict (service_id) do nothing`,
);
/** Parameter: id of a backup. */
export const backupIsGood = statement(
  'test_backup_is_good',
  `update database_backup set status = 'GOOD', proven_at = clock_timestamp(), finished_at = clock_timestamp() where id = $1`,
);

async function running(fixture: EventFixture, ids: Ids): Promise<Ids> {
  await fixture.server.database.database.run(databaseRuns, [ids['databaseId']]);
  return ids;
}

const backup = (): object => ({ ...named(), message: 'before the migration' });

const withBackup: Recipe['ids'] = async (fixture) => {
  const ids = await running(fixture, await fixture.fresh());
  const backupId = await fixture.make(`/database/${ids['databaseId']}/backup`, backup());
  await fixture.server.database.database.run(backupIsGood, [backupId]);
  return { ...ids, backupId };
};

const connected: Recipe['ids'] = async (fixture) => {
  const { applicationId = '', environmentId = '', databaseId = '' } = fixture.here;
  const found = await fixture.server.client().call('listEnvironmentSecrets', { params: { environmentId } });
  const url = found.results.find(({ key, service_id }) => service_id === databaseId && key.endsWith('_DATABASE_URL'));
  await fixture.make(`/application/${applicationId}/secret/${url?.id}/alias`, { key: keyed().key });
  return { ...fixture.here, targetApplicationId: applicationId };
};

export const databaseRecipes = {
  addBackupDatabase: { ids: (fixture) => running(fixture, fixture.here), body: backup, event: 'CREATE DATABASE' },
  removeDatabaseBackup: { ids: withBackup, event: 'DELETE DATABASE' },
  restoreDatabase: {
    ids: withBackup,
    body: ({ backupId }) => ({ backup_id: backupId ?? randomUUID() }),
    event: 'UPDATE DATABASE',
  },
  removeApplicationFromDatabase: { ids: connected, event: 'DELETE APPLICATION SECRET' },
} satisfies Recipes;
