import { randomUUID } from 'node:crypto';
import { isUuid } from '@davit/base';
import { operationList, scopes, type Operation, type Scope } from '@davit/contract';
import { statement, type Statement } from '@davit/db';
import { startTestServer, type TestOrganization, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Every operation of the contract, with ids of things that exist: what a stranger and a token of too small a scope get. */
let server: TestServer;
let owner: TestOrganization;
let stranger: TestOrganization;
let ids: Readonly<Record<string, string>>;

beforeAll(async () => {
  server = await startTestServer();
  owner = await server.organization('owner');
  stranger = await server.organization('stranger');
  ids = await makeIds();
  const names = operationList.flatMap(({ path }) => [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1] ?? ''));
  const unset = names.filter((name) => !isUuid(ids[name] ?? ''));
  if (unset.length > 0) throw new Error(`the tests have no id for ${unset.join(', ')}`);
});
afterAll(() => server.close());

async function makeIds(): Promise<Record<string, string>> {
  const client = server.client(owner.tokens.ADMIN);
  const organization = { organizationId: owner.id };
  const project = await client.call('createProject', { params: organization, body: { name: 'shop' } });
  const environment = await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } });
  const inEnvironment = { environmentId: environment.id };
  const body = { name: 'web', git_repository: { url: 'https://git.example.org/shop/web.git' } };
  const application = await client.call('createApplication', { params: inEnvironment, body });
  const stages = await client.call('listEnvironmentDeploymentStage', { params: inEnvironment });
  const params = { applicationId: application.id };
  const variable = await client.call('createApplicationEnvironmentVariable', { params, body: { key: 'COLOR', value: 'red' } });
  const secret = await client.call('createApplicationSecret', { params, body: { key: 'KEY', value: 'sesame' } });
  const gitToken = await client.call('createGitToken', {
    params: organization,
    body: { name: 'git', type: 'HOSTA', token: 'x' },
  });
  const webhook = await client.call('createOrganizationWebhook', {
    params: organization,
    body: { target_url: 'https://hooks.example.org', events: ['DEPLOYMENT_STARTED'] },
  });
  const tokens = await client.call('listOrganizationApiTokens', { params: organization });
  const status = await client.call('deployApplication', { params });
  const [first, second] = stages.results;
  return {
    organizationId: owner.id,
    projectId: project.id,
    environmentId: environment.id,
    applicationId: application.id,
    serviceId: application.id,
    deploymentStageId: first?.id ?? '',
    stageId: second?.id ?? '',
    environmentVariableId: variable.id,
    secretId: secret.id,
    gitTokenId: gitToken.id,
    webhookId: webhook.id,
    apiTokenId: tokens.results[0]?.id ?? '',
    clusterId: environment.cluster_id,
    deploymentRequestId: status.deployment_request_id ?? '',
  };
}

type Ids = (name: string) => string | undefined;

async function send(operation: Operation, token: string | null, idOf: Ids = (name) => ids[name]): Promise<Response> {
  const path = operation.path.replaceAll(/\{([^}]+)\}/g, (_all, name: string) => idOf(name) ?? `unset-${name}`);
  const headers: Record<string, string> = {};
  if (token !== null) headers['authorization'] = `Token ${token}`;
  if (operation.body !== undefined) headers['content-type'] = 'application/json';
  const init: RequestInit = { method: operation.method, headers };
  if (operation.body !== undefined) init.body = JSON.stringify(bodyOf(operation));
  return fetch(`${server.baseUrl}${path}`, init);
}

/** A body that is valid for each operation which needs one; unknown fields are ignored. */
function bodyOf(operation: Operation): Record<string, unknown> {
  const key = /alias/i.test(operation.id) ? { key: 'OTHER' } : { key: 'COLOR', value: 'blue' };
  const repository = { git_repository: { url: 'https://git.example.org/a/b.git' } };
  const webhook = { kind: 'STANDARD', target_url: 'https://strange.example.org', events: ['DEPLOYMENT_STARTED'] };
  return { ...webhook, name: 'renamed by a stranger', type: 'HOSTA', token: 'stolen', ...key, ...repository };
}

async function errorOf(response: Response, status: number): Promise<Record<string, unknown>> {
  const body: Record<string, unknown> = JSON.parse(await response.text());
  expect({ status: response.status, body }).toMatchObject({ status, body: { status } });
  expect(Object.keys(body)).toEqual(expect.arrayContaining(['status', 'error', 'message', 'detail', 'code']));
  expect(body['detail']).toBe(body['message']);
  return body;
}

/** Everything that a stranger could have changed, as text. */
async function snapshot(): Promise<string> {
  const { database } = server.database;
  const tables = [
    'organization',
    'project',
    'environment',
    'service',
    'variable',
    'deployment_stage',
    'deployment',
    'git_token',
    'cluster',
    'api_token',
    'webhook',
  ];
  const texts: unknown[] = [];
  for (const table of tables) {
    snapshots[table] ??= statement<{ rows: unknown }>(
      `test_snapshot_${table}`,
      `select coalesce(jsonb_agg(to_jsonb(t) order by t.id), '[]') as rows from ${table} as t`,
    );
    texts.push((await database.one(snapshots[table])).rows);
  }
  return JSON.stringify(texts);
}
const snapshots: Record<string, Statement<{ rows: unknown }>> = {};

const below: Readonly<Record<Scope, Scope | undefined>> = { READ: undefined, DEPLOY: 'READ', WRITE: 'DEPLOY', ADMIN: 'WRITE' };
const withId = operationList.filter((operation) => operation.target !== 'instance');

describe.each(operationList.map((operation) => [operation.id, operation] as const))('%s', (_id, operation) => {
  test('answers 401 without a token and with a wrong one', async () => {
    for (const token of [null, 'dvt_wrong']) {
      const response = await send(operation, token);
      expect(response.headers.get('www-authenticate')).toContain('Token');
      expect(await errorOf(response, 401)).toMatchObject({ code: 'UNAUTHORIZED', error: 'Unauthorized' });
    }
  });
});

describe.each(withId.map((operation) => [operation.id, operation] as const))('%s', (_id, operation) => {
  test('answers 404 for ids that are unknown or no uuids', async () => {
    for (const idOf of [(): string => randomUUID(), (): string => 'abc', (): string => '%00']) {
      expect(await errorOf(await send(operation, server.adminToken, idOf), 404)).toMatchObject({ error: 'Not Found' });
    }
  });

  test('answers 404 to a token of another organization, and changes nothing', async () => {
    const before = await snapshot();
    for (const scope of scopes) {
      expect(await errorOf(await send(operation, stranger.tokens[scope]), 404)).toMatchObject({ code: 'NOT_FOUND' });
    }
    expect(await snapshot()).toBe(before);
  });
});

const guarded = withId.filter((operation) => below[operation.scope] !== undefined);
describe.each(guarded.map((operation) => [operation.id, operation] as const))('%s', (_id, operation) => {
  test('answers 403 to a token of too small a scope, naming the one it needs, and changes nothing', async () => {
    const before = await snapshot();
    const scope = below[operation.scope];
    if (scope === undefined) throw new Error('only operations that need more than READ are here');
    const body = await errorOf(await send(operation, owner.tokens[scope]), 403);
    expect(body).toMatchObject({ code: 'FORBIDDEN', message: expect.stringContaining(operation.scope) });
    expect(await snapshot()).toBe(before);
  });
});

const readable = operationList.filter((operation) => operation.method === 'GET' && operation.scope === 'READ');
test.each(readable.map((operation) => [operation.id, operation] as const))(
  '%s answers a token that may read',
  async (_id, operation) => {
    const response = await send(operation, owner.tokens.READ);
    expect({ status: response.status, text: await response.text() }).toMatchObject({ status: operation.status });
  },
);

const secondIds = withId.filter((operation) => (operation.path.match(/\{/g)?.length ?? 0) > 1);
test.each(secondIds.map((operation) => [operation.id, operation] as const))(
  '%s answers 404 where its second id belongs elsewhere',
  async (_id, operation) => {
    const other = await server.organization();
    const client = server.client(other.tokens.ADMIN);
    const project = await client.call('createProject', { params: { organizationId: other.id }, body: { name: 'p' } });
    const environment = await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'e' } });
    const stages = await client.call('listEnvironmentDeploymentStage', { params: { environmentId: environment.id } });
    const stageId = stages.results[0]?.id ?? '';
    const firsts: Record<string, string> = {
      organizationId: other.id,
      deploymentStageId: stageId,
      applicationId: (
        await client.call('createApplication', {
          params: { environmentId: environment.id },
          body: { name: 'web', git_repository: { url: 'https://git.example.org/shop/web.git' } },
        })
      ).id,
    };
    const before = await snapshot();
    // The first id is the other organization's own, the second one the owner's; even the administrator gets no mixture.
    const idOf: Ids = (name) => firsts[name] ?? ids[name];
    for (const token of [other.tokens.ADMIN, server.adminToken]) await errorOf(await send(operation, token, idOf), 404);
    expect(await snapshot()).toBe(before);
  },
);
