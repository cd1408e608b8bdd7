import { Client } from 'pg';
import { startDavit, type Davit } from '../davit.ts';
import { startFloor, type Floor } from '../floors/start.ts';
import type { PlannedRequest } from '../load/plan.ts';
import type { Place } from '../place.ts';

/**
 * A Davit server with some records, and the floor program, which works on copies of their tables in the same database.
 */
export interface Records {
  readonly davit: Davit;
  readonly floor: Floor;
  readonly floorPort: number;
  readonly organizationId: string;
  readonly environmentId: string;
  readonly projectIds: readonly string[];
  readonly applicationIds: readonly string[];
}

const opened = new WeakMap<Place, Promise<Records>>();
// One connection for each client of the load, which is fastest here: 20 are a sixth slower, 10 a third.
const floorConnections = '32';
// The default with Davit's embedded database, which most installations use.
const davitConnections = '32';

/** Opened once per run. */
export function openRecords(location: Place): Promise<Records> {
  const known = opened.get(location) ?? makeRecords(location);
  opened.set(location, known);
  return known;
}

async function makeRecords(location: Place): Promise<Records> {
  const address = await location.database('records');
  const davit = await startDavit(location, {
    name: 'records',
    databaseUrl: address,
    environment: { DAVIT_DATABASE_CONNECTIONS: davitConnections },
  });
  location.onEnd(() => davit.stop());
  return addRecords(location, address, davit);
}

/**
 * Adds records to a Davit server on the database with this URL, whatever the database contains, and starts a floor
 * program.
 */
export async function addRecords(location: Place, address: string, davit: Davit): Promise<Records> {
  const { client } = davit;
  const { id: organizationId } = await client.call('createOrganization', { body: { name: 'Shipyard' } });
  const projectIds: string[] = [];
  for (let index = 0; index < 100; index += 1) {
    const body = { name: `project ${index}`, description: 'One of a hundred that are read in turns.' };
    projectIds.push((await client.call('createProject', { params: { organizationId }, body })).id);
  }
  const params = { projectId: projectIds[0] ?? '' };
  const { id: environmentId } = await client.call('createEnvironment', { params, body: { name: 'production' } });
  const applicationIds: string[] = [];
  for (let index = 0; index < 100; index += 1) {
    const body = { ...applicationBody, name: `application ${index}` };
    applicationIds.push((await client.call('createApplication', { params: { environmentId }, body })).id);
  }
  await copyTables(address);
  const floor = await startFloor('records', [address, floorConnections]);
  location.onEnd(() => floor.stop());
  return { davit, floor, floorPort: Number(floor.greeting), organizationId, environmentId, projectIds, applicationIds };
}

/** The request body that creates an application: only the fields that a user sends. */
export const applicationBody = {
  name: 'application ########',
  git_repository: { url: 'https://git.example.org/shop/front.git', branch: 'main', root_path: '/' },
  build_mode: 'DOCKER' as const,
  dockerfile_path: 'Dockerfile',
  ports: [{ internal_port: 8080, publicly_accessible: false, protocol: 'HTTP' as const, name: 'http' }],
  healthchecks: {},
};

// The copies have the indexes but not the foreign keys: the floor pays for finding a record and for unique names.
async function copyTables(address: string): Promise<void> {
  const sql = new Client({ connectionString: address });
  await sql.connect();
  await sql.query(`
    drop schema if exists floor cascade;
    create schema floor;
    create table floor.project (like public.project including all);
    create table floor.service (like public.service including all);
    insert into floor.project select * from public.project;
    insert into floor.service select * from public.service;`);
  await sql.end();
}

/** One GET of each. */
export function reads(kind: string, ids: readonly string[], headers: PlannedRequest['headers']): PlannedRequest[] {
  return ids.map((id) => ({ method: 'GET', path: `/${kind}/${id}`, headers }));
}
