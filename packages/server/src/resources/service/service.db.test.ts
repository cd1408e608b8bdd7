import { randomUUID } from 'node:crypto';
import { ApiError, type Client } from '@davit/client';
import { checkStatements } from '@davit/db';
import { createFakeCluster } from '@davit/drivers';
import { createEngine } from '@davit/engine';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';

let server: TestServer;
let api: Client;
let environmentId: string;
let organizationId: string;

const git_repository = { url: 'https://git.example.org/acme/shop.git' };

beforeAll(async () => {
  // Nothing runs: deployments stay in the queue.
  const fake = createFakeCluster();
  server = await startTestServer({
    engine: (parts) => createEngine({ ...parts, drivers: { docker: fake } }),
    environment: { DAVIT_PORT: '0' },
  });
  const organization = await server.organization('acme');
  organizationId = organization.id;
  api = server.client(organization.tokens.WRITE);
  environmentId = await newEnvironment(api, organizationId);
});

afterAll(() => server.close());

async function newEnvironment(client: Client, organization: string): Promise<string> {
  const project = await client.call('createProject', { params: { organizationId: organization }, body: { name: randomUUID() } });
  const made = await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'Production' } });
  return made.id;
}

async function newApplication(body: object = {}, environment = environmentId): Promise<string> {
  const made = await api.call('createApplication', {
    params: { environmentId: environment },
    body: { name: `shop ${randomUUID()}`, dockerfile_path: 'Dockerfile', git_repository, ...body },
  });
  return made.id;
}

/** Returns code and message of the error that a call fails with. */
async function failure(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ApiError) return `${error.status} ${error.code}: ${error.message}`;
    throw error;
  }
  throw new Error('the call succeeded');
}

const at = (applicationId: string): { params: { applicationId: string } } => ({ params: { applicationId } });

test('every statement of the server is one that PostgreSQL takes', async () => {
  expect(await checkStatements(server.database.connectionString)).toEqual([]);
});

test('an application is created, read, listed, edited and deleted', async () => {
  const environment = await newEnvironment(api, organizationId);
  const params = { environmentId: environment };
  const body = {
    name: 'Shop',
    dockerfile_path: 'Dockerfile',
    git_repository,
    ports: [{ internal_port: 80, publicly_accessible: true }],
  };
  const made = await api.call('createApplication', { params, body });
  expect(made).toMatchObject({ name: 'Shop', service_type: 'APPLICATION', cpu: 500, environment: { id: environment } });
  expect(await api.call('getApplication', at(made.id))).toEqual(made);
  expect(await api.call('listApplication', { params })).toEqual({ results: [made] });
  expect(await api.call('listServicesByEnvironmentId', { params })).toEqual({ results: [made] });

  const edited = await api.call('editApplication', {
    ...at(made.id),
    body: { cpu: 700, ports: [{ internal_port: 80, publicly_accessible: true, name: 'web' }] },
  });
  expect(edited).toMatchObject({ cpu: 700, memory: 512, ports: [{ id: made.ports?.[0]?.id, name: 'web' }] });
  expect(await api.call('getApplication', at(made.id))).toEqual(edited);

  const stages = await api.call('listEnvironmentDeploymentStage', { params });
  expect(
    stages.results.filter(({ services }) => services.some(({ service_id }) => service_id === made.id)).map(({ name }) => name),
  ).toEqual(['APPLICATION DEFAULT']);
  await api.call('deleteApplication', at(made.id));
  expect(await failure(api.call('getApplication', at(made.id)))).toBe('404 NOT_FOUND: There is no such service.');
});

test('a name is free once in an environment, also for requests at the same moment', async () => {
  const params = { environmentId };
  const name = `Twin ${randomUUID()}`;
  const create = (wanted: string): Promise<unknown> =>
    api.call('createApplication', { params, body: { name: wanted, dockerfile_path: 'Dockerfile', git_repository } }).then(
      () => 'made',
      (error: unknown) => (error instanceof ApiError ? error.code : error),
    );
  const outcomes = await Promise.all([create(name), create(name.toUpperCase()), create(name.toLowerCase())]);
  expect(outcomes.filter((outcome) => outcome === 'made')).toHaveLength(1);
  expect(outcomes.filter((outcome) => outcome === 'NAME_TAKEN')).toHaveLength(2);
  const other = await newApplication();
  expect(await failure(api.call('editApplication', { ...at(other), body: { name } }))).toMatch(/^409 NAME_TAKEN/);
});

test('bad input names its fields and writes nothing', async () => {
  const body = {
    name: 'bad',
    dockerfile_path: 'Dockerfile',
    git_repository: { url: 'git@host:x', branch: 'a..b' },
    min_running_instances: 2,
    max_running_instances: 1,
  };
  const error = await api.call('createApplication', { params: { environmentId }, body }).catch((caught: unknown) => caught);
  expect(error).toMatchObject({
    status: 400,
    code: 'VALIDATION_FAILED',
    errors: [{ path: 'git_repository.url' }, { path: 'git_repository.branch' }, { path: 'max_running_instances' }],
  });
  const { results } = await api.call('listApplication', { params: { environmentId } });
  expect(results.map(({ name }) => name)).not.toContain('bad');
  const token = { ...git_repository, git_token_id: randomUUID() };
  expect(
    await failure(
      api.call('createApplication', {
        params: { environmentId },
        body: { name: 'bad', dockerfile_path: 'Dockerfile', git_repository: token },
      }),
    ),
  ).toMatch(/^400 INVALID_REFERENCE: git_repository\.git_token_id/);
});

test('nothing of another organization is there', async () => {
  const stranger = server.client((await server.organization()).tokens.WRITE);
  const id = await newApplication();
  const answers = await Promise.all([
    failure(stranger.call('getApplication', at(id))),
    failure(stranger.call('editApplication', { ...at(id), body: { cpu: 100 } })),
    failure(stranger.call('deleteApplication', at(id))),
    failure(stranger.call('deployApplication', at(id))),
    failure(stranger.call('deployApplication', { ...at(id), query: { dry_run: true } })),
    failure(stranger.call('redeployApplication', at(id))),
    failure(stranger.call('rebootApplication', at(id))),
    failure(stranger.call('stopApplication', at(id))),
    failure(stranger.call('uninstallApplication', at(id))),
    failure(stranger.call('getApplicationStatus', at(id))),
    failure(stranger.call('listApplicationLinks', at(id))),
    failure(stranger.call('listApplicationLog', at(id))),
    failure(stranger.call('listApplicationDeploymentHistoryV2', at(id))),
    failure(stranger.call('listApplicationEnvironmentVariable', at(id))),
    failure(stranger.call('createApplicationEnvironmentVariable', { ...at(id), body: { key: 'A' } })),
    failure(stranger.call('listApplicationSecrets', at(id))),
    failure(stranger.call('createApplicationSecret', { ...at(id), body: { key: 'A' } })),
    failure(stranger.call('listDeploymentRequestByServiceId', { params: { serviceId: id } })),
  ]);
  expect(new Set(answers)).toEqual(new Set(['404 NOT_FOUND: There is no such service.']));
  expect(await failure(stranger.call('listApplication', { params: { environmentId } }))).toMatch(/^404/);
  expect(await failure(stranger.call('getEnvironmentApplicationStatus', { params: { environmentId } }))).toMatch(/^404/);
});

test('a port of the machine belongs to one service, also at the same moment, and is free again when that is gone', async () => {
  const ports = [{ internal_port: 5432, publicly_accessible: true, protocol: 'TCP' as const, external_port: 19_001 }];
  const create = (): Promise<string> => newApplication({ ports });
  const outcomes = await Promise.allSettled([create(), create(), create()]);
  const [winner, ...more] = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  expect(more).toEqual([]);
  expect(await failure(create())).toMatch(
    /^409 IN_USE: ports\.0\.external_port is TCP port 19001 of this machine, which is used by the service "shop /,
  );
  const organization = await server.organization();
  const stranger = server.client(organization.tokens.WRITE);
  const elsewhere = { environmentId: await newEnvironment(stranger, organization.id) };
  const body = { name: 'x', dockerfile_path: 'Dockerfile', git_repository, ports };
  expect(await failure(stranger.call('createApplication', { params: elsewhere, body }))).toContain('is used by another service;');
  await api.call('editApplication', { ...at(winner ?? ''), body: { ports: [] } });
  await create();
});

test('variables are created, aliased, edited and deleted with what points at them', async () => {
  const id = await newApplication();
  const create = (body: { key: string; value?: string; mount_path?: string }): ReturnType<typeof createVariable> =>
    createVariable(id, body);
  const url = await create({ key: 'URL', value: 'http://{{HOST}}' });
  expect(url).toMatchObject({
    value: 'http://{{HOST}}',
    scope: 'APPLICATION',
    variable_type: 'VALUE',
    service_id: id,
    mount_path: null,
  });
  const file = await create({ key: 'CONFIG', value: 'text', mount_path: '/etc/app.conf' });
  expect(file).toMatchObject({ variable_type: 'FILE', mount_path: '/etc/app.conf' });

  const target = { params: { applicationId: id, environmentVariableId: url.id } };
  const alias = await api.call('createApplicationEnvironmentVariableAlias', {
    ...target,
    body: { key: 'ADDRESS', description: 'same' },
  });
  expect(alias).toMatchObject({
    key: 'ADDRESS',
    variable_type: 'ALIAS',
    value: 'http://{{HOST}}',
    aliased_variable: { id: url.id, key: 'URL' },
  });
  const ofAlias = { params: { applicationId: id, environmentVariableId: alias.id } };
  expect(await failure(api.call('createApplicationEnvironmentVariableAlias', { ...ofAlias, body: { key: 'X' } }))).toMatch(
    /^400 VALIDATION_FAILED/,
  );
  expect(
    await failure(api.call('editApplicationEnvironmentVariable', { ...ofAlias, body: { key: 'ADDRESS', value: 'x' } })),
  ).toMatch(/^400 VARIABLE_NOT_EDITABLE/);
  expect(await api.call('editApplicationEnvironmentVariable', { ...ofAlias, body: { key: 'PLACE' } })).toMatchObject({
    key: 'PLACE',
    description: 'same',
  });
  expect(await api.call('editApplicationEnvironmentVariable', { ...target, body: { key: 'URL', value: 'new' } })).toMatchObject({
    value: 'new',
  });

  const { results } = await api.call('listApplicationEnvironmentVariable', at(id));
  const shown = Object.fromEntries(results.map(({ key, value }) => [key, value]));
  expect(shown).toMatchObject({
    URL: 'new',
    PLACE: 'new',
    CONFIG: 'text',
    DAVIT_APPLICATION_ID: id,
    DAVIT_ENVIRONMENT_NAME: 'Production',
  });
  expect(results.map(({ created_at }) => created_at)).toEqual(results.map(({ created_at }) => created_at).toSorted());

  await api.call('deleteApplicationEnvironmentVariable', target);
  const left = (await api.call('listApplicationEnvironmentVariable', at(id))).results.filter(({ scope }) => scope !== 'BUILT_IN');
  expect(left.map(({ key }) => key)).toEqual(['CONFIG']);
  expect(await failure(api.call('deleteApplicationEnvironmentVariable', target))).toMatch(/^404/);
});

function createVariable(applicationId: string, body: { key: string; value?: string; mount_path?: string }) {
  return api.call('createApplicationEnvironmentVariable', { params: { applicationId }, body });
}

test('keys follow their rule and are free once, over variables and secrets, also at the same moment', async () => {
  const id = await newApplication();
  for (const key of ['1A', 'A-B', 'A B', 'DAVIT_X', '__A', 'É', ''])
    expect(await failure(createVariable(id, { key }))).toMatch(/^400 VALIDATION_FAILED: Validation error: key /);
  await createVariable(id, { key: 'DAVITX' });
  const secret = (key: string): Promise<unknown> => api.call('createApplicationSecret', { ...at(id), body: { key, value: 'v' } });
  const outcomes = await Promise.allSettled([
    createVariable(id, { key: 'A' }),
    secret('A'),
    createVariable(id, { key: 'A' }),
    secret('A'),
  ]);
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(await failure(secret('A'))).toMatch(/^409 KEY_TAKEN/);
  await secret('a');
  for (const mount_path of ['relative', '/a/../b', '/a/', '/']) {
    expect(await failure(createVariable(id, { key: 'F', mount_path }))).toMatch(
      /^400 VALIDATION_FAILED: Validation error: mount_path /,
    );
  }
  await createVariable(id, { key: 'F', mount_path: '/f' });
  expect(await failure(createVariable(id, { key: 'G', mount_path: '/f' }))).toMatch(/is where F is mounted/);
  expect(await failure(createVariable(id, { key: 'LONG', value: 'x'.repeat(131_072) }))).toMatch(
    /^400 VALIDATION_FAILED: Validation error: value /,
  );
});

test('what a service inherits or is given is not edited there; an alias of a built-in follows it', async () => {
  const id = await newApplication({ name: 'Built in' });
  const inherited = randomUUID();
  await insertEnvironmentVariable(inherited, 'INHERITED');
  const { results } = await api.call('listApplicationEnvironmentVariable', at(id));
  expect(results.find(({ key }) => key === 'INHERITED')).toMatchObject({ scope: 'ENVIRONMENT', value: 'wide' });
  expect(results.find(({ key }) => key === 'INHERITED')).not.toHaveProperty('service_id');
  expect(await failure(createVariable(id, { key: 'INHERITED' }))).toMatch(
    /^409 KEY_TAKEN: INHERITED is inherited from the environment/,
  );
  const name = results.find(({ key }) => key === 'DAVIT_APPLICATION_NAME');
  for (const environmentVariableId of [inherited, name?.id ?? '']) {
    const params = { applicationId: id, environmentVariableId };
    expect(await failure(api.call('editApplicationEnvironmentVariable', { params, body: { key: 'X' } }))).toMatch(
      /^400 VARIABLE_NOT_EDITABLE/,
    );
    expect(await failure(api.call('deleteApplicationEnvironmentVariable', { params }))).toMatch(/^400 VARIABLE_NOT_EDITABLE/);
  }
  const params = { applicationId: id, environmentVariableId: name?.id ?? '' };
  await api.call('createApplicationEnvironmentVariableAlias', { params, body: { key: 'ME' } });
  await api.call('editApplication', { ...at(id), body: { name: 'Renamed' } });
  const now = await api.call('listApplicationEnvironmentVariable', at(id));
  expect(now.results.find(({ key }) => key === 'ME')).toMatchObject({
    value: 'Renamed',
    aliased_variable: { id: name?.id, scope: 'BUILT_IN' },
  });
});

async function insertEnvironmentVariable(id: string, key: string): Promise<void> {
  const text = `insert into variable (id, organization_id, environment_id, key, type, is_secret, value) values ($1, $2, $3, $4, 'VALUE', false, 'wide')`;
  await server.database.database.run({ name: 'test insert environment variable', text }, [
    id,
    organizationId,
    environmentId,
    key,
  ]);
}

test('a secret is never shown, stored in clear, or reached through the variables', async () => {
  const id = await newApplication();
  const value = `canary-${randomUUID()}`;
  const secret = await api.call('createApplicationSecret', { ...at(id), body: { key: 'PASSWORD', value } });
  const params = { applicationId: id, secretId: secret.id };
  const alias = await api.call('createApplicationSecretAlias', { params, body: { key: 'PASS' } });
  expect(alias).toMatchObject({ aliased_secret: { id: secret.id, key: 'PASSWORD' } });
  const edited = await api.call('editApplicationSecret', { params, body: { key: 'PASSWORD', description: 'x' } });
  const seen = [
    secret,
    alias,
    edited,
    await api.call('listApplicationSecrets', at(id)),
    await api.call('listApplicationEnvironmentVariable', at(id)),
  ];
  expect(JSON.stringify(seen)).not.toContain(value);
  expect(seen.slice(0, 3).every((record) => !('value' in record))).toBe(true);
  const asVariable = { params: { applicationId: id, environmentVariableId: secret.id } };
  expect(await failure(api.call('deleteApplicationEnvironmentVariable', asVariable))).toMatch(/^404/);
  expect(await failure(api.call('createApplicationEnvironmentVariableAlias', { ...asVariable, body: { key: 'X' } }))).toMatch(
    /^404/,
  );
  const dump = await server.database.database.many<{ text: string }>({
    name: 'test dump of variables',
    text: `select v::text || coalesce(encode(s.sealed, 'escape'), '') as text from variable v left join secret_value s on s.id = v.secret_value_id`,
  });
  expect(dump.map(({ text }) => text).join('\n')).not.toContain(value);
});

test('a deployment is asked for with its status, in the queue, once; a plan changes nothing', async () => {
  const id = await newApplication({ ports: [{ internal_port: 80, publicly_accessible: true, public_path: '/x' }] });
  expect(await api.call('getApplicationStatus', at(id))).toMatchObject({
    state: 'READY',
    service_deployment_status: 'NEVER_DEPLOYED',
  });
  const planned = await api.call('deployApplication', { ...at(id), query: { dry_run: true } });
  expect(planned).toMatchObject({
    state: 'READY',
    plan: { action: 'DEPLOY', stages: [{ services: [{ service_id: id, instances: { from: 0, to: 1 } }] }] },
  });
  expect(await failure(api.call('stopApplication', at(id)))).toMatch(/^409 NEVER_DEPLOYED/);
  expect(await api.call('uninstallApplication', at(id))).toBeUndefined();

  const commit = 'ABCDEF1234';
  const answer = await api.call('deployApplication', { ...at(id), body: { git_commit_id: commit } });
  expect(answer).toMatchObject({
    id,
    status: 'QUEUED',
    application_id: id,
    state: 'DEPLOYMENT_QUEUED',
    deployment_requests_count: 1,
  });
  expect(await api.call('getApplicationStatus', at(id))).toMatchObject({ state: 'DEPLOYMENT_QUEUED' });
  const statuses = await api.call('getEnvironmentApplicationStatus', { params: { environmentId } });
  expect(statuses.results.find((status) => status.id === id)).toMatchObject({ state: 'DEPLOYMENT_QUEUED' });
  const queue = await api.call('listDeploymentRequestByServiceId', { params: { serviceId: id } });
  expect(queue.results).toMatchObject([{ identifier: { deployment_request_id: answer.deployment_request_id, service_id: id } }]);
  const links = await api.call('listApplicationLinks', at(id));
  expect(links.results).toMatchObject([
    { internal_port: 80, is_default: true, url: expect.stringMatching(/^http:\/\/shop-.*\.localhost:\d+\/x$/) as unknown },
  ]);
  expect(await api.call('listApplicationLog', at(id))).toEqual({ results: [] });

  expect(
    await failure(api.call('deployApplication', { ...at(id), body: { git_commit_id: commit, release_id: randomUUID() } })),
  ).toMatch(/^400 VALIDATION_FAILED/);
  expect(await failure(api.call('deployApplication', { ...at(id), body: { release_id: randomUUID() } }))).toMatch(
    /^404 NOT_FOUND/,
  );
});

test('a service with a request in the queue is deleted by a deployment, and nothing more is done with it', async () => {
  const environment = await newEnvironment(api, organizationId);
  const id = await newApplication({}, environment);
  await api.call('deployApplication', at(id));
  await api.call('deleteApplication', at(id));
  await api.call('deleteApplication', at(id));
  expect(await api.call('getApplication', at(id))).toMatchObject({ id });
  expect(await failure(api.call('deployApplication', at(id)))).toMatch(/^409 BEING_DELETED/);
  expect(await failure(api.call('editApplication', { ...at(id), body: { cpu: 100 } }))).toMatch(/^409 BEING_DELETED/);
  expect(await failure(createVariable(id, { key: 'A' }))).toMatch(/^409 BEING_DELETED/);
  // After the deletion is withdrawn, the service behaves like any other.
  const { results } = await api.call('listDeploymentRequestByServiceId', { params: { serviceId: id } });
  const deletions = results.filter(({ status_details }) => status_details.action === 'DELETE');
  expect(deletions).toHaveLength(1);
  for (const { identifier } of results) {
    await api.call('cancelDeploymentRequest', { params: { deploymentRequestId: identifier.deployment_request_id } });
  }
  await api.call('editApplication', { ...at(id), body: { cpu: 100 } });
  await api.call('deleteApplication', at(id));
  expect(await failure(api.call('getApplication', at(id)))).toMatch(/^404/);
});

test('deploying, editing and deleting at the same moment end in documented answers and leave no request without a service', async () => {
  const environment = await newEnvironment(api, organizationId);
  for (let round = 0; round < 5; round += 1) {
    const id = await newApplication({}, environment);
    const outcomes = await Promise.allSettled([
      api.call('deployApplication', at(id)),
      api.call('deleteApplication', at(id)),
      api.call('editApplication', { ...at(id), body: { cpu: 100 + round } }),
      createVariable(id, { key: 'A' }),
      api.call('deployEnvironment', { params: { environmentId: environment } }),
      api.call('deleteApplication', at(id)),
    ]);
    const codes = outcomes.flatMap((one) =>
      one.status === 'rejected' ? [one.reason instanceof ApiError ? one.reason.code : one.reason] : [],
    );
    expect(codes.filter((code) => code !== 'NOT_FOUND' && code !== 'BEING_DELETED')).toEqual([]);
    const stray = await server.database.database.many({
      name: 'test stray requests',
      text: `select s.service_id from deployment_service s join deployment d on d.id = s.deployment_id
              where d.status = 'QUEUED' and not exists (select 1 from service where id = s.service_id)`,
    });
    expect(stray).toEqual([]);
  }
});

test('a secret that names another value is resolved when it is deployed, and only then', async () => {
  const id = await newApplication();
  await createVariable(id, { key: 'HOST', value: 'db.example.org' });
  await api.call('createApplicationSecret', { ...at(id), body: { key: 'PASSWORD', value: 'p{{HOST}}' } });
  await api.call('createApplicationSecret', {
    ...at(id),
    body: { key: 'URL', value: 'db://me:{{PASSWORD}}@{{HOST}}/{{UNKNOWN}}' },
  });
  await api.call('deployApplication', at(id));
  const [release] = await server.database.database.many<{
    config: { environment: { name: string; parts: { secret: string }[] }[] };
  }>({
    name: 'test release of service',
    text: `select config from release where service_id = '${id}'`,
  });
  const part = release?.config.environment.find(({ name }) => name === 'URL')?.parts;
  const [row] = await server.database.database.many<{ sealed: Buffer }>(
    { name: 'test sealed', text: 'select sealed from secret_value where id = $1' },
    [part?.[0]?.secret],
  );
  expect(part).toHaveLength(1);
  expect(server.api.deps.vault.open(part?.[0]?.secret ?? '', row?.sealed ?? Buffer.alloc(0))).toBe(
    'db://me:pdb.example.org@db.example.org/{{UNKNOWN}}',
  );
  expect(JSON.stringify(release)).not.toContain('me:');
});
