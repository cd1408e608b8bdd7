import { spawnSync } from 'node:child_process';
import { writeFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@davit/client';
import { createFakeCluster, Terraform } from '@davit/drivers';
import { createEngine, type Engine } from '@davit/engine';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const hasTerraform = spawnSync('terraform', ['version']).status === 0;
const configuration = `
variable "greeting" { type = string }
variable "password" {
  type      = string
  sensitive = true
}
variable "token" { type = string }
resource "terraform_data" "hello" { input = var.greeting }
resource "terraform_data" "marked" { input = { user = "ada", password = var.password } }
resource "terraform_data" "unmarked" {
  input            = { token = "is \${var.token}!" }
  triggers_replace = "open"
}
output "bucket-name" { value = terraform_data.hello.output }
output "password" {
  value     = var.password
  sensitive = true
}
`;

let server: TestServer;
let engine: Engine | undefined;
let client: Client;
let environmentId: string;
beforeAll(async () => {
  const fake = createFakeCluster();
  const checkout = fake.source.checkout.bind(fake.source);
  const written: (typeof fake.source)['checkout'] = async (source, directory, call) => {
    const commit = await checkout(source, directory, call);
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, 'main.tf'), configuration);
    return commit;
  };
  Object.assign(fake.source, { checkout: written });
  const terraform = new Terraform({ TERRAFORM: 'terraform', OPEN_TOFU: null });
  server = await startTestServer({
    engine: (parts) => (engine = createEngine({ ...parts, drivers: { docker: fake }, terraform })),
  });
  await engine?.start();
  client = server.client();
  const organizationId = (await server.organization()).id;
  const project = await client.call('createProject', { params: { organizationId }, body: { name: 'shop' } });
  environmentId = (await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } })).id;
});
afterAll(async () => {
  await engine?.stop();
  await server.close();
});

async function eventually<T>(look: () => Promise<T | undefined>): Promise<T> {
  const until = Date.now() + 20_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > until) throw new Error('waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe.skipIf(!hasTerraform)('a Terraform configuration', () => {
  test('gives its outputs to its environment, and takes them away when it is deleted', { timeout: 60_000 }, async () => {
    const git_repository = { url: 'https://git.example.org/shop/infra.git' };
    const tf_vars = [
      { key: 'greeting', value: 'hello', secret: false },
      { key: 'password', value: 'sesame', secret: true },
      { key: 'token', value: 'poppy', secret: true },
    ];
    const body = { name: 'infra', terraform_files_source: { git_repository }, terraform_variables_source: { tf_vars } };
    const { id } = await client.call('createTerraform', { params: { environmentId }, body });
    const params = { terraformId: id };
    await client.call('deployTerraform', { params });
    const { results } = await eventually(async () => {
      const history = await client.call('listTerraformDeploymentHistoryV2', { params });
      const [last] = history.results;
      if (last?.status === 'DEPLOYMENT_ERROR') throw new Error(JSON.stringify(last.failure));
      return last?.status === 'DEPLOYED' ? history : undefined;
    });
    expect(results).toMatchObject([
      {
        status_details: { action: 'DEPLOY', status: 'SUCCESS', sub_action: 'TERRAFORM_PLAN_AND_APPLY' },
        details: { build_pod_name: '' },
      },
    ]);
    const record = await client.call('getTerraform', { params });
    expect(record.terraform_files_source.git.git_repository.deployed_commit_id).toMatch(/^[0-9a-f]{40}$/);
    const seen = await client.call('listVariables', { query: { parent_id: environmentId, scope: 'ENVIRONMENT' } });
    const key = (name: string) => `DAVIT_OUTPUT_TERRAFORM_Z${id.slice(0, 8).toUpperCase()}_${name}`;
    const one = (name: string) => seen.results.find((variable) => variable.key === name);
    expect(one(key('bucket_name'))).toMatchObject({ scope: 'BUILT_IN', value: 'hello', is_secret: false });
    expect(one('bucket_name')).toMatchObject({ scope: 'ENVIRONMENT', variable_type: 'ALIAS', is_secret: false });
    expect(one(key('password'))).toMatchObject({ scope: 'BUILT_IN', value: null, is_secret: true });
    expect(JSON.stringify(seen)).not.toContain('sesame');
    const listed = await client.call('getTerraformResources', { params });
    expect(listed.results.map(({ address, mode }) => `${mode} ${address}`)).toEqual([
      'managed terraform_data.hello',
      'managed terraform_data.marked',
      'managed terraform_data.unmarked',
    ]);
    expect(listed.results).toMatchObject([
      { resource_type: 'terraform_data', provider: 'terraform.io/builtin/terraform', attributes: { output: 'hello' } },
      { attributes: { input: { user: 'ada' } } },
      { attributes: { triggers_replace: 'open' } },
    ]);
    expect(JSON.stringify(listed)).not.toMatch(/sesame|poppy/);
    expect(await client.call('getTerraformResources', { params })).toEqual(listed);
    const environment = await client.call('getEnvironmentStatuses', { params: { environmentId } });
    expect(environment.terraforms).toMatchObject([{ state: 'DEPLOYED', service_deployment_status: 'UP_TO_DATE' }]);
    await client.call('deleteTerraform', { params });
    await eventually(async () => {
      const { results: left } = await client.call('listTerraforms', { params: { environmentId } });
      return left.length === 0 ? true : undefined;
    });
    const after = await client.call('listVariables', { query: { parent_id: environmentId, scope: 'ENVIRONMENT' } });
    expect(after.results.map((variable) => variable.key)).not.toContain('bucket_name');
  });
});
