// A public generator makes the folder hey-api from packages/contract/generated/openapi.json, beside a copy of this file.
import { client } from './hey-api/client.gen.ts';
import * as api from './hey-api/sdk.gen.ts';
import type { ProjectRequest } from './hey-api/types.gen.ts';

/* An environment with a container, by functions of a public generator that take one object each. */

const [baseUrl, token] = process.argv.slice(2);
if (baseUrl === undefined || token === undefined) throw new Error('usage: hey-api.mts URL TOKEN');
client.setConfig({ baseUrl, headers: { authorization: `Token ${token}` } });

const expectEqual = (found: unknown, expected: unknown): void => {
  if (found !== expected) throw new Error(`${String(found)} instead of ${String(expected)}`);
};

const throwOnError = true;
const ofOrganization = await api.createOrganization({ body: { name: 'by objects', plan: 'TEAM_2025' }, throwOnError });
const organizationId = ofOrganization.data.id;
const body: ProjectRequest = { name: 'shop' };
const { data: project } = await api.createProject({ path: { organizationId }, body, throwOnError });
const inProject = { path: { projectId: project.id }, throwOnError } as const;
const { data: environment } = await api.createEnvironment({ ...inProject, body: { name: 'live', mode: 'PRODUCTION' } });
const inEnvironment = { path: { environmentId: environment.id }, throwOnError } as const;
const { data: environments } = await api.listEnvironment(inProject);
expectEqual(environments.results.map(({ name }) => name).join(), 'live');

const { data: registries } = await api.listContainerRegistry({ path: { organizationId }, throwOnError });
const { data: registry = registries.results[0] } = await api.createContainerRegistry({
  path: { organizationId },
  body: { name: 'own', kind: 'GENERIC_CR', url: 'https://registry.example.org', config: {} },
});
const image = { registry_id: registry?.id ?? '', image_name: 'shop/web', tag: '1.0', healthchecks: {} };
const { data: container } = await api.createContainer({ ...inEnvironment, body: { name: 'web', ...image } });
expectEqual(container.image_name, 'shop/web');
const { data: status } = await api.getContainerStatus({ path: { containerId: container.id }, throwOnError });
expectEqual(status.service_deployment_status, 'NEVER_DEPLOYED');

const taken = await api.createProject({ path: { organizationId }, body });
expectEqual(taken.error?.code, 'NAME_TAKEN');

await api.deleteEnvironment(inEnvironment);
await api.deleteProject(inProject);
expectEqual((await api.getProject({ path: { projectId: project.id } })).response?.status, 404);
await api.deleteOrganization({ path: { organizationId }, throwOnError });
console.log('done');
