import type { Client } from '@davit/client';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeTestVariables, newApplication, type TestVariables } from './testing.ts';

let server: RunningServer;
let fixture: TestVariables;
let api: Client;
let ofProject: { readonly params: { readonly projectId: string } };
let ofEnvironment: { readonly params: { readonly environmentId: string } };

beforeAll(async () => {
  server = await startRunningServer();
  fixture = await makeTestVariables(server);
  api = fixture.api;
  ofProject = { params: { projectId: fixture.projectId } };
  ofEnvironment = { params: { environmentId: fixture.environmentId } };
});

afterAll(() => server.close());

async function deploy(applicationId: string): Promise<void> {
  const at = { params: { applicationId } };
  await api.call('deployApplication', at);
  const until = Date.now() + 15_000;
  for (;;) {
    const { state, status_details } = await api.call('getApplicationStatus', at);
    if (status_details.status === 'SUCCESS') return;
    if (status_details.status === 'ERROR' || Date.now() > until) throw new Error(`the deployment is ${state}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function statuses(...ids: readonly string[]): Promise<string[]> {
  const read = ids.map((applicationId) => api.call('getApplicationStatus', { params: { applicationId } }));
  return (await Promise.all(read)).map((one) => one.service_deployment_status);
}

function startedWith(applicationId: string) {
  const instance = server.fake.instances.filter(({ service }) => service === applicationId).at(-1);
  const workload = instance === undefined ? undefined : server.fake.workloads.get(instance.id);
  return {
    environment: Object.fromEntries((workload?.environment ?? []).map(({ name, value }) => [name, value.reveal()])),
    files: Object.fromEntries((workload?.files ?? []).map(({ path, content }) => [path, content.reveal()])),
  };
}

test('a change at a project or environment makes what it changes below out of date, and its end up to date again', async () => {
  const first = fixture.applicationId;
  const second = await newApplication(api, fixture.environmentId);
  const wide = await api.call('createProjectEnvironmentVariable', { ...ofProject, body: { key: 'REGION', value: 'north' } });
  const secret = await api.call('createEnvironmentSecret', { ...ofEnvironment, body: { key: 'TOKEN', value: 'one' } });
  const own = { params: { applicationId: second, environmentVariableId: wide.id } };
  const override = await api.call('createApplicationEnvironmentVariableOverride', { ...own, body: { value: 'south' } });
  await deploy(first);
  await deploy(second);
  const both = () => statuses(first, second);
  expect(await both()).toEqual(['UP_TO_DATE', 'UP_TO_DATE']);

  const editWide = (value: string) =>
    api.call('editProjectEnvironmentVariable', {
      params: { ...ofProject.params, environmentVariableId: wide.id },
      body: { key: 'REGION', value },
    });
  await editWide('east');
  expect(await both()).toEqual(['OUT_OF_DATE', 'UP_TO_DATE']);
  await editWide('north');
  expect(await both()).toEqual(['UP_TO_DATE', 'UP_TO_DATE']);

  const editSecret = (value: string) =>
    api.call('editEnvironmentSecret', {
      params: { ...ofEnvironment.params, secretId: secret.id },
      body: { key: 'TOKEN', value },
    });
  await editSecret('one');
  await api.call('createEnvironmentSecret', { ...ofEnvironment, body: { key: 'TOKEN', value: 'one' } });
  expect(await both()).toEqual(['UP_TO_DATE', 'UP_TO_DATE']);
  await editSecret('two');
  expect(await both()).toEqual(['OUT_OF_DATE', 'OUT_OF_DATE']);
  await deploy(first);
  await api.call('deleteVariable', { params: { variableId: override.id } });
  await deploy(second);
  expect(await both()).toEqual(['UP_TO_DATE', 'UP_TO_DATE']);
  expect(startedWith(first).environment).toMatchObject({ REGION: 'north', TOKEN: 'two' });
  expect(startedWith(second).environment).toMatchObject({ REGION: 'north', TOKEN: 'two' });

  const added = await api.call('createEnvironmentEnvironmentVariable', { ...ofEnvironment, body: { key: 'NEW' } });
  expect(await both()).toEqual(['OUT_OF_DATE', 'OUT_OF_DATE']);
  const params = { ...ofEnvironment.params, environmentVariableId: added.id };
  await api.call('editEnvironmentEnvironmentVariable', { params, body: { key: 'NEW', description: 'words' } });
  await api.call('deleteEnvironmentEnvironmentVariable', { params });
  expect(await both()).toEqual(['UP_TO_DATE', 'UP_TO_DATE']);
});

test('a process gets the narrowest value, aliases, resolved references and mounted files', async () => {
  const applicationId = await newApplication(api, fixture.environmentId);
  const at = { params: { applicationId } };
  const host = await api.call('createProjectEnvironmentVariable', { ...ofProject, body: { key: 'DB_HOST', value: 'wide' } });
  const one = { environmentVariableId: host.id };
  await api.call('createEnvironmentEnvironmentVariableOverride', {
    params: { ...ofEnvironment.params, ...one },
    body: { value: 'narrow' },
  });
  await api.call('createApplicationEnvironmentVariableAlias', { params: { applicationId, ...one }, body: { key: 'HOST' } });
  const password = await api.call('createProjectSecret', { ...ofProject, body: { key: 'DB_PASSWORD', value: 's3same{{' } });
  const url = { key: 'URL', value: 'db://{{DB_PASSWORD}}@{{ HOST }}/{{NOBODY}}' };
  await api.call('createEnvironmentSecret', { ...ofEnvironment, body: url });
  const secretId = password.id;
  await api.call('createApplicationSecretAlias', { params: { applicationId, secretId }, body: { key: 'PASSWORD' } });
  const file = { key: 'CONFIG', value: 'u={{URL}}', mount_path: '/etc/wide', enable_interpolation_in_file: true };
  await api.call('createEnvironmentEnvironmentVariable', { ...ofEnvironment, body: file });
  const plain = { key: 'TEMPLATE', value: '{{URL}} ü "$HOME"\n', mount_path: '/etc/template' };
  await api.call('createApplicationSecret', { ...at, body: plain });
  await deploy(applicationId);
  const { environment, files } = startedWith(applicationId);
  expect(environment).toMatchObject({
    DB_HOST: 'narrow',
    HOST: 'narrow',
    PASSWORD: 's3same{{',
    URL: 'db://s3same{{@narrow/{{NOBODY}}',
    CONFIG: '/etc/wide',
    TEMPLATE: '/etc/template',
    DAVIT_PROJECT_ID: fixture.projectId,
  });
  expect(files).toEqual({ '/etc/wide': 'u=db://s3same{{@narrow/{{NOBODY}}', '/etc/template': '{{URL}} ü "$HOME"\n' });
});
