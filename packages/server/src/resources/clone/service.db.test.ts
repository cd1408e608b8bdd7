import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { statement } from '@davit/db';
import { startTestServer, type TestOrganization, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';

let server: TestServer;
let owner: TestOrganization;
let api: Client;
let projectId: string;

beforeAll(async () => {
  server = await startTestServer();
  owner = await server.organization();
  api = server.client(owner.tokens.WRITE);
  projectId = (await api.call('createProject', { params: { organizationId: owner.id }, body: { name: 'shop' } })).id;
});
afterAll(() => server.close());

const secretsOf = statement<{ id: string }>('test_secrets_of', 'select id from secret_value where organization_id = $1');
const specOf = statement<{ spec: string }>('test_spec_of', 'select spec::text as spec from service where id = $1');
const git_repository = { url: 'https://git.example.org/acme/shop.git', branch: 'main' };
const of = (applicationId: string) => ({ params: { applicationId } });

async function environment(project = projectId): Promise<string> {
  return (await api.call('createEnvironment', { params: { projectId: project }, body: { name: `e ${randomUUID()}` } })).id;
}

async function application(environmentId: string, body: object = {}) {
  return api.call('createApplication', {
    params: { environmentId },
    body: { name: `a ${randomUUID()}`, dockerfile_path: 'Dockerfile', git_repository, ...body },
  });
}

function clone(id: string, environment_id: string, name = `copy ${randomUUID()}`) {
  return api.call('cloneApplication', { ...of(id), body: { name, environment_id } });
}

test('a copy in the same environment has all but the name, the ids and the host ports', async () => {
  const environmentId = await environment();
  const ports = [
    { internal_port: 80, publicly_accessible: true },
    { internal_port: 53, publicly_accessible: true, protocol: 'UDP' as const, external_port: 4438 },
  ];
  const storage = [{ type: 'FAST_SSD' as const, size: 1, mount_point: '/data' }];
  const web = await application(environmentId, { ports, storage, memory: 300 });
  const stage = await api.call('createEnvironmentDeploymentStage', { params: { environmentId }, body: { name: 'own' } });
  const attach = { params: { deploymentStageId: stage.id, serviceId: web.id }, body: { is_skipped: true } };
  await api.call('attachServiceToDeploymentStage', attach);
  const settings = { 'network.ingress.enable_cors': true };
  await api.call('editAdvancedSettings', { ...of(web.id), body: settings });
  const restriction = { mode: 'MATCH' as const, type: 'PATH' as const, value: 'src' };
  await api.call('createApplicationDeploymentRestriction', { ...of(web.id), body: restriction });
  const secret = await api.call('createApplicationSecret', { ...of(web.id), body: { key: 'TOKEN', value: 'sesame' } });
  await api.call('createApplicationSecretAlias', {
    params: { applicationId: web.id, secretId: secret.id },
    body: { key: 'PASS' },
  });
  const self = `http://app-z${web.id.slice(0, 8)}`;
  await api.call('createApplicationEnvironmentVariable', { ...of(web.id), body: { key: 'SELF', value: self } });

  const copy = await clone(web.id, environmentId, 'the copy');
  expect(copy).toMatchObject({ name: 'the copy', memory: 300, environment: { id: environmentId }, service_type: 'APPLICATION' });
  const idsOf = (one: typeof copy) => [one.id, ...(one.ports ?? []).map(({ id }) => id), ...one.storage.map(({ id }) => id)];
  expect(new Set([...idsOf(web), ...idsOf(copy)]).size).toBe(8);
  expect(copy.ports?.map(({ external_port }) => external_port)).toEqual([443, 4439]);
  expect(await api.call('getServiceDeploymentStage', { params: { serviceId: copy.id } })).toMatchObject({
    name: 'own',
    services: expect.arrayContaining([expect.objectContaining({ service_id: copy.id, is_skipped: true })]),
  });
  expect(await api.call('getAdvancedSettings', of(copy.id))).toMatchObject(settings);
  expect((await api.call('getApplicationDeploymentRestrictions', of(copy.id))).results).toMatchObject([restriction]);
  const secrets = (await api.call('listApplicationSecrets', of(copy.id))).results;
  expect(secrets.map(({ key }) => key)).toEqual(['TOKEN', 'PASS']);
  expect(secrets[1]?.aliased_secret?.id).toBe(secrets[0]?.id);
  const variables = (await api.call('listApplicationEnvironmentVariable', of(copy.id))).results;
  expect(variables.find(({ key }) => key === 'SELF')?.value).toBe(`http://app-z${copy.id.slice(0, 8)}`);
  expect(await api.call('getApplicationStatus', of(copy.id))).toMatchObject({ service_deployment_status: 'NEVER_DEPLOYED' });
});

test('a copy in another project points at the variables of the same key there, and goes into the stage of the same name', async () => {
  const environmentId = await environment();
  const project = await api.call('createProject', { params: { organizationId: owner.id }, body: { name: `p ${randomUUID()}` } });
  const other = await environment(project.id);
  const web = await application(environmentId);
  const wide = await api.call('createEnvironmentEnvironmentVariable', {
    params: { environmentId },
    body: { key: 'COLOUR', value: 'red' },
  });
  const alias = { params: { applicationId: web.id, environmentVariableId: wide.id }, body: { key: 'PAINT' } };
  await api.call('createApplicationEnvironmentVariableAlias', alias);
  await expect(clone(web.id, other)).rejects.toMatchObject({
    status: 400,
    code: 'INVALID_REFERENCE',
    errors: [{ path: 'environment_id', message: expect.stringContaining('COLOUR') }],
  });
  expect((await api.call('listApplication', { params: { environmentId: other } })).results).toEqual([]);
  const theirs = await api.call('createProjectEnvironmentVariable', {
    params: { projectId: project.id },
    body: { key: 'COLOUR', value: 'green' },
  });
  const copy = await clone(web.id, other, web.name);
  expect(copy).toMatchObject({ name: web.name, environment: { id: other } });
  const { results } = await api.call('listApplicationEnvironmentVariable', of(copy.id));
  expect(results.find(({ key }) => key === 'PAINT')?.aliased_variable).toMatchObject({ id: theirs.id, value: 'green' });
  const stage = await api.call('getServiceDeploymentStage', { params: { serviceId: copy.id } });
  expect(stage).toMatchObject({ name: 'APPLICATION DEFAULT', environment: { id: other } });
});

test('a file is not copied to where another one is mounted', async () => {
  const [environmentId, other] = [await environment(), await environment()];
  const web = await application(environmentId);
  const file = (key: string) => ({ key, value: 'x', mount_path: '/etc/app.conf' });
  await api.call('createApplicationEnvironmentVariable', { ...of(web.id), body: file('OWN') });
  await api.call('createEnvironmentEnvironmentVariable', { params: { environmentId: other }, body: file('WIDE') });
  await expect(clone(web.id, other)).rejects.toMatchObject({ code: 'INVALID_REFERENCE' });
});

test('a container is copied like an application', async () => {
  const environmentId = await environment();
  const registry = { name: randomUUID(), kind: 'GENERIC_CR' as const, url: 'https://registry.example.org', config: {} };
  const registry_id = (await api.call('createContainerRegistry', { params: { organizationId: owner.id }, body: registry })).id;
  const body = { name: 'cache', registry_id, image_name: 'cache', tag: '7' };
  const made = await api.call('createContainer', { params: { environmentId }, body });
  const copy = await api.call('cloneContainer', {
    params: { containerId: made.id },
    body: { name: 'cache 2', environment_id: environmentId },
  });
  expect(copy).toMatchObject({ name: 'cache 2', image_name: 'cache', tag: '7', registry: { id: registry_id } });
});

test('a Helm chart and a Terraform configuration are copied with their restrictions', async () => {
  const environmentId = await environment();
  const restriction = { mode: 'MATCH' as const, type: 'PATH' as const, value: 'src' };
  const request = { params: { environmentId }, body: { name: 'chart', source: { git_repository } } };
  const chart = await api.call('createHelm', request);
  await api.call('createHelmDeploymentRestriction', { params: { helmId: chart.id }, body: restriction });
  await api.call('createHelmCustomDomain', {
    params: { helmId: chart.id },
    body: { domain: `d${randomUUID().slice(0, 8)}.example.org` },
  });
  const to = { name: 'copy', environment_id: await environment() };
  const helm = await api.call('cloneHelm', { params: { helmId: chart.id }, body: to });
  expect(helm).toMatchObject({ name: 'copy', source: chart.source });
  const helmId = helm.id;
  expect((await api.call('getHelmDeploymentRestrictions', { params: { helmId } })).results).toMatchObject([restriction]);
  expect((await api.call('listHelmCustomDomain', { params: { helmId } })).results).toEqual([]);

  const secret = { tf_vars: [{ key: 'password', value: 'sesame', secret: true }] };
  const infra = await api.call('createTerraform', {
    params: { environmentId },
    body: { name: 'infra', terraform_files_source: { git_repository }, terraform_variables_source: secret },
  });
  await api.call('createTerraformDeploymentRestriction', { params: { terraformId: infra.id }, body: restriction });
  const copy = await api.call('cloneTerraform', { params: { terraformId: infra.id }, body: { ...to, name: 'copy 2' } });
  const { terraform_variables_source, terraform_files_source } = infra;
  expect(copy).toMatchObject({ name: 'copy 2', terraform_variables_source, terraform_files_source });
  const { results } = await api.call('getTerraformDeploymentRestrictions', { params: { terraformId: copy.id } });
  expect(results).toMatchObject([restriction]);
  // Each copy has a secret of its own. Deleting the first service deletes only its secret.
  await api.call('deleteTerraform', { params: { terraformId: infra.id } });
  await api.call('editTerraform', { params: { terraformId: copy.id }, body: { description: 'alone' } });
});

test('a copy that cannot be is refused and leaves nothing', async () => {
  const environmentId = await environment();
  const web = await application(environmentId, { name: 'Web' });
  const stranger = await server.organization();
  const theirs = server.client(stranger.tokens.WRITE);
  const project = await theirs.call('createProject', { params: { organizationId: stranger.id }, body: { name: 'theirs' } });
  const foreign = await theirs.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'theirs' } });
  await expect(clone(web.id, environmentId, 'WEB')).rejects.toMatchObject({ status: 409, code: 'NAME_TAKEN' });
  await expect(clone(web.id, environmentId, ' ')).rejects.toMatchObject({ status: 400, errors: [{ path: 'name' }] });
  for (const id of [randomUUID(), foreign.id]) await expect(clone(web.id, id)).rejects.toMatchObject({ status: 404 });
  // The administrator, who sees both organizations, may not move a service between them either.
  const crossing = server.client().call('cloneApplication', { ...of(web.id), body: { name: 'x', environment_id: foreign.id } });
  await expect(crossing).rejects.toMatchObject({ status: 404 });
  expect((await api.call('listApplication', { params: { environmentId } })).results.map(({ id }) => id)).toEqual([web.id]);
});

test('a custom role copies only to where it is a manager', async () => {
  const [environmentId, other] = [await environment(), await environment()];
  await api.call('editEnvironment', {
    params: { environmentId: other },
    body: { name: `e ${randomUUID()}`, mode: 'PRODUCTION' },
  });
  const web = await application(environmentId);
  const admin = server.client(owner.tokens.ADMIN);
  const params = { organizationId: owner.id };
  const role = await admin.call('createOrganizationCustomRole', { params, body: { name: `r ${randomUUID()}` } });
  const permissions = [
    { environment_type: 'DEVELOPMENT' as const, permission: 'MANAGER' as const },
    { environment_type: 'PRODUCTION' as const, permission: 'VIEWER' as const },
  ];
  await admin.call('editOrganizationCustomRole', {
    params: { ...params, customRoleId: role.id },
    body: {
      name: role.name ?? '',
      cluster_permissions: [],
      project_permissions: [{ project_id: projectId, is_admin: false, permissions }],
    },
  });
  const made = await admin.call('createOrganizationApiToken', { params, body: { name: randomUUID(), role_id: role.id ?? '' } });
  const limited = server.client(made.token);
  const copy = (environment_id: string) =>
    limited.call('cloneApplication', { ...of(web.id), body: { name: randomUUID(), environment_id } });
  await expect(copy(other)).rejects.toMatchObject({ status: 403 });
  expect((await copy(environmentId)).environment.id).toBe(environmentId);
});

test('a secret of another organization whose id a service names is not copied', async () => {
  const stranger = await server.organization();
  const theirs = server.client(stranger.tokens.WRITE);
  const project = await theirs.call('createProject', { params: { organizationId: stranger.id }, body: { name: 'theirs' } });
  const body = { key: 'TOKEN', value: 'sesame' };
  await theirs.call('createProjectSecret', { params: { projectId: project.id }, body });
  const [stored] = await server.database.database.many(secretsOf, [stranger.id]);
  const secretId = stored?.id ?? '';
  const web = await application(await environment(), { description: secretId });
  const copy = await clone(web.id, await environment());
  expect(copy).toMatchObject({ description: secretId });
  const owned = await server.database.database.many(secretsOf, [owner.id]);
  expect(await server.database.database.many(secretsOf, [stranger.id])).toHaveLength(1);
  const [{ spec } = { spec: '' }] = await server.database.database.many(specOf, [copy.id]);
  for (const { id } of owned) expect(spec).not.toContain(id);
});
