import { randomUUID } from 'node:crypto';
import type { CallInput, Client } from '@davit/client';
import { statement } from '@davit/db';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let server: TestServer;
let client: Client;
let organizationId: string;
let projectId: string;
let environmentId: string;
beforeAll(async () => {
  server = await startTestServer();
  client = server.client();
  organizationId = (await server.organization()).id;
  projectId = (await client.call('createProject', { params: { organizationId }, body: { name: 'shop' } })).id;
  environmentId = await environment();
});
afterAll(() => server.close());

type Body = CallInput<'createTerraform'>['body'];
const git_repository = { url: 'https://git.example.org/shop/infra.git', branch: 'main', root_path: '/network' };
const terraform = (body: Partial<Body> = {}, at = environmentId) =>
  client.call('createTerraform', {
    params: { environmentId: at },
    body: { name: randomUUID(), terraform_files_source: { git_repository }, ...body },
  });

async function environment(): Promise<string> {
  return (await client.call('createEnvironment', { params: { projectId }, body: { name: randomUUID() } })).id;
}

const secretValues = statement<{ id: string; text: string }>(
  'test_terraform_secrets',
  `select secret_value.id, encode(sealed, 'escape') as text from secret_value where service_id = $1 order by created_at`,
);
const storedSpec = statement<{ text: string }>('test_terraform_spec', 'select spec::text as text from service where id = $1');

describe('a Terraform configuration', () => {
  test('has the documented defaults, is read, listed, edited and deleted', async () => {
    const made = await terraform({ name: 'Network' });
    expect(made).toMatchObject({
      name: 'Network',
      service_type: 'TERRAFORM',
      description: '',
      timeout_sec: 600,
      auto_deploy: false,
      auto_deploy_config: { auto_deploy: false, terraform_action: 'DEFAULT' },
      terraform_files_source: { git: { git_repository: { ...git_repository, provider: 'GENERIC', name: 'infra' } } },
      terraform_variables_source: { tf_var_file_paths: [], tf_vars: [] },
      backend: { kubernetes: {} },
      engine: 'TERRAFORM',
      provider_version: { read_from_terraform_block: true, explicit_version: '' },
      job_resources: { gpu: 0 },
      use_cluster_credentials: false,
      action_extra_arguments: {},
      dockerfile_fragment: null,
      icon_uri: 'app://davit-console/terraform',
    });
    const params = { terraformId: made.id };
    expect(await client.call('getTerraform', { params })).toEqual(made);
    expect((await client.call('listTerraforms', { params: { environmentId } })).results).toContainEqual(made);
    const all = await client.call('listServicesByEnvironmentId', { params: { environmentId } });
    expect(all.results).toContainEqual(made);
    const body = {
      description: 'all of it',
      timeout_sec: 60,
      auto_deploy_config: { auto_deploy: true, terraform_action: 'PLAN' as const },
      backend: { blueprint: { type: 's3', config: { bucket: 'states' } } },
      engine: 'OPEN_TOFU' as const,
      provider_version: { read_from_terraform_block: false, explicit_version: '1.11.4' },
      job_resources: { cpu_milli: 100, ram_mib: 128, gpu: 0, storage_gib: 2 },
      use_cluster_credentials: true,
      action_extra_arguments: { plan: ['-parallelism=2'] },
      dockerfile_fragment: { type: 'inline' as const, content: 'RUN true' },
    };
    const edited = await client.call('editTerraform', { params, body });
    expect(edited).toMatchObject({ ...body, name: 'Network', auto_deploy: true });
    expect(edited.terraform_files_source).toEqual(made.terraform_files_source);
    const back = await client.call('editTerraform', {
      params,
      body: { backend: { user_provided: {} }, dockerfile_fragment: null },
    });
    expect(back).toMatchObject({ backend: { user_provided: {} }, dockerfile_fragment: null, engine: 'OPEN_TOFU' });
    const stage = await client.call('getServiceDeploymentStage', { params: { serviceId: made.id } });
    expect(stage.name).toBe('DATABASE DEFAULT');
    await client.call('deleteTerraform', { params });
    await expect(client.call('getTerraform', { params })).rejects.toMatchObject({ status: 404 });
  });

  test('keeps the values of its secrets encrypted and never shows them; without a new one they stay', async () => {
    const tf_vars = [
      { key: 'region', value: 'eu', secret: false },
      { key: 'password', value: 'sesame-1', secret: true },
    ];
    const made = await terraform({ terraform_variables_source: { tf_var_file_paths: ['env/live.tfvars'], tf_vars } });
    const shown = [
      { key: 'region', value: 'eu', secret: false },
      { key: 'password', secret: true },
    ];
    expect(made.terraform_variables_source).toEqual({ tf_var_file_paths: ['env/live.tfvars'], tf_vars: shown });
    const params = { terraformId: made.id };
    expect(await client.call('getTerraform', { params })).toEqual(made);
    const { database } = server.database;
    const [first, ...none] = await database.many(secretValues, [made.id]);
    expect(none).toEqual([]);
    const spec = await database.one(storedSpec, [made.id]);
    expect(`${first?.text} ${spec.text}`).not.toContain('sesame');
    expect(spec.text).toContain(first?.id);
    const body = { terraform_variables_source: { tf_vars: [{ key: 'password', secret: true }, tf_vars[0] ?? {}] } };
    const edited = await client.call('editTerraform', { params, body });
    expect(edited.terraform_variables_source.tf_vars).toEqual(shown.toReversed());
    expect((await database.one(storedSpec, [made.id])).text).toContain(first?.id);
    const again = { terraform_variables_source: { tf_vars: [{ key: 'password', value: 'sesame-2', secret: true }] } };
    await client.call('editTerraform', { params, body: again });
    expect((await database.one(storedSpec, [made.id])).text).not.toContain(first?.id);
    const events = await client.call('getOrganizationEvents', { params: { organizationId }, query: { pageSize: 20 } });
    expect(JSON.stringify(events)).not.toContain('sesame');
  });

  test.each<[Partial<Body>, string]>([
    [{ terraform_files_source: {} }, 'terraform_files_source.git_repository'],
    [{ terraform_files_source: { git_repository: { url: '/tmp/a' } } }, 'terraform_files_source.git_repository.url'],
    [{ backend: {} }, 'backend'],
    [{ backend: { kubernetes: {}, user_provided: {} } }, 'backend'],
    [{ backend: { blueprint: { type: 'S 3' } } }, 'backend.blueprint.type'],
    [{ provider_version: { explicit_version: '' } }, 'provider_version.explicit_version'],
    [{ provider_version: { explicit_version: '1.11' } }, 'provider_version.explicit_version'],
    [{ timeout_sec: -1 }, 'timeout_sec'],
    [{ job_resources: { cpu_milli: 100, ram_mib: 128, gpu: 1, storage_gib: 1 } }, 'job_resources.gpu'],
    [{ job_resources: { cpu_milli: 100, ram_mib: 128, storage_gib: 0 } }, 'job_resources.storage_gib'],
    [{ action_extra_arguments: { taint: ['-x'] } }, 'action_extra_arguments.taint'],
    [{ action_extra_arguments: { plan: ['-out=x'] } }, 'action_extra_arguments.plan.0'],
    [{ action_extra_arguments: { plan: ['x'] } }, 'action_extra_arguments.plan.0'],
    [{ dockerfile_fragment: { type: 'inline' } }, 'dockerfile_fragment.content'],
    [{ dockerfile_fragment: { type: 'file', path: '../x' } }, 'dockerfile_fragment.path'],
    [{ terraform_variables_source: { tf_var_file_paths: ['../x'] } }, 'terraform_variables_source.tf_var_file_paths.0'],
    [{ terraform_variables_source: { tf_vars: [{ key: '1a' }] } }, 'terraform_variables_source.tf_vars.0.key'],
    [{ terraform_variables_source: { tf_vars: [{ key: 'a', secret: true }] } }, 'terraform_variables_source.tf_vars.0.value'],
    [{ terraform_variables_source: { tf_vars: [{ key: 'a' }, { key: 'a' }] } }, 'terraform_variables_source.tf_vars.1.key'],
  ])('with %j is refused at that field', async (body, path) => {
    const before = await client.call('listTerraforms', { params: { environmentId } });
    await expect(terraform(body)).rejects.toMatchObject({ status: 400, errors: [{ path }] });
    expect(await client.call('listTerraforms', { params: { environmentId } })).toEqual(before);
  });

  test('names a git token of its own organization only, which it keeps from being deleted', async () => {
    const token = async (location: string) =>
      (
        await client.call('createGitToken', {
          params: { organizationId: location },
          body: { name: randomUUID(), type: 'GENERIC', token: 'x' },
        })
      ).id;
    const foreign = await token((await server.organization()).id);
    const path = 'terraform_files_source.git_repository.git_token_id';
    const refused = terraform({ terraform_files_source: { git_repository: { ...git_repository, git_token_id: foreign } } });
    await expect(refused).rejects.toMatchObject({ status: 400, code: 'INVALID_REFERENCE', errors: [{ path }] });
    const own = await token(organizationId);
    await terraform({ terraform_files_source: { git_repository: { ...git_repository, git_token_id: own } } });
    const deletion = client.call('deleteGitToken', { params: { organizationId, gitTokenId: own } });
    await expect(deletion).rejects.toMatchObject({ status: 409, code: 'IN_USE' });
  });

  test('has variables and secrets of its own scope', async () => {
    const made = await terraform();
    const location = { variable_scope: 'TERRAFORM' as const, variable_parent_id: made.id };
    await client.call('createVariable', { body: { key: 'COLOR', value: 'red', is_secret: false, ...location } });
    await client.call('createVariable', { body: { key: 'KEY', value: 'sesame', is_secret: true, ...location } });
    const { results } = await client.call('listVariables', { query: { parent_id: made.id, scope: 'TERRAFORM' } });
    const own = results.filter(({ scope }) => scope === 'TERRAFORM');
    expect(own.map(({ key, value, service_type }) => ({ key, value, service_type }))).toEqual([
      { key: 'COLOR', value: 'red', service_type: 'TERRAFORM' },
      { key: 'KEY', value: null, service_type: 'TERRAFORM' },
    ]);
  });

  test('is copied with its environment, its secrets too', async () => {
    const location = await environment();
    const tf_vars = [{ key: 'password', value: 'sesame', secret: true }];
    const made = await terraform({ name: 'infra', terraform_variables_source: { tf_vars } }, location);
    const copy = await client.call('cloneEnvironment', { params: { environmentId: location }, body: { name: randomUUID() } });
    const [cloned] = (await client.call('listTerraforms', { params: { environmentId: copy.id } })).results;
    expect(cloned?.terraform_variables_source).toEqual(made.terraform_variables_source);
    const { database } = server.database;
    const [former] = await database.many(secretValues, [made.id]);
    const [own] = await database.many(secretValues, [cloned?.id]);
    expect(own?.id).toBeDefined();
    expect(own?.id).not.toBe(former?.id);
    expect((await database.one(storedSpec, [cloned?.id])).text).toContain(own?.id);
  });
});

describe('a deployment of a Terraform configuration', () => {
  test('says in its status what it is for, and waits apart from others', async () => {
    const location = await environment();
    const made = await terraform({}, location);
    const params = { terraformId: made.id };
    const planned = await client.call('deployTerraform', { params, body: { action: 'PLAN' } });
    expect(planned).toMatchObject({ state: 'DEPLOYMENT_QUEUED', service_deployment_status: 'NEVER_DEPLOYED' });
    const applied = await client.call('deployTerraform', { params, body: { git_commit_id: 'c0ffee12' } });
    expect(applied.deployment_requests_count).toBe(2);
    await client.call('redeployTerraform', { params });
    const queue = await client.call('listDeploymentRequestByServiceId', { params: { serviceId: made.id } });
    expect(queue.results.map(({ status_details }) => status_details.sub_action)).toEqual([
      'TERRAFORM_PLAN_ONLY',
      'TERRAFORM_PLAN_AND_APPLY',
    ]);
    const removed = await client.call('uninstallTerraform', { params, query: { force_terraform_action: 'SKIP_DESTROY' } });
    expect(removed?.deployment_requests_count).toBe(3);
    await client.call('deleteTerraform', { params, query: { resources_only: true } });
    expect(await client.call('getTerraform', { params })).toEqual(made);
    await expect(client.call('deployTerraform', { params, body: { git_commit_id: 'x' } })).rejects.toMatchObject({ status: 400 });
    const dry = await client.call('deployTerraform', { params, query: { dry_run: true } });
    expect(dry.plan?.stages[0]?.services[0]?.steps).toEqual(['obtain', 'terraform-plan', 'terraform-apply', 'settle']);
  });

  test('is only what was asked for among others, too', async () => {
    const location = await environment();
    const made = await terraform({}, location);
    const params = { environmentId: location };
    await client.call('deployAllServices', { params, body: { terraforms: [{ id: made.id }] } });
    await client.call('deployAllServices', { params, body: { terraforms: [{ id: made.id, action: 'PLAN' }] } });
    const queue = await client.call('listDeploymentRequestByServiceId', { params: { serviceId: made.id } });
    expect(queue.results.map(({ status_details }) => status_details.sub_action)).toEqual([
      'TERRAFORM_PLAN_AND_APPLY',
      'TERRAFORM_PLAN_ONLY',
    ]);
  });

  test('has a history, and versions are those that this machine has', async () => {
    const made = await terraform();
    const history = await client.call('listTerraformDeploymentHistoryV2', { params: { terraformId: made.id } });
    expect(history.results).toEqual([]);
    // This server has no Terraform configured.
    expect(await client.call('listTerraformVersions', {})).toEqual({ results: [] });
  });
});
