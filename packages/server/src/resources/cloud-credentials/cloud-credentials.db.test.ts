import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { ApiError, type Client } from '@davit/client';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';

let server: TestServer;
let client: Client;

beforeAll(async () => {
  server = await startTestServer();
  client = server.client();
});
afterAll(() => server.close());

async function organization() {
  return { organizationId: (await server.organization()).id };
}

/** Returns `done`, or the error code of a refused call. */
function outcomeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'done',
    (error: unknown) => (error instanceof ApiError ? error.code : String(error)),
  );
}

const stored = statement<{ fields: unknown; sealed: Buffer | null; sealed_text: string | null }>(
  'test_credentials_stored',
  `select fields, sealed, encode(sealed, 'escape') as sealed_text from cloud_credentials where id = $1`,
);

/** Returns the secrets of stored credentials, decrypted by the vault. */
async function secretsOf(id: string): Promise<unknown> {
  const { sealed } = await server.database.database.one(stored, [id]);
  return sealed === null ? null : JSON.parse(server.api.deps.vault.open(id, sealed));
}

const awsKey = { type: 'AWS_STATIC', access_key_id: 'AKIA1', secret_access_key: 'canary-secret-1' } as const;

test('credentials of each vendor are created, read, listed, edited and deleted, without their secrets', async () => {
  const params = await organization();
  const aws = await client.call('createAWSCredentials', { params, body: { name: 'a', ...awsKey } });
  expect(aws).toEqual({ id: expect.any(String), name: 'a', object_type: 'AWS', access_key_id: 'AKIA1' });
  const vendora = await client.call('createVendoraCredentials', {
    params,
    body: {
      name: 'b',
      vendora_access_key: 'SCW1',
      vendora_secret_key: 'canary-secret-2',
      vendora_project_id: 'p',
      vendora_organization_id: 'o',
    },
  });
  expect(vendora).toMatchObject({ object_type: 'VENDORA', vendora_access_key: 'SCW1', vendora_project_id: 'p' });
  const vendorb = await client.call('createVendorbCredentials', {
    params,
    body: { name: 'c', vendorb_subscription_id: 's', vendorb_tenant_id: 't' },
  });
  expect(vendorb).toMatchObject({ object_type: 'VENDORB', vendorb_subscription_id: 's', vendorb_application_id: '' });
  const cloudc = await client.call('createCloudcCredentials', {
    params,
    body: { name: 'd', cloudc_credentials: '{"private_key":"canary-secret-3"}' },
  });
  expect(cloudc).toEqual({ id: expect.any(String), name: 'd', object_type: 'CLOUDC' });
  const onPremise = await client.call('createOnPremiseCredentials', { params, body: { name: 'e' } });
  expect(onPremise).toEqual({ id: expect.any(String), name: 'e', object_type: 'OTHER', access_key_id: '' });

  const everything = await client.call('listOrganizationCredentials', { params });
  expect(everything.results).toEqual(
    [aws, vendora, vendorb, cloudc, onPremise].map((credential) => ({ credential, clusters: [] })),
  );
  expect(JSON.stringify(everything)).not.toContain('canary');
  for (const { id } of [aws, vendora, cloudc]) {
    const row = await server.database.database.one(stored, [id]);
    expect(JSON.stringify(row.fields) + String(row.sealed_text)).not.toContain('canary');
    expect(JSON.stringify(await secretsOf(id))).toContain('canary');
  }

  const one = { ...params, credentialsId: onPremise.id };
  expect(await client.call('editOnPremiseCredentials', { params: one, body: { name: 'E' } })).toMatchObject({ name: 'E' });
  expect(await client.call('getOnPremiseCredentials', { params: one })).toEqual({ ...onPremise, name: 'E' });
  expect((await client.call('listOnPremiseCredentials', { params })).results).toEqual([{ ...onPremise, name: 'E' }]);
  expect((await client.call('listAWSCredentials', { params })).results).toEqual([aws]);
  // They are not found under the path of another vendor.
  await expect(client.call('getAWSCredentials', { params: one })).rejects.toMatchObject({ status: 404 });
  await expect(client.call('deleteAWSCredentials', { params: one })).rejects.toMatchObject({ status: 404 });
  await client.call('deleteOnPremiseCredentials', { params: one });
  await expect(client.call('getOnPremiseCredentials', { params: one })).rejects.toMatchObject({ status: 404 });
});

test('each type of AWS credentials asks for its own fields', async () => {
  const params = await organization();
  const wrong = [
    [{ type: 'AWS_ROLE' }, ['role_arn']],
    [{ type: 'AWS_STATIC', role_arn: 'x' }, ['access_key_id', 'secret_access_key']],
    [{ type: 'EKS_ANYWHERE_VSPHERE_ROLE', vsphere_user: 'u' }, ['role_arn', 'vsphere_password']],
    [{ type: 'EKS_ANYWHERE_VSPHERE_STATIC' }, ['vsphere_user', 'access_key_id', 'vsphere_password', 'secret_access_key']],
  ] as const;
  for (const [body, paths] of wrong) {
    const call = client.call('createAWSCredentials', { params, body: { name: 'x', ...body } });
    await expect(call).rejects.toMatchObject({ status: 400, errors: paths.map((path) => ({ path })) });
  }
  const vsphere = { type: 'EKS_ANYWHERE_VSPHERE_ROLE', vsphere_user: 'u', vsphere_password: 'p', role_arn: 'arn' } as const;
  expect(await client.call('createAWSCredentials', { params, body: { name: 'v', ...vsphere } })).toEqual({
    id: expect.any(String),
    name: 'v',
    object_type: 'EKS_ANYWHERE_VSPHERE',
    vsphere_user: 'u',
    role_arn: 'arn',
  });
});

test('an edit keeps a secret that it leaves out, but not for another key', async () => {
  const params = await organization();
  const { id } = await client.call('createAWSCredentials', { params, body: { name: 'a', ...awsKey } });
  const one = { ...params, credentialsId: id };
  await client.call('editAWSCredentials', { params: one, body: { name: 'b', type: 'AWS_STATIC', access_key_id: 'AKIA1' } });
  expect(await secretsOf(id)).toEqual({ secret_access_key: 'canary-secret-1' });
  const other = { name: 'b', type: 'AWS_STATIC', access_key_id: 'AKIA2' } as const;
  await expect(client.call('editAWSCredentials', { params: one, body: other })).rejects.toMatchObject({
    status: 400,
    errors: [{ path: 'secret_access_key' }],
  });
  await client.call('editAWSCredentials', { params: one, body: { ...other, secret_access_key: 'second' } });
  expect(await secretsOf(id)).toEqual({ secret_access_key: 'second' });
  const role = { name: 'b', type: 'AWS_ROLE', role_arn: 'arn' } as const;
  expect(await client.call('editAWSCredentials', { params: one, body: role })).toEqual({
    id,
    name: 'b',
    object_type: 'AWS_ROLE',
    role_arn: 'arn',
  });
  expect(await secretsOf(id)).toBeNull();
});

test('names are taken once for each vendor, ignoring case', async () => {
  const params = await organization();
  await client.call('createAWSCredentials', { params, body: { name: 'account', ...awsKey } });
  await client.call('createOnPremiseCredentials', { params, body: { name: 'account' } });
  const again = client.call('createAWSCredentials', { params, body: { name: 'ACCOUNT', ...awsKey } });
  await expect(again).rejects.toMatchObject({ status: 409, code: 'NAME_TAKEN' });
});

test('a cluster refers to credentials of its vendor and organization, which cannot be deleted then', async () => {
  const params = await organization();
  const { id } = await client.call('createAWSCredentials', { params, body: { name: 'account', ...awsKey } });
  const other = await client.call('createOnPremiseCredentials', { params, body: { name: 'rack' } });
  const elsewhere = await client.call('createAWSCredentials', {
    params: await organization(),
    body: { name: 'theirs', ...awsKey },
  });
  const cluster = (credentials: string) =>
    client.call('createCluster', {
      params,
      body: {
        name: 'live',
        region: 'eu-west-3',
        cloud_provider: 'AWS',
        cloud_provider_credentials: { cloud_provider: 'AWS', region: 'eu-west-3', credentials: { id: credentials } },
      },
    });
  for (const wrong of [other.id, elsewhere.id, randomUUID()]) {
    await expect(cluster(wrong)).rejects.toMatchObject({
      status: 400,
      code: 'INVALID_REFERENCE',
      errors: [{ path: 'cloud_provider_credentials.credentials.id' }],
    });
  }
  const made = await cluster(id.toUpperCase());
  const ids = { ...params, clusterId: made.id };
  const info = { cloud_provider: 'AWS', region: 'eu-west-3', credentials: { id, name: 'account' } };
  expect(await client.call('getOrganizationCloudProviderInfo', { params: ids })).toEqual(info);
  const one = { ...params, credentialsId: id };
  await expect(client.call('deleteAWSCredentials', { params: one })).rejects.toMatchObject({
    status: 409,
    code: 'IN_USE',
    message: expect.stringContaining('live'),
  });
  const { results } = await client.call('listOrganizationCredentials', { params });
  expect(results.find(({ credential }) => credential.id === id)?.clusters).toEqual([
    { id: made.id, name: 'live', cloud_provider: 'AWS' },
  ]);
  const second = await client.call('createAWSCredentials', { params, body: { name: 'second', ...awsKey } });
  const body = { region: 'eu-west-1', credentials: { id: second.id } };
  expect(await client.call('specifyClusterCloudProviderInfo', { params: ids, body })).toEqual({
    cloud_provider: 'AWS',
    region: 'eu-west-1',
    credentials: { id: second.id, name: 'second' },
  });
  await client.call('deleteAWSCredentials', { params: one });
  const foreign = { credentials: { id: elsewhere.id } };
  await expect(client.call('specifyClusterCloudProviderInfo', { params: ids, body: foreign })).rejects.toMatchObject({
    code: 'INVALID_REFERENCE',
    errors: [{ path: 'credentials.id' }],
  });
  await client.call('editCluster', {
    params: ids,
    body: { name: 'live', region: 'eu-west-1', cloud_provider: 'AWS', cloud_provider_credentials: null },
  });
  expect(await client.call('getOrganizationCloudProviderInfo', { params: ids })).not.toHaveProperty('credentials');
});

test('credentials that are deleted while a cluster takes them are either gone or in use', async () => {
  const params = await organization();
  for (let round = 0; round < 5; round += 1) {
    const { id } = await client.call('createOnPremiseCredentials', { params, body: { name: `r${round}` } });
    const body = {
      name: `rack ${round}`,
      region: 'here',
      cloud_provider: 'ON_PREMISE',
      cloud_provider_credentials: { credentials: { id } },
    } as const;
    const outcome = await Promise.all([
      outcomeOf(client.call('createCluster', { params, body })),
      outcomeOf(client.call('deleteOnPremiseCredentials', { params: { ...params, credentialsId: id } })),
    ]);
    expect(['done IN_USE', 'INVALID_REFERENCE done']).toContain(outcome.join(' '));
  }
});
