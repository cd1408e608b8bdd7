import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { statement } from '@davit/db';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let server: TestServer;
let client: Client;
let environmentId: string;
let registryId: string;
beforeAll(async () => {
  server = await startTestServer({ environment: { DAVIT_TERMINATION_GRACE_SECONDS: '12', DAVIT_BUILD_CPU_MILLICORES: '2000' } });
  client = server.client();
  const organizationId = (await server.organization()).id;
  const project = await client.call('createProject', { params: { organizationId }, body: { name: 'shop' } });
  environmentId = (await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } })).id;
  const registry = { name: 'registry', kind: 'GENERIC_CR' as const, url: 'https://registry.example.org', config: {} };
  registryId = (await client.call('createContainerRegistry', { params: { organizationId }, body: registry })).id;
});
afterAll(() => server.close());

async function application(): Promise<{ applicationId: string }> {
  const body = {
    name: randomUUID(),
    dockerfile_path: 'Dockerfile',
    git_repository: { url: 'https://git.example.org/shop/web.git' },
  };
  return { applicationId: (await client.call('createApplication', { params: { environmentId }, body })).id };
}

const release = statement<{ options: unknown }>(
  'test_settings_release',
  `select config -> 'options' as options from release where service_id = $1 order by created_at desc limit 1`,
);

describe('advanced settings', () => {
  test('are the defaults, the installation’s own among them, until one is set', async () => {
    const params = await application();
    const defaults = await client.call('getDefaultApplicationAdvancedSettings', {});
    expect(defaults).toMatchObject({
      'deployment.termination_grace_period_seconds': 12,
      'deployment.update_strategy.type': 'RollingUpdate',
      'build.cpu_max_in_milli': 2000,
      'network.ingress.enable_cors': false,
      'network.ingress.extra_headers': '{}',
    });
    expect(await client.call('getAdvancedSettings', { params })).toEqual(defaults);
    const ofContainers = await client.call('getDefaultContainerAdvancedSettings', {});
    expect(Object.keys(ofContainers)).toContain('network.ingress.proxy_body_size_mb');
    expect(Object.keys(ofContainers)).not.toContain('build.timeout_max_sec');
  });

  test('have sticky sessions under two names, which are one', async () => {
    const params = await application();
    expect(await client.call('getApplicationNetwork', { params })).toEqual({ sticky_session: false });
    expect(await client.call('editApplicationNetwork', { params, body: { sticky_session: true } })).toEqual({
      sticky_session: true,
    });
    expect(await client.call('editApplicationNetwork', { params, body: {} })).toEqual({ sticky_session: true });
    const name = 'network.ingress.enable_sticky_session';
    expect(await client.call('getAdvancedSettings', { params })).toMatchObject({ [name]: true });
    await client.call('deployApplication', { params, body: {} });
    const { options } = await server.database.database.one(release, [params.applicationId]);
    expect(options).toMatchObject({ gateway: { http: { sticky: true } } });
    await client.call('editAdvancedSettings', { params, body: { [name]: null } });
    expect(await client.call('getApplicationNetwork', { params })).toEqual({ sticky_session: false });
  });

  test('of a type that has none yet are none', async () => {
    const body = {
      name: randomUUID(),
      source: { git_repository: { url: 'https://git.example.org/charts.git', root_path: '/web' } },
    };
    const created = client.call('createHelm', {
      params: { environmentId },
      body: { ...body, timeout_sec: 600, allow_cluster_wide_resources: false, values_override: {} },
    });
    const params = { helmId: (await created).id };
    expect(await client.call('getDefaultHelmAdvancedSettings', {})).toEqual({});
    expect(await client.call('getHelmAdvancedSettings', { params })).toEqual({});
    expect(await client.call('editHelmAdvancedSettings', { params, body: {} })).toEqual({});
    const unknown: object = { 'network.ingress.enable_cors': true };
    await expect(client.call('editHelmAdvancedSettings', { params, body: unknown })).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'network.ingress.enable_cors', message: expect.stringContaining('none for this type') }],
    });
  });

  test('of a job are those of its process and its build, and the next deployment has them', async () => {
    const body = {
      name: randomUUID(),
      healthchecks: {},
      schedule: { on_start: {} },
      source: { docker: { git_repository: { url: 'https://git.example.org/shop/tasks.git' } } },
    };
    const params = { jobId: (await client.call('createJob', { params: { environmentId }, body })).id };
    expect(await client.call('getJobAdvancedSettings', { params })).toEqual({
      'deployment.termination_grace_period_seconds': 12,
      'security.read_only_root_filesystem': false,
      'build.timeout_max_sec': 3600,
      'build.cpu_max_in_milli': 2000,
      'build.ram_max_in_gib': expect.any(Number),
      'build.disable_buildkit_cache': false,
    });
    const change = { 'deployment.termination_grace_period_seconds': 3, 'security.read_only_root_filesystem': true };
    expect(await client.call('editJobAdvancedSettings', { params, body: change })).toMatchObject(change);
    await client.call('deployJob', { params });
    expect(await server.database.database.one(release, [params.jobId])).toEqual({
      options: { terminationGraceSeconds: 3, readOnlyRootFilesystem: true },
    });
    const rollout: object = { 'deployment.update_strategy.type': 'Recreate' };
    await expect(client.call('editJobAdvancedSettings', { params, body: rollout })).rejects.toMatchObject({ status: 400 });
  });

  test('of a Terraform configuration say how long it may take to stop', async () => {
    const body = {
      name: randomUUID(),
      terraform_files_source: { git_repository: { url: 'https://git.example.org/infra.git' } },
    };
    const params = { terraformId: (await client.call('createTerraform', { params: { environmentId }, body })).id };
    const name = 'deployment.termination_grace_period_seconds';
    expect(await client.call('getTerraformAdvancedSettings', { params })).toEqual({ [name]: 60 });
    expect(await client.call('editTerraformAdvancedSettings', { params, body: { [name]: 300 } })).toEqual({ [name]: 300 });
  });

  test('stay until they are set again, also when the service is edited, and null is the default', async () => {
    const params = await application();
    const first = { 'build.timeout_max_sec': 60, 'network.ingress.enable_cors': true };
    await client.call('editAdvancedSettings', { params, body: first });
    await client.call('editApplication', { params, body: { description: 'x' } });
    const body = { 'build.timeout_max_sec': null, 'network.ingress.cors_allow_origin': 'https://a.example' };
    const edited = await client.call('editAdvancedSettings', { params, body });
    expect(edited).toMatchObject({
      'build.timeout_max_sec': 3600,
      'network.ingress.enable_cors': true,
      'network.ingress.cors_allow_origin': 'https://a.example',
    });
    expect(await client.call('getAdvancedSettings', { params })).toEqual(edited);
  });

  test('are part of what the next deployment runs', async () => {
    const params = await application();
    const body = { 'network.ingress.whitelist_source_range': '10.0.0.0/8', 'build.timeout_max_sec': 60 };
    await client.call('editAdvancedSettings', { params, body });
    await client.call('deployApplication', { params });
    expect(await server.database.database.one(release, [params.applicationId])).toEqual({
      options: {
        build: { timeoutSeconds: 60 },
        gateway: { http: { allowedSources: ['10.0.0.0/8'] }, grpc: { allowedSources: ['10.0.0.0/8'] } },
      },
    });
  });

  test('that are not offered, or are wrong, are refused by name, and nothing is set', async () => {
    const params = await application();
    const before = await client.call('getAdvancedSettings', { params });
    const wrong = {
      'build.timeout_max_sec': 5,
      'build.cpu_max_in_milli': 2001,
      'security.service_account_name': 'x',
      'network.ingress.denylist_source_range': 'nobody',
    };
    const refusal = client.call('editAdvancedSettings', { params, body: wrong });
    await expect(refusal).rejects.toMatchObject({
      status: 400,
      code: 'VALIDATION_FAILED',
      errors: [
        { path: 'build.cpu_max_in_milli', message: expect.stringContaining('at most 2000') },
        { path: 'security.service_account_name', message: expect.stringContaining('security.read_only_root_filesystem') },
        { path: 'network.ingress.denylist_source_range' },
      ],
    });
    const typed = { 'build.timeout_max_sec': 0 };
    await expect(client.call('editAdvancedSettings', { params, body: typed })).rejects.toMatchObject({
      status: 400,
      errors: expect.arrayContaining([expect.objectContaining({ path: expect.stringContaining('timeout_max_sec') })]),
    });
    expect(await client.call('getAdvancedSettings', { params })).toEqual(before);
  });

  test('of a container have no settings of builds', async () => {
    const body = { name: randomUUID(), registry_id: registryId, image_name: 'cache', tag: '7' };
    const params = { containerId: (await client.call('createContainer', { params: { environmentId }, body })).id };
    const settings = await client.call('editContainerAdvancedSettings', {
      params,
      body: { 'network.ingress.enable_sticky_session': true },
    });
    expect(settings).toMatchObject({ 'network.ingress.enable_sticky_session': true });
    const build: object = { 'build.timeout_max_sec': 60 };
    await expect(client.call('editContainerAdvancedSettings', { params, body: build })).rejects.toMatchObject({ status: 400 });
  });
});
