// A public generator makes orval.ts from packages/contract/generated/openapi.json, beside a copy of this file.
import * as api from './orval.ts';

/* A database and its plan, by functions of a public generator whose answers differ by their status. */

const [, token] = process.argv.slice(2);
if (token === undefined) throw new Error('usage: orval.mts URL TOKEN');
const options = { headers: { authorization: `Token ${token}` } };

const expectEqual = (found: unknown, expected: unknown): void => {
  if (found !== expected) throw new Error(`${String(found)} instead of ${String(expected)}`);
};
/** Returns the body of an answer with the status. Its type depends on the status. */
const bodyOf = <Answer extends { status: number; data: unknown }, Status extends Answer['status']>(
  answer: Answer,
  status: Status,
): Extract<Answer, { status: Status }>['data'] => {
  expectEqual(answer.status, status);
  return answer.data;
};

const named: api.OrganizationRequest = { name: 'by status', plan: 'TEAM_2025' };
const organization = bodyOf(await api.createOrganization(named, options), 201);
const project = bodyOf(await api.createProject(organization.id, { name: 'shop' }, options), 200);
const environment = bodyOf(await api.createEnvironment(project.id, { name: 'live' }, options), 201);
const { results: types } = bodyOf(await api.listEnvironmentDatabaseConfig(environment.id, {}, options), 200);
const version = types.find(({ database_type: type }) => type === 'POSTGRESQL')?.version?.at(-1)?.name;
if (version === undefined) throw new Error('no version of PostgreSQL');

const request: api.DatabaseRequest = { name: 'orders', type: 'POSTGRESQL', version, mode: 'CONTAINER', storage: 10 };
const database = bodyOf(await api.createDatabase(environment.id, request, options), 201);
expectEqual(database.type, 'POSTGRESQL');
const edited = bodyOf(await api.editDatabase(database.id, { memory: 512 }, options), 200);
expectEqual(edited.memory, 512);
const plan = await api.deployDatabase(database.id, undefined, { dry_run: true }, options);
expectEqual(plan.status, 202);

const taken = bodyOf(await api.createDatabase(environment.id, request, options), 409);
expectEqual(taken.code, 'NAME_TAKEN');

expectEqual((await api.deleteDatabase(database.id, options)).status, 204);
expectEqual((await api.deleteEnvironment(environment.id, options)).status, 204);
expectEqual((await api.deleteProject(project.id, options)).status, 204);
expectEqual((await api.getProject(project.id, options)).status, 404);
expectEqual((await api.deleteOrganization(organization.id, options)).status, 204);
console.log('done');
