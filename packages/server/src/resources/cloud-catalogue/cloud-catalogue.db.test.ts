import type { Client } from '@davit/client';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';

let server: TestServer;
let client: Client;

beforeAll(async () => {
  server = await startTestServer();
  client = server.client((await server.organization()).tokens.READ);
});
afterAll(() => server.close());

const names = ({ results }: { readonly results: readonly { readonly name?: string }[] }): (string | undefined)[] =>
  results.map(({ name }) => name);

test('vendors are listed with their regions', async () => {
  const { results } = await client.call('listCloudProvider');
  expect(results.map(({ short_name }) => short_name)).toEqual(['AWS', 'VENDORA', 'VENDORB', 'CLOUDC']);
  for (const [list, region] of [
    [await client.call('listAWSRegions'), 'eu-west-3'],
    [await client.call('listVendoraRegions'), 'fr-par'],
    [await client.call('listVendorbRegions'), 'francecentral'],
    [await client.call('listCloudcRegions'), 'europe-west9'],
  ] as const) {
    expect(list.results.find(({ name }) => name === region)).toMatchObject({
      country_code: 'FR',
      country: 'France',
      city: 'Paris',
    });
  }
});

test('an instance type has the fields of the contract', async () => {
  const { results } = await client.call('listAWSInstanceType');
  expect(results.find(({ type }) => type === 't3.medium')).toEqual({
    type: 't3.medium',
    name: 't3.medium',
    cpu: 2,
    ram_in_gb: 4,
    bandwidth_in_gbps: '5',
    bandwidth_guarantee: 'UP_TO',
    architecture: 'AMD64',
    attributes: {
      instance_category: 't',
      instance_generation: 3,
      instance_family: 't3',
      instance_size: 'medium',
      meets_resource_reqs: true,
    },
  });
  expect(results.find(({ type }) => type === 'g4dn.xlarge')?.gpu_info).toEqual({
    count: 1,
    name: 'T4',
    manufacturer: 'NVIDIA',
    memory_in_mib: '16384',
  });
});

test('filters take types with a GPU in, out or alone, and those that are too small out', async () => {
  const list = async (query: Parameters<typeof client.call<'listAWSEKSInstanceType'>>[1]['query']): Promise<unknown[]> =>
    names(
      await client.call('listAWSEKSInstanceType', { params: { region: 'eu-west-1' }, ...(query === undefined ? {} : { query }) }),
    );
  const all = await list({});
  expect(all).toEqual(expect.arrayContaining(['t3.small', 'm5.large', 'g4dn.xlarge', 'g5.xlarge']));
  expect(await list({ gpu: 'INCLUDE' })).toEqual(all);
  const without = await list({ gpu: 'EXCLUDE' });
  const only = await list({ gpu: 'ONLY' });
  expect(only).toEqual(all.filter((name) => String(name).startsWith('g')));
  expect([...without, ...only]).toHaveLength(all.length);
  expect(await list({ with_gpu: false })).toEqual(without);
  expect(await list({ with_gpu: true })).toEqual(all);
  expect(await list({ with_gpu: false, gpu: 'ONLY' })).toEqual(only);
  const large = await list({ only_meets_resource_reqs: true });
  expect(large).not.toContain('t3.small');
  expect(large).toContain('t3.medium');
  expect(await list({ only_meets_resource_reqs: false })).toEqual(all);
});

test('a region has what the vendor offers there, and an unknown one is not found', async () => {
  const aws = (region: string) => client.call('listAWSEKSInstanceType', { params: { region } });
  expect(names(await aws('eu-west-3'))).not.toContain('g5.xlarge');
  await expect(aws('mars')).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND', message: 'There is no such region.' });
  const vendora = (zone: string) => client.call('listVendoraManagedK8sInstanceType', { params: { zone } });
  expect(names(await vendora('fr-par-2'))).toContain('L4-1-24G');
  expect(names(await vendora('fr-par-1'))).not.toContain('L4-1-24G');
  await expect(vendora('fr-par-9')).rejects.toMatchObject({ status: 404 });
  const cloudc = (region: string) => client.call('listCloudcManagedK8sInstanceType', { params: { region } });
  expect(names(await cloudc('europe-west4'))).toContain('t2a-standard-2');
  expect(names(await cloudc('europe-west9'))).not.toContain('t2a-standard-2');
});

test('the segment that the contract leaves open is one of the catalogue’s words, the placeholder included', async () => {
  const list = (managedK8sSegment: string, query = {}) =>
    client.call('listVendorbManagedK8sInstanceType', { params: { managedK8sSegment, region: 'westeurope' }, query });
  const all = names(await list('managed_k8s'));
  expect(all).toContain('Standard_D2s_v5');
  expect(names(await list('<managed_k8s_segment>'))).toEqual(all);
  expect(names(await list('managed_k8s', { gpu: 'ONLY' }))).toEqual(all.filter((name) => String(name).startsWith('Standard_NC')));
  await expect(list('eks')).rejects.toMatchObject({ status: 404 });
  await expect(list('managed_k8s', { gpu: 'SOME' })).rejects.toMatchObject({ status: 400, errors: [{ path: 'gpu' }] });
});

test('features of a vendor have what the contract wants', async () => {
  const { results } = await client.call('listVendoraFeatures');
  expect(results).toEqual([
    {
      id: expect.any(String),
      title: 'Static IP',
      description: expect.any(String),
      cost_per_month_in_cents: null,
      cost_per_month: null,
      currency_code: null,
      is_cloud_provider_paying_feature: true,
      cloud_provider_feature_documentation: null,
      is_service_paying_feature: false,
      service_feature_documentation: null,
      value_type: 'BOOLEAN',
      value_object: null,
      is_value_updatable: false,
      accepted_values: [true, false],
    },
  ]);
  for (const id of ['listAWSFeatures', 'listVendorbFeatures', 'listCloudcFeatures'] as const) {
    expect((await client.call(id)).results.length).toBeGreaterThan(0);
  }
});

test('managed databases are listed, and their instance types by region', async () => {
  expect(names(await client.call('listAWSManagedDatabaseType'))).toEqual(['POSTGRESQL', 'MYSQL', 'MONGODB', 'REDIS']);
  expect(names(await client.call('listVENDORAManagedDatabaseType'))).toEqual(['POSTGRESQL', 'MYSQL']);
  const types = (region: string, databaseType: string) =>
    client.call('listAWSManagedDatabaseInstanceType', { params: { region, databaseType } });
  expect(names(await types('eu-west-3', 'postgresql'))).toContain('db.t3.medium');
  expect(names(await types('eu-west-3', 'REDIS'))).toContain('cache.t3.micro');
  await expect(types('eu-west-3', 'ORACLE')).rejects.toMatchObject({ status: 404 });
  await expect(types('mars', 'REDIS')).rejects.toMatchObject({ status: 404 });
});

test('lists of the catalogue have pages', async () => {
  const response = await fetch(`${server.baseUrl}/aws/region?page=2&pageSize=1`, {
    headers: { authorization: `Token ${server.adminToken}` },
  });
  const { results }: { results: { name: string }[] } = JSON.parse(await response.text());
  expect(results.map(({ name }) => name)).toEqual(['us-east-2']);
});
