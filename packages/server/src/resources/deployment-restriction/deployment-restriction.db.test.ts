import { randomUUID } from 'node:crypto';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

test('restrictions of an application are made, listed, edited, deleted and copied with it', async () => {
  const organization = await server.organization();
  const api = server.client(organization.tokens.WRITE);
  const at = { params: { organizationId: organization.id } };
  const project = await api.call('createProject', { ...at, body: { name: 'shop' } });
  const { id: environmentId } = await api.call('createEnvironment', {
    params: { projectId: project.id },
    body: { name: 'live' },
  });
  const makeApplication = async (name: string): Promise<string> => {
    const body = { name, dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/acme/shop.git' } };
    return (await api.call('createApplication', { params: { environmentId }, body })).id;
  };
  const params = { applicationId: await makeApplication('web') };
  const list = async (of = params) => (await api.call('getApplicationDeploymentRestrictions', { params: of })).results;
  expect(await list()).toEqual([]);

  const make = (body: object) =>
    api.call('createApplicationDeploymentRestriction', {
      params,
      body: { mode: 'MATCH', type: 'PATH', value: 'services/web', ...body },
    });
  const match = await make({});
  const exclude = await make({ mode: 'EXCLUDE', value: 'docs' });
  expect(await list()).toEqual([match, exclude]);
  expect(match).toMatchObject({ mode: 'MATCH', type: 'PATH', value: 'services/web' });

  await expect(make({})).rejects.toMatchObject({ status: 409, code: 'ALREADY_EXISTS' });
  for (const [body, path] of [
    [{ mode: 'SOMETIMES' }, 'mode'],
    [{ type: 'BRANCH' }, 'type'],
    [{ value: '' }, 'value'],
    [{ value: '../other' }, 'value'],
    [{ value: 'x'.repeat(501) }, 'value'],
  ] as const) {
    await expect(make(body)).rejects.toMatchObject({ status: 400, errors: [{ path }] });
  }

  const ids = { ...params, deploymentRestrictionId: exclude.id };
  const body = { mode: 'EXCLUDE', type: 'PATH', value: 'documents' } as const;
  const edited = await api.call('editApplicationDeploymentRestriction', { params: ids, body });
  expect(edited).toMatchObject({ id: exclude.id, value: 'documents' });
  const same = { mode: 'MATCH', type: 'PATH', value: 'services/web' } as const;
  const taken = api.call('editApplicationDeploymentRestriction', { params: ids, body: same });
  await expect(taken).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });

  const elsewhere = { applicationId: await makeApplication('api'), deploymentRestrictionId: exclude.id };
  await expect(api.call('deleteApplicationDeploymentRestriction', { params: elsewhere })).rejects.toMatchObject({ status: 404 });
  const copy = await api.call('cloneEnvironment', { params: { environmentId }, body: { name: `copy ${randomUUID()}` } });
  const [copied] = (await api.call('listServicesByEnvironmentId', { params: { environmentId: copy.id } })).results;
  await api.call('deleteApplicationDeploymentRestriction', { params: ids });
  expect(await list()).toEqual([match]);
  const ofCopy = await list({ applicationId: copied?.id ?? '' });
  expect(ofCopy.map(({ mode, value }) => [mode, value])).toEqual([
    ['MATCH', 'services/web'],
    ['EXCLUDE', 'documents'],
  ]);
});

test('Helm charts and Terraform configurations have restrictions of their own', async () => {
  const organization = await server.organization();
  const api = server.client(organization.tokens.WRITE);
  const project = await api.call('createProject', { params: { organizationId: organization.id }, body: { name: 'shop' } });
  const environment = await api.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } });
  const params = { environmentId: environment.id };
  const source = { dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/acme/shop.git' } };
  const { id: helmId } = await api.call('createHelm', { params, body: { name: 'chart', source } });
  const infra = { name: 'infra', terraform_files_source: source };
  const { id: terraformId } = await api.call('createTerraform', { params, body: infra });
  const body = { mode: 'MATCH', type: 'PATH', value: 'charts/web' } as const;
  const ofHelm = await api.call('createHelmDeploymentRestriction', { params: { helmId }, body });
  const ofTerraform = await api.call('createTerraformDeploymentRestriction', { params: { terraformId }, body });
  const other = { ...body, value: 'infra' };
  const ids = { terraformId, deploymentRestrictionId: ofTerraform.id };
  const edited = await api.call('editTerraformDeploymentRestriction', { params: ids, body: other });
  expect((await api.call('getHelmDeploymentRestrictions', { params: { helmId } })).results).toEqual([ofHelm]);
  expect((await api.call('getTerraformDeploymentRestrictions', { params: { terraformId } })).results).toEqual([edited]);
  const mixed = api.call('deleteHelmDeploymentRestriction', { params: { helmId, deploymentRestrictionId: ofTerraform.id } });
  await expect(mixed).rejects.toMatchObject({ status: 404 });
  await api.call('deleteTerraformDeploymentRestriction', { params: ids });
  await api.call('deleteHelmDeploymentRestriction', { params: { helmId, deploymentRestrictionId: ofHelm.id } });
  expect((await api.call('getHelmDeploymentRestrictions', { params: { helmId } })).results).toEqual([]);
});
