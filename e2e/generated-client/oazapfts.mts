import { ok } from '@oazapfts/runtime';
// A public generator makes oazapfts.ts from packages/contract/generated/openapi.json, beside a copy of this file.
import * as api from './oazapfts.ts';

/*
 * The first steps of a user with a client from a public generator: create, read, change and delete, using only its
 * types.
 */

const [baseUrl, token] = process.argv.slice(2);
if (baseUrl === undefined || token === undefined) throw new Error('usage: oazapfts.mts URL TOKEN');
api.defaults.baseUrl = baseUrl;
api.defaults.headers = { authorization: `Token ${token}` };

const expectEqual = (found: unknown, expected: unknown): void => {
  if (found !== expected) throw new Error(`${String(found)} instead of ${String(expected)}`);
};

const organization = await ok(api.createOrganization({ name: 'generated', plan: 'TEAM_2025' }));
const project = await ok(api.createProject(organization.id, { name: 'shop', description: 'sells' }));
expectEqual(project.organization.id, organization.id);
const environment = await ok(api.createEnvironment(project.id, { name: 'live', mode: 'PRODUCTION' }));
const application = await ok(
  api.createApplication(environment.id, {
    name: 'web',
    git_repository: { url: 'https://git.example.org/shop/web.git', branch: 'main' },
    build_mode: 'DOCKER',
    dockerfile_path: 'Dockerfile',
    ports: [{ internal_port: 8080, publicly_accessible: true, protocol: 'HTTP' }],
    healthchecks: { readiness_probe: { type: { http: { path: '/', port: 8080 } }, period_seconds: 5 } },
  }),
);
expectEqual(application.ports?.[0]?.internal_port, 8080);

const variable = await ok(api.createApplicationEnvironmentVariable(application.id, { key: 'COLOR', value: 'red' }));
const variables = await ok(api.listApplicationEnvironmentVariable(application.id));
expectEqual(variables.results.find(({ id }) => id === variable.id)?.value, 'red');

const edited = await ok(api.editApplication(application.id, { name: 'site', cpu: 250 }));
expectEqual(edited.cpu, 250);
expectEqual((await ok(api.getApplication(application.id))).name, 'site');
expectEqual((await ok(api.getApplicationStatus(application.id))).service_deployment_status, 'NEVER_DEPLOYED');

// The type of an error depends on its status.
const taken = await api.createProject(organization.id, { name: 'Shop' });
expectEqual(taken.status, 409);
if (taken.status === 409) expectEqual(taken.data.code, 'NAME_TAKEN');

await ok(api.deleteApplicationEnvironmentVariable(application.id, variable.id));
await ok(api.deleteApplication(application.id));
expectEqual((await api.getApplication(application.id)).status, 404);
await ok(api.deleteEnvironment(environment.id));
await ok(api.deleteProject(project.id));
await ok(api.deleteOrganization(organization.id));
console.log('done');
