import { statement, type Database } from '../../packages/db/src/index.ts';

const installationId = statement<{ id: string }>('e2e_installation', 'SELECT id FROM installation');

/** Returns the installation id with which a server labels its objects. */
export async function installationOf(database: Database): Promise<string> {
  return (await database.one(installationId)).id;
}
