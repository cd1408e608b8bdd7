import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { keyed, named, type Ids, type Recipe, type Recipes, type Scene } from './scene.ts';

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

async function running(scene: Scene, ids: Ids): Promise<Ids> {
  await scene.server.database.database.run(databaseRuns, [ids['databaseId']]);
  return ids;
}

const backup = (): object => ({ ...named(), message: 'before the migration' });

const withBackup: Recipe['ids'] = async (scene) => {
  const ids = await running(scene, await scene.fresh());
  const backupId = await scene.make(`/database/${ids['databaseId']}/backup`, backup());
  await scene.server.database.database.run(backupIsGood, [backupId]);
  return { ...ids, backupId };
};

const connected: Recipe['ids'] = async (scene) => {
  const { applicationId = '', environmentId = '', databaseId = '' } = scene.here;
  const found = await scene.server.client().call('listEnvironmentSecrets', { params: { environmentId } });
  const url = found.results.find(({ key, service_id }) => service_id === databaseId && key.endsWith('_DATABASE_URL'));
  await scene.make(`/application/${applicationId}/secret/${url?.id}/alias`, { key: keyed().key });
  return { ...scene.here, targetApplicationId: applicationId };
};

export const databaseRecipes = {
  addBackupDatabase: { ids: (scene) => running(scene, scene.here), body: backup, event: 'CREATE DATABASE' },
  removeDatabaseBackup: { ids: withBackup, event: 'DELETE DATABASE' },
  restoreDatabase: {
    ids: withBackup,
    body: ({ backupId }) => ({ backup_id: backupId ?? randomUUID() }),
    event: 'UPDATE DATABASE',
  },
  removeApplicationFromDatabase: { ids: connected, event: 'DELETE APPLICATION SECRET' },
} satisfies Recipes;
