import { randomUUID } from 'node:crypto';
import type { CallInput, Client } from '@davit/client';
import { statement } from '@davit/db';
import { makeTestEnvironment, startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import type { TestOrganization } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

let server: RunningServer;
let owner: TestOrganization;
let api: Client;
let projectId: string;
let environmentId: string;

beforeAll(async () => {
  server = await startRunningServer();
  owner = await server.organization();
  api = server.client(owner.tokens.WRITE);
  projectId = (await api.call('createProject', { params: { organizationId: owner.id }, body: { name: 'shop' } })).id;
  environmentId = await newEnvironment();
});
afterAll(() => server.close());

type Body = CallInput<'createDatabase'>['body'];

async function newEnvironment(): Promise<string> {
  return (await api.call('createEnvironment', { params: { projectId }, body: { name: randomUUID() } })).id;
}

const at = (databaseId: string) => ({ params: { databaseId } });
const create = (body: Partial<Body> = {}, location = environmentId) =>
  api.call('createDatabase', {
    params: { environmentId: location },
    body: { name: randomUUID(), type: 'POSTGRESQL', version: '16', mode: 'CONTAINER', ...body },
  });

async function until<Result>(read: () => Promise<Result | undefined>): Promise<Result> {
  const end = Date.now() + 15_000;
  for (;;) {
    const found = await read();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error('it did not come');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const reaches = (databaseId: string, ...states: readonly string[]) =>
  until(async () => {
    const status = await api.call('getDatabaseStatus', at(databaseId));
    if (status.state.endsWith('_ERROR') && !states.includes(status.state)) throw new Error(JSON.stringify(status));
    return states.includes(status.state) && status.deployment_requests_count === 0 ? status : undefined;
  });

async function deployed(body: Partial<Body> = {}, location = environmentId): Promise<string> {
  const { id } = await create(body, location);
  await api.call('deployDatabase', at(id));
  await reaches(id, 'DEPLOYED');
  return id;
}

function workloadOf(serviceId: string) {
  const instance = server.fake.instances.filter(({ service }) => service === serviceId).at(-1);
  const workload = instance === undefined ? undefined : server.fake.workloads.get(instance.id);
  if (workload === undefined) throw new Error('nothing runs');
  return { ...workload, values: Object.fromEntries(workload.environment.map(({ name, value }) => [name, value.reveal()])) };
}

describe('a database', () => {
  test('has the documented defaults, is read, listed, edited and deleted', async () => {
    const made = await create({ name: 'Store' });
    expect(made).toMatchObject({
      name: 'Store',
      service_type: 'DATABASE',
      type: 'POSTGRESQL',
      version: '16',
      mode: 'CONTAINER',
      accessibility: 'PRIVATE',
      cpu: 250,
      memory: 100,
      storage: 10,
      host: `z${made.id.slice(0, 8)}-postgresql`,
      port: 5432,
      environment: { id: environmentId },
      icon_uri: 'app://davit-console/postgresql',
      disk_encrypted: false,
    });
    expect(await api.call('getDatabase', at(made.id))).toEqual(made);
    expect((await api.call('listDatabase', { params: { environmentId } })).results).toContainEqual(made);
    const all = await api.call('listServicesByEnvironmentId', { params: { environmentId } });
    expect(all.results).toContainEqual(made);
    expect(JSON.stringify(all)).not.toMatch(/password|secret/i);
    const stage = await api.call('getServiceDeploymentStage', { params: { serviceId: made.id } });
    expect(stage.name).toBe('DATABASE DEFAULT');
    const edited = await api.call('editDatabase', {
      ...at(made.id),
      body: { name: 'Shelf', memory: 200, storage: 4, version: '15' },
    });
    expect(edited).toMatchObject({ name: 'Shelf', memory: 200, storage: 4, version: '15', cpu: 250 });
    await api.call('deleteDatabase', at(made.id));
    await expect(api.call('getDatabase', at(made.id))).rejects.toMatchObject({ status: 404 });
  });

  test.each([
    ['MYSQL', '8', 512, 3306],
    ['MONGODB', '7.0', 256, 27_017],
    ['REDIS', '7', 100, 6379],
  ] as const)('of type %s has the memory and port of its type', async (type, version, memory, port) => {
    expect(await create({ type, version })).toMatchObject({ type, memory, port });
  });

  test.each([
    [{ version: '9' }, 'version'],
    [{ version: 'latest' }, 'version'],
    [{ type: 'REDIS', version: '16' }, 'version'],
    [{ storage: 0 }, 'storage'],
    [{ cpu: 5 }, 'cpu'],
  ] as const)('with %j is refused at that field', async (body, path) => {
    await expect(create(body)).rejects.toMatchObject({ status: 400, errors: [{ path }] });
  });

  test('lists the versions of its type, and an environment those of all types', async () => {
    const made = await create({ type: 'REDIS', version: '6.2' });
    const names = (await api.call('listDatabaseVersion', at(made.id))).results.map(({ name }) => name);
    expect(names).toEqual(['5', '6', '7']);
    const { results } = await api.call('listEnvironmentDatabaseConfig', { params: { environmentId } });
    expect(results.map(({ database_type }) => database_type)).toEqual(['MONGODB', 'MYSQL', 'POSTGRESQL', 'REDIS']);
    expect(results[2]?.version).toContainEqual({ name: '17', supported_mode: 'CONTAINER' });
  });

  test('shows its credentials to who may write only, and its password nowhere else', async () => {
    const made = await create();
    const credentials = await api.call('getDatabaseMasterCredentials', at(made.id));
    expect(credentials).toMatchObject({ host: made.host, port: 5432, login: 'postgres' });
    expect(credentials.password).toMatch(/^[0-9a-f]{48}$/);
    const reader = server.client(owner.tokens.DEPLOY);
    await expect(reader.call('getDatabaseMasterCredentials', at(made.id))).rejects.toMatchObject({ status: 403 });
    const stored = statement<{ found: number }>(
      'test_database_password_in_clear',
      `select count(*)::int as found from service where spec::text like '%' || $1 || '%'`,
    );
    expect(await server.database.database.one(stored, [credentials.password])).toEqual({ found: 0 });
    const events = await api.call('getOrganizationEvents', { params: { organizationId: owner.id } });
    expect(JSON.stringify(events)).not.toContain(credentials.password);
  });
});

describe('what a database tells its environment', () => {
  test('is there at once, the password and what holds it as secrets', async () => {
    const location = await newEnvironment();
    const made = await create({}, location);
    const prefix = `DAVIT_POSTGRESQL_Z${made.id.slice(0, 8).toUpperCase()}_`;
    const params = { environmentId: location };
    const variables = (await api.call('listEnvironmentEnvironmentVariable', { params })).results;
    const own = variables.filter(({ key }) => key.startsWith(prefix));
    expect(Object.fromEntries(own.map(({ key, value }) => [key.slice(prefix.length), value]))).toEqual({
      HOST: made.host,
      HOST_INTERNAL: made.host,
      PORT: '5432',
      LOGIN: 'postgres',
      DEFAULT_DATABASE_NAME: 'postgres',
    });
    expect(own[0]).toMatchObject({ scope: 'BUILT_IN', service_id: made.id, service_type: 'DATABASE', owned_by: 'Davit' });
    const secrets = (await api.call('listEnvironmentSecrets', { params })).results;
    expect(secrets.map(({ key }) => key)).toEqual(
      ['PASSWORD', 'DATABASE_URL', 'DATABASE_URL_INTERNAL'].map((one) => prefix + one),
    );
    expect(secrets[0]).not.toHaveProperty('value');
    const query = { parent_id: location, scope: 'ENVIRONMENT' as const, is_secret: true };
    const masked = (await api.call('listVariables', { query })).results;
    expect(masked.map(({ value, is_secret }) => [value, is_secret])).toEqual(Array.from({ length: 3 }, () => [null, true]));
  });

  test('reaches the processes of other services, also by an alias and inside another value, and not its own process', async () => {
    const location = await newEnvironment();
    const id = await deployed({}, location);
    const { password, host } = await api.call('getDatabaseMasterCredentials', at(id));
    const prefix = `DAVIT_POSTGRESQL_Z${id.slice(0, 8).toUpperCase()}_`;
    const application = await api.call('createApplication', {
      params: { environmentId: location },
      body: { name: 'web', dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/shop/web.git' } },
    });
    const params = { applicationId: application.id };
    const secret = (await api.call('listApplicationSecrets', { params })).results.find(
      ({ key }) => key === `${prefix}DATABASE_URL`,
    );
    const alias = await api.call('createApplicationSecretAlias', {
      params: { ...params, secretId: secret?.id ?? '' },
      body: { key: 'DATABASE_URL' },
    });
    expect(alias).toMatchObject({
      key: 'DATABASE_URL',
      variable_type: 'ALIAS',
      aliased_secret: { key: `${prefix}DATABASE_URL` },
    });
    const value = `{{${prefix}LOGIN}}/{{${prefix}PASSWORD}}`;
    await api.call('createApplicationEnvironmentVariable', { params, body: { key: 'PAIR', value } });
    await api.call('createApplicationSecret', { params, body: { key: 'HIDDEN', value: `={{${prefix}PASSWORD}}=` } });
    await api.call('deployApplication', { params });
    await until(async () => {
      const { state } = await api.call('getApplicationStatus', { params });
      return state === 'DEPLOYED' ? true : undefined;
    });
    const { values } = workloadOf(application.id);
    const url = `postgresql://postgres:${password}@${host}:5432/postgres`;
    expect(values).toMatchObject({
      DATABASE_URL: url,
      [`${prefix}DATABASE_URL`]: url,
      [`${prefix}HOST`]: host,
      [`${prefix}PASSWORD`]: password,
      PAIR: `postgres/${password}`,
      HIDDEN: `=${password}=`,
    });
    const own = workloadOf(id);
    expect(own.values).toEqual({
      POSTGRES_USER: 'postgres',
      POSTGRES_PASSWORD: password,
      POSTGRES_DB: 'postgres',
      PGDATA: '/var/lib/postgresql/data/pgdata',
    });
    expect(own.hostnames).toContain(host);
    // The application can still start again after the database was deleted.
    await api.call('deleteDatabase', at(id));
    await until(() =>
      api.call('getDatabase', at(id)).then(
        () => undefined,
        () => true,
      ),
    );
    await api.call('rebootApplication', { params });
    await until(async () => {
      const status = await api.call('getApplicationStatus', { params });
      return status.state === 'RESTARTED' ? true : undefined;
    });
    expect(workloadOf(application.id).values['DATABASE_URL']).toBe(url);
  });
});

describe('a deployed database', () => {
  test('keeps its volume through stop, restart and redeployment, and loses it when it is deleted', async () => {
    const id = await deployed();
    expect((await api.call('getDatabaseStatus', at(id))).service_deployment_status).toBe('UP_TO_DATE');
    const volume = workloadOf(id).volumes[0];
    expect(volume).toMatchObject({ mountPath: '/var/lib/postgresql/data', sizeGiB: 10 });
    await api.call('stopDatabase', at(id));
    await reaches(id, 'STOPPED');
    await api.call('redeployDatabase', { ...at(id), query: { applyImmediately: true } });
    await reaches(id, 'DEPLOYED');
    await api.call('rebootDatabase', at(id));
    await reaches(id, 'RESTARTED');
    expect(workloadOf(id).volumes[0]?.id).toBe(volume?.id);
    const history = await api.call('listDatabaseDeploymentHistoryV2', at(id));
    expect(history.results.map(({ status }) => status)).toEqual(['RESTARTED', 'DEPLOYED', 'STOPPED', 'DEPLOYED']);
    const old = await api.call('listDatabaseDeploymentHistory', at(id));
    expect(old.results.map(({ status }) => status)).toEqual(['RESTARTED', 'DEPLOYED', 'STOPPED', 'DEPLOYED']);
    const statuses = await api.call('getEnvironmentDatabaseStatus', { params: { environmentId } });
    expect(statuses.results.map((status) => status.id)).toContain(id);
    await api.call('uninstallDatabase', at(id));
    await reaches(id, 'DELETED', 'READY');
    await api.call('deleteDatabase', at(id));
    await until(() =>
      api.call('getDatabase', at(id)).then(
        () => undefined,
        () => true,
      ),
    );
  });

  test.each([
    [{ type: 'POSTGRESQL', version: '16.1' }, '16.4', '16.4'],
    [{ type: 'POSTGRESQL', version: '16.1' }, '16', '16'],
    [{ type: 'POSTGRESQL', version: '16' }, '17', 'cannot become 17'],
    [{ type: 'POSTGRESQL', version: '16' }, '15', 'cannot be downgraded'],
    [{ type: 'MYSQL', version: '8.0' }, '8.4', 'cannot become 8.4'],
    [{ type: 'REDIS', version: '6' }, '7', '7'],
    [{ type: 'REDIS', version: '7' }, '6', 'cannot be downgraded'],
  ] as const)('%j that is set to version %s is answered with %s', async (body, version, expected) => {
    const id = await deployed(body);
    const edit = api.call('editDatabase', { ...at(id), body: { version } });
    const outcome = await edit.then(
      (edited) => edited.version,
      (error: unknown) => String(error),
    );
    expect(outcome).toContain(expected);
  });

  test('does not answer while it is redeployed, which a plan says without doing anything', async () => {
    const id = await deployed({ type: 'REDIS', version: '6' });
    await api.call('editDatabase', { ...at(id), body: { version: '7' } });
    const { plan } = await api.call('deployDatabase', { ...at(id), query: { dry_run: true } });
    expect(plan?.stages[0]?.services[0]).toMatchObject({ expected_downtime: true });
    const status = await api.call('getDatabaseStatus', at(id));
    expect(status).toMatchObject({ state: 'DEPLOYED', service_deployment_status: 'OUT_OF_DATE', deployment_requests_count: 0 });
    await api.call('deployDatabase', at(id));
    await until(async () => {
      const now = await api.call('getDatabaseStatus', at(id));
      return now.service_deployment_status === 'UP_TO_DATE' ? true : undefined;
    });
  });

  test('is run as the catalogue says of the version that was set last', async () => {
    const spec = statement<{ spec: { recipe: object } }>('test_database_spec', 'select spec from service where id = $1');
    const { id } = await create({ type: 'REDIS', version: '5' });
    const { recipe } = (await server.database.database.one(spec, [id])).spec;
    expect(recipe).toMatchObject({ url: 'redis://:{password}@{host}:{port}/{database}', tag: '{version}', port: 6379 });
    await api.call('editDatabase', { ...at(id), body: { version: '6' } });
    const edited = (await server.database.database.one(spec, [id])).spec.recipe;
    expect(edited).toMatchObject({ url: 'redis://{login}:{password}@{host}:{port}/{database}' });
  });

  test('may grow and never shrinks', async () => {
    const id = await deployed({ storage: 5 });
    expect(await api.call('editDatabase', { ...at(id), body: { storage: 6 } })).toMatchObject({ storage: 6 });
    const shrink = api.call('editDatabase', { ...at(id), body: { storage: 5 } });
    await expect(shrink).rejects.toMatchObject({ status: 400, errors: [{ path: 'storage' }] });
  });
});

describe('a public database', () => {
  test('gets a free port of the machine, keeps it, and gives it back', async () => {
    const first = await create({ accessibility: 'PUBLIC' });
    const second = await create({ accessibility: 'PUBLIC' });
    expect(first).toMatchObject({ accessibility: 'PUBLIC', host: 'localhost', port: 15_432 });
    expect(second.port).toBe(15_433);
    const edit = (databaseId: string, body: CallInput<'editDatabase'>['body']) =>
      api.call('editDatabase', { ...at(databaseId), body });
    expect((await edit(first.id, { memory: 128 })).port).toBe(15_432);
    expect(await edit(first.id, { accessibility: 'PRIVATE' })).toMatchObject({
      host: `z${first.id.slice(0, 8)}-postgresql`,
      port: 5432,
    });
    expect((await create({ accessibility: 'PUBLIC' })).port).toBe(15_432);
    const credentials = await api.call('getDatabaseMasterCredentials', at(second.id));
    expect(credentials).toMatchObject({ host: 'localhost', port: 15_433 });
  });

  test.each(['wildcard', 'each'])('is shown at a name with a certificate (%s), and its clients may use TLS', async (mode) => {
    const secured = await startRunningServer({
      DAVIT_GATEWAY_DOMAIN: 'apps.example.net',
      DAVIT_GATEWAY_HTTPS_PORT: '4443',
      DAVIT_ADDRESS_CERTIFICATES: mode,
    });
    try {
      const place = await makeTestEnvironment(secured);
      const { environmentId } = place;
      const make = async (body: CallInput<'createDatabase'>['body']) => {
        const { id } = await place.api.call('createDatabase', { params: { environmentId }, body });
        await place.api.call('deployDatabase', { params: { databaseId: id } });
        await vi.waitFor(async () => {
          const { state } = await place.api.call('getDatabaseStatus', { params: { databaseId: id } });
          expect(state).toBe('DEPLOYED');
        }, 30_000);
        return place.api.call('getDatabase', { params: { databaseId: id } });
      };
      const common = { mode: 'CONTAINER' as const, accessibility: 'PUBLIC' as const };
      const store = await make({ name: 'store', type: 'POSTGRESQL', version: '17', ...common });
      const old = await make({ name: 'old', type: 'MYSQL', version: '8.4', ...common });
      expect(store.host).toBe(`z${store.id.slice(0, 8)}-postgresql.apps.example.net`);
      expect(old.host).toBe('apps.example.net');
      const routes = secured.fake.routes.tcp.map(({ listenPort, acceptsTls }) => [listenPort, acceptsTls]);
      expect(routes).toEqual(
        expect.arrayContaining([
          [store.port, true],
          [old.port, undefined],
        ]),
      );
    } finally {
      await secured.close();
    }
  });
});

test('databases are deployed and restarted among other services that a request names', async () => {
  const location = await newEnvironment();
  const params = { environmentId: location };
  const [first, second] = [await create({}, location), await create({ type: 'REDIS', version: '7' }, location)];
  await api.call('deployAllServices', { params, body: { databases: [first.id, second.id] } });
  for (const { id } of [first, second]) await reaches(id, 'DEPLOYED');
  await api.call('rebootServices', { params, body: { database_ids: [second.id] } });
  await reaches(second.id, 'RESTARTED');
  const statuses = await api.call('getEnvironmentStatuses', { params });
  expect(statuses.databases.map(({ state }) => state).toSorted()).toEqual(['DEPLOYED', 'RESTARTED']);
  await expect(create({ name: second.name.toUpperCase() }, location)).rejects.toMatchObject({ status: 409, code: 'NAME_TAKEN' });
});

test('a managed database is deployed as others are', async () => {
  const location = await newEnvironment();
  const { id } = await create({ name: 'precious', mode: 'MANAGED', instance_type: 'db.t3.micro' }, location);
  expect(await api.call('getDatabase', at(id))).toMatchObject({ mode: 'MANAGED', instance_type: 'db.t3.micro' });
  await api.call('deployDatabase', at(id));
  await reaches(id, 'DEPLOYED');
});

test('a copy of an environment has the databases with the same password, another host and volume, and no data', async () => {
  const location = await newEnvironment();
  const original = await create({ name: 'store', accessibility: 'PUBLIC' }, location);
  const secrets = (await api.call('listEnvironmentSecrets', { params: { environmentId: location } })).results;
  const url = secrets.find(({ key }) => key.endsWith('_DATABASE_URL'));
  const params = { environmentId: location, secretId: url?.id ?? '' };
  await api.call('createEnvironmentSecretAlias', { params, body: { key: 'DATABASE_URL' } });
  const { id } = await api.call('cloneEnvironment', { params: { environmentId: location }, body: { name: randomUUID() } });
  const copy = (await api.call('listDatabase', { params: { environmentId: id } })).results[0];
  expect(copy).toMatchObject({ name: 'store', accessibility: 'PUBLIC' });
  expect(copy?.port).not.toBe(original.port);
  const [mine, theirs] = await Promise.all([
    api.call('getDatabaseMasterCredentials', at(original.id)),
    api.call('getDatabaseMasterCredentials', at(copy?.id ?? '')),
  ]);
  expect(theirs.password).toBe(mine.password);
  const copied = (await api.call('listEnvironmentSecrets', { params: { environmentId: id } })).results;
  expect(copied.find(({ key }) => key === 'DATABASE_URL')?.aliased_secret?.key).toBe(
    `DAVIT_POSTGRESQL_Z${copy?.id.slice(0, 8).toUpperCase()}_DATABASE_URL`,
  );
  const volumes = statement<{ id: string }>(
    'test_database_volumes',
    `select spec #>> '{storage,0,id}' as id from service where id = any ($1::uuid[])`,
  );
  const rows = await server.database.database.many(volumes, [[original.id, copy?.id]]);
  expect(new Set(rows.map((row) => row.id)).size).toBe(2);
});
