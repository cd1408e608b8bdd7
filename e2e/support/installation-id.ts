import { statement, type Database } from '../../packages/db/src/index.ts';

const installationId = statement<{ id: string }>('e2eInstallation', 'SELECT id FROM installation');

/** What a server labels its things with. */
export async function installationOf(database: Database): Promise<string> {
  return (await database.one(installationId)).id;
}
