import createClient from 'openapi-fetch';
// A public generator makes openapi-typescript.ts from packages/contract/generated/openapi.json, beside a copy of this file.
import type { components, paths } from './openapi-typescript.ts';

/* A project with variables, by paths: types of a public generator, and a small client that knows them. */

const [baseUrl, token] = process.argv.slice(2);
if (baseUrl === undefined || token === undefined) throw new Error('usage: openapi-typescript.mts URL TOKEN');
const client = createClient<paths>({ baseUrl, headers: { authorization: `Token ${token}` } });

const expectEqual = (found: unknown, expected: unknown): void => {
  if (found !== expected) throw new Error(`${String(found)} instead of ${String(expected)}`);
};
/** Returns the body of an answer that is no error. */
const ok = <Data,>({ data, error }: { data?: Data; error?: { message: string } }): Data => {
  if (data === undefined) throw new Error(error?.message ?? 'an answer without a body');
  return data;
};

const organization = ok(await client.POST('/organization', { body: { name: 'by paths', plan: 'TEAM_2025' } }));
const ofOrganization = { params: { path: { organizationId: organization.id } } };
const body: components['schemas']['ProjectRequest'] = { name: 'shop', description: 'sells' };
const project = ok(await client.POST('/organization/{organizationId}/project', { ...ofOrganization, body }));
const ofProject = { params: { path: { projectId: project.id } } };
expectEqual(project.organization.id, organization.id);

const color = { key: 'COLOR', value: 'red' };
const variable = ok(await client.POST('/project/{projectId}/environmentVariable', { ...ofProject, body: color }));
expectEqual(variable.scope, 'PROJECT');
const page = { ...ofProject.params, query: { pageSize: 100 } };
const variables = ok(await client.GET('/project/{projectId}/environmentVariable', { params: page }));
expectEqual(variables.results.find(({ id }) => id === variable.id)?.value, 'red');

const taken = await client.POST('/organization/{organizationId}/project', { ...ofOrganization, body });
expectEqual(taken.response.status, 409);
expectEqual(taken.error?.code, 'NAME_TAKEN');

expectEqual((await client.DELETE('/project/{projectId}', ofProject)).response.status, 204);
expectEqual((await client.GET('/project/{projectId}', ofProject)).response.status, 404);
expectEqual((await client.DELETE('/organization/{organizationId}', ofOrganization)).response.status, 204);
console.log('done');
