import { randomUUID } from 'node:crypto';
import type { CallInput, Client } from '@davit/client';
import { statement } from '@davit/db';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let server: TestServer;
let client: Client;
let params: { organizationId: string };
beforeAll(async () => {
  server = await startTestServer();
  client = server.client();
  params = { organizationId: (await server.organization()).id };
});
afterAll(() => server.close());

type Body = CallInput<'createContainerRegistry'>['body'];
const create = (body: Partial<Body> & Pick<Body, 'kind'>) =>
  client.call('createContainerRegistry', { params, body: { name: randomUUID(), config: {}, ...body } });
const generic = { kind: 'GENERIC_CR', url: 'https://registry.example.org' } as const;

/**
 * Inserts a service that uses a registry, in the form in which such a service is stored. Services of this type cannot
 * be created over HTTP yet.
 */
const insertService = statement(
  'test_insert_registry_user',
  `with place as (select e.*, s.id as stage_id from environment e join deployment_stage s on s.environment_id = e.id
                   where e.id = $1 order by s.position limit 1)
   insert into service (id, organization_id, project_id, environment_id, stage_id, stage_entry_id, type, name, spec, driver)
   select gen_random_uuid(), organization_id, project_id, id, stage_id, gen_random_uuid(), $2, $3, $4::jsonb, 'fake' from place`,
);
const deleteServices = statement('test_delete_registry_users', 'delete from service where environment_id = $1');
const stored = statement<{ row: string }>(
  'test_stored_registry',
  'select to_jsonb(r)::text || encode(sealed, $2) as row from container_registry r where id = $1',
);

test('is created, read, listed, edited and deleted', async () => {
  const own = { organizationId: (await server.organization()).id };
  const made = await client.call('createContainerRegistry', {
    params: own,
    body: { name: 'hub', kind: 'HUBA_CR', description: 'images', config: { username: 'ann', password: 'sesame-canary' } },
  });
  expect(made).toMatchObject({ name: 'hub', kind: 'HUBA_CR', description: 'images', url: 'https://docker.io' });
  expect(made).toMatchObject({ config: { username: 'ann' }, associated_services_count: 0 });
  const ids = { ...own, containerRegistryId: made.id };
  expect(await client.call('getContainerRegistryContainerStatus', { params: ids })).toEqual({ results: [] });
  expect(await client.call('getContainerRegistry', { params: ids })).toEqual(made);
  expect(await client.call('listContainerRegistry', { params: own })).toEqual({ results: [made] });
  const edited = await client.call('editContainerRegistry', {
    params: ids,
    body: { name: 'Hub', kind: 'HUBA_CR', config: {} },
  });
  expect(edited).toMatchObject({ id: made.id, name: 'Hub', description: 'images', config: { username: 'ann' } });
  await client.call('deleteContainerRegistry', { params: ids });
  await expect(client.call('getContainerRegistry', { params: ids })).rejects.toMatchObject({ status: 404 });
});

test('never shows a secret, nor stores it in clear', async () => {
  const secrets = { secret_access_key: 'canary-one-1' };
  const made = await create({ ...generic, kind: 'ECR', config: { region: 'r', access_key_id: 'AKIA', ...secrets } });
  const keys = { vendora_access_key: 'k', vendora_secret_key: 'canary-two-2', vendora_project_id: 'p' };
  const other = await create({ ...generic, kind: 'VENDORA_CR', config: { region: 'r', ...keys } });
  const third = await create({
    ...generic,
    kind: 'CLOUDC_ARTIFACT_REGISTRY',
    config: { region: 'r', json_credentials: '{"k":"canary-three-3"}' },
  });
  expect(made.config).toEqual({ region: 'r', access_key_id: 'AKIA' });
  expect(other.config).toEqual({ region: 'r', vendora_access_key: 'k', vendora_project_id: 'p' });
  expect(third.config).toEqual({ region: 'r' });
  const listed = JSON.stringify(await client.call('listContainerRegistry', { params }));
  expect(listed).not.toContain('canary');
  for (const { id } of [made, other, third]) {
    const { row } = await server.database.database.one(stored, [id, 'escape']);
    expect(row).not.toContain('canary');
    expect(row.length).toBeGreaterThan(200);
  }
});

describe('its url', () => {
  test('is fixed for public registries, however it is written', async () => {
    for (const [kind, url] of [
      ['HUBA_CR', 'https://docker.io'],
      ['HOSTA_CR', 'https://ghcr.io'],
      ['HOSTB_CR', 'https://registry.gitlab.com'],
    ] as const) {
      expect(await create({ kind })).toMatchObject({ url });
      expect(await create({ kind, url: `${url.toUpperCase().replace('HTTPS', 'https')}/` })).toMatchObject({ url });
      await expect(create({ kind, url: 'https://registry.example.org' })).rejects.toMatchObject({
        status: 400,
        code: 'VALIDATION_FAILED',
        errors: [{ path: 'url', message: expect.stringContaining(url) }],
      });
    }
  });

  test('is required for others and starts with https://', async () => {
    const wrong = [
      undefined,
      null,
      '',
      'http://registry.example.org',
      'registry.example.org',
      'https://',
      'https:///path',
      'https://ann:pw@registry.example.org',
      'https://registry.example.org/?a=b',
      'https://registry example.org',
      'ftp://registry.example.org',
    ];
    for (const url of wrong) {
      const refusal = { status: 400, code: 'VALIDATION_FAILED', errors: [{ path: 'url', message: expect.any(String) }] };
      await expect(create({ kind: 'GENERIC_CR', url })).rejects.toMatchObject(refusal);
    }
    for (const kind of ['GENERIC_CR', 'PUBLIC_ECR', 'HOSTA_ENTERPRISE_CR', 'VENDORB_CR'] as const) {
      const made = await create({ kind, url: 'https://registry.example.org/team' });
      expect(made).toMatchObject({ kind, url: 'https://registry.example.org/team', config: {} });
    }
  });
});

test('of kind DOCR is refused, as that is no longer supported', async () => {
  await expect(create({ kind: 'DOCR', url: 'https://registry.example.org' })).rejects.toMatchObject({
    status: 400,
    errors: [{ path: 'kind', message: expect.stringContaining('no longer supported') }],
  });
  const { results } = await client.call('listAvailableContainerRegistry');
  expect(results.map(({ kind }) => kind)).not.toContain('DOCR');
  expect(results.find(({ kind }) => kind === 'ECR')).toEqual({
    kind: 'ECR',
    required_config: { region: 'string', access_key_id: 'string', secret_access_key: 'string' },
    is_mandatory: false,
  });
  expect(results).toHaveLength(10);
});

test('needs the credentials of its kind, and each that is missing is named', async () => {
  const pathsOf = async (call: Promise<unknown>): Promise<string[]> =>
    call.then(
      () => [],
      (error: { errors: { path: string }[] }) => error.errors.map(({ path }) => path),
    );
  expect(await pathsOf(create({ ...generic, kind: 'ECR' }))).toEqual([
    'config.region',
    'config.access_key_id',
    'config.secret_access_key',
  ]);
  expect(await pathsOf(create({ ...generic, kind: 'VENDORA_CR', config: { region: '' } }))).toEqual([
    'config.region',
    'config.vendora_access_key',
    'config.vendora_secret_key',
  ]);
  expect(await pathsOf(create({ ...generic, kind: 'CLOUDC_ARTIFACT_REGISTRY' }))).toEqual([
    'config.region',
    'config.json_credentials',
  ]);
  expect(await pathsOf(create({ ...generic, config: { username: 'ann' } }))).toEqual(['config.password']);
  expect(await pathsOf(create({ ...generic, config: { password: 'x' } }))).toEqual(['config.username']);
  // Fields that a kind does not have are not stored.
  expect((await create({ ...generic, kind: 'PUBLIC_ECR', config: { username: 'ann', region: 'r' } })).config).toEqual({});
});

describe('an edit', () => {
  const edit = (id: string, body: Body) =>
    client.call('editContainerRegistry', { params: { ...params, containerRegistryId: id }, body });

  test('takes credentials away with null, and never takes them along to another place', async () => {
    const config = { username: 'ann', password: 'sesame' };
    const { id, name } = await create({ ...generic, config });
    expect(await edit(id, { name, kind: 'GENERIC_CR', config: { username: 'bob' } })).toMatchObject({
      config: { username: 'bob' },
    });
    expect((await edit(id, { name, ...generic, url: 'https://other.example.org', config: {} })).config).toEqual({});
    await edit(id, { name, kind: 'GENERIC_CR', config });
    const moved = edit(id, { name, ...generic, config: { username: 'ann' } });
    await expect(moved).rejects.toMatchObject({ status: 400, errors: [{ path: 'config.password' }] });
    const cleared = await edit(id, { name, kind: 'GENERIC_CR', config: { username: null, password: null } });
    expect(cleared).toMatchObject({ url: 'https://other.example.org', config: {} });
    await expect(edit(id, { name, kind: 'ECR', config: {} })).rejects.toMatchObject({ status: 400, code: 'VALIDATION_FAILED' });
    expect(await edit(id, { name, kind: 'HOSTA_CR', config: {} })).toMatchObject({ url: 'https://ghcr.io' });
  });

  test('of two at once loses nothing', async () => {
    const { id, name } = await create({ ...generic, config: { username: 'ann', password: 'sesame' } });
    const [first, second] = await Promise.all([
      edit(id, { name, kind: 'GENERIC_CR', config: { username: 'bob' } }),
      edit(id, { name, kind: 'GENERIC_CR', description: 'd', config: {} }),
    ]);
    expect(first?.config.username).toBe('bob');
    expect(second?.description).toBe('d');
    const now = await client.call('getContainerRegistry', { params: { ...params, containerRegistryId: id } });
    expect(now).toMatchObject({ description: 'd', config: { username: 'bob' } });
  });
});

test('has a name of its own in the organization, of two at once too', async () => {
  const name = `name ${randomUUID()}`;
  const results = await Promise.allSettled([name, name.toUpperCase()].map((wanted) => create({ ...generic, name: wanted })));
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const other = { organizationId: (await server.organization()).id };
  await client.call('createContainerRegistry', { params: other, body: { name, config: {}, ...generic } });
  const { id } = await create(generic);
  const ids = { ...params, containerRegistryId: id };
  await expect(
    client.call('editContainerRegistry', { params: ids, body: { name, config: {}, ...generic } }),
  ).rejects.toMatchObject({ status: 409, code: 'NAME_TAKEN' });
});

test('is not deleted while containers and jobs use it, which it lists', async () => {
  const { id } = await create(generic);
  const project = await client.call('createProject', { params, body: { name: 'shop' } });
  const environment = await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } });
  const specs = [
    ['CONTAINER', 'cache', { registry_id: id, image_name: 'redis', tag: '7' }],
    ['JOB', 'migrate', { source: { image: { registry_id: id } }, schedule: { on_start: {} } }],
    ['JOB', 'nightly', { source: { image: { registry_id: id } }, schedule: { cronjob: { scheduled_at: '0 3 * * *' } } }],
    ['CONTAINER', 'stranger', { registry_id: randomUUID() }],
  ] as const;
  for (const [type, name, spec] of specs) {
    await server.database.database.run(insertService, [environment.id, type, name, JSON.stringify(spec)]);
  }
  const ids = { ...params, containerRegistryId: id };
  const { results } = await client.call('getContainerRegistryAssociatedServices', { params: ids });
  expect(results.map(({ service_name, service_type }) => [service_name, service_type])).toEqual([
    ['cache', 'CONTAINER'],
    ['migrate', 'LIFECYCLE'],
    ['nightly', 'CRON'],
  ]);
  expect(results[0]).toMatchObject({ project_id: project.id, project_name: 'shop', environment_id: environment.id });
  expect(await client.call('getContainerRegistry', { params: ids })).toMatchObject({ associated_services_count: 3 });
  await expect(client.call('deleteContainerRegistry', { params: ids })).rejects.toMatchObject({
    status: 409,
    code: 'IN_USE',
    message: expect.stringContaining('cache, migrate, nightly'),
  });
  await server.database.database.run(deleteServices, [environment.id]);
  await client.call('deleteContainerRegistry', { params: ids });
});
