import { randomUUID } from 'node:crypto';
import { isUuid } from '@davit/base';
import { operationList, roleDescriptions, scopes, type Operation, type Scope } from '@davit/contract';
import { statement, type Statement } from '@davit/db';
import { TestIssuer } from '@davit/testkit/issuer';
import { startTestSite } from '@davit/testkit/site';
import { startTestServer, type TestOrganization, type TestServer } from '@davit/testkit/server';
import { readVocabulary } from '../vocabulary/read.ts';
import { pathIn } from '../vocabulary/shape.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

/**
 * Calls every operation of the contract with ids of existing things, as a stranger and with a token of insufficient
 * scope.
 */
const vocabulary = await readVocabulary({ basePath: '/v/public', file: null }, operationList);
let server: TestServer;
let owner: TestOrganization;
let stranger: TestOrganization;
let issuer: TestIssuer;
let strangers: readonly string[];
let blind: string;
let ids: Readonly<Record<string, string>>;
let site: Awaited<ReturnType<typeof startTestSite>>;
let credentialsIds: Readonly<Record<string, string>>;

/** One valid set of credentials per vendor, by the vendor's word in the path. */
const credentialsBodies = {
  aws: { type: 'AWS_STATIC', access_key_id: 'key', secret_access_key: 'sesame' },
  vendora: { vendora_access_key: 'k', vendora_secret_key: 's', vendora_project_id: 'p', vendora_organization_id: 'o' },
  vendorb: { vendorb_subscription_id: 's', vendorb_tenant_id: 't' },
  cloudc: { cloudc_credentials: '{}' },
  onPremise: {},
} as const;

/** Path parameters that are not ids, by the first word of the path. */
const locations: Record<string, Readonly<Record<string, string>>> = {
  aws: { region: 'eu-west-3', databaseType: 'POSTGRESQL' },
  vendora: { zone: 'fr-par-1' },
  vendorb: { region: 'francecentral', managedK8sSegment: 'managed_k8s' },
  cloudc: { region: 'europe-west9' },
};

const activeForAnHour = statement(
  'test_active_for_an_hour',
  `update person set last_activity_at = clock_timestamp() + interval '1 hour'`,
);

beforeAll(async () => {
  // Serves the operations that read from a repository or registry.
  site = await startTestSite((_request, response) => response.end('{"repositories": [], "apiVersion": "v1", "entries": {}}'));
  issuer = await TestIssuer.start();
  server = await startTestServer({
    environment: {
      DAVIT_ALLOW_PRIVATE_TARGETS: 'true',
      // HTTPS with Davit's own certificate authority.
      DAVIT_GATEWAY_HTTPS_PORT: '4443',
      DAVIT_VOCABULARY: '/v/public=public',
      DAVIT_ALLOW_HTTP_REGISTRIES: 'true',
      DAVIT_OIDC_ISSUER: issuer.url,
      DAVIT_OIDC_AUDIENCE: 'davit',
    },
  });
  owner = await server.organization('owner');
  stranger = await server.organization('stranger');
  ids = await makeIds();
  strangers = await makeStrangers();
  blind = await makeBlind();
  const names = operationList.flatMap(({ path }) => [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1] ?? ''));
  const unset = names.filter((name) => (name.endsWith('Id') ? !isUuid(ids[name] ?? '') : ids[name] === undefined));
  if (unset.length > 0) throw new Error(`the tests have no id for ${unset.join(', ')}`);
  // Once a minute the server records that a person is active, which would be a change in the middle of a test.
  await server.database.database.run(activeForAnHour);
});
afterAll(async () => {
  await server.close();
  await site.close();
  await issuer.close();
});

/**
 * Creates strangers: members of the other organization with a built-in role and with a custom role, the owner of a
 * third organization, and a person without membership.
 */
async function makeStrangers(): Promise<string[]> {
  const params = { organizationId: stranger.id };
  const admin = server.client(stranger.tokens.ADMIN);
  const custom = await admin.call('createOrganizationCustomRole', { params, body: { name: 'custom' } });
  const role = await admin.call('createOrganizationApiToken', { params, body: { name: 'role', role_id: custom.id } });
  const [member, founder, nobody] = [
    await issuer.person('member'),
    await issuer.person('founder'),
    await issuer.person('nobody'),
  ];
  const invitation = await admin.call('postInviteMember', { params, body: { email: 'member@example.org', role: 'ADMIN' } });
  await server.client(member).call('postAcceptInviteMember', { params: { ...params, inviteId: invitation.id } });
  await server.client(founder).call('createOrganization', { body: { name: 'third' } });
  await server.client(nobody).call('getAccountInformation', {});
  return [role.token, member, founder, nobody];
}

/** Creates a token of the organization itself whose custom role has no access to any project. */
async function makeBlind(): Promise<string> {
  const params = { organizationId: owner.id };
  const admin = server.client(owner.tokens.ADMIN);
  const body = { name: 'blind', role_id: ids['customRoleId'] ?? '' };
  return (await admin.call('createOrganizationApiToken', { params, body })).token;
}

const releaseOf = statement<{ id: string }>('test_release_of', 'select id from release where service_id = $1 limit 1');
const attemptAdd = statement<{ id: string }>(
  'test_attempt_add',
  `with delivery as (
     insert into webhook_delivery (webhook_id, event, payload, due_at) values ($1, 'DEPLOYMENT_STARTED', '{}', null) returning id)
   insert into webhook_attempt (webhook_id, delivery_id, kind, event, target_url, request, status_code)
   select $1, id, 'STANDARD', 'DEPLOYMENT_STARTED', 'https://hooks.example.org', '{}', 200 from delivery returning id`,
);

async function makeIds(): Promise<Record<string, string>> {
  const client = server.client(owner.tokens.ADMIN);
  const organization = { organizationId: owner.id };
  const project = await client.call('createProject', { params: organization, body: { name: 'shop' } });
  const environment = await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } });
  const inEnvironment = { environmentId: environment.id };
  const body = { name: 'web', dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/shop/web.git' } };
  const application = await client.call('createApplication', { params: inEnvironment, body });
  const stages = await client.call('listEnvironmentDeploymentStage', { params: inEnvironment });
  const params = { applicationId: application.id };
  const variable = await client.call('createApplicationEnvironmentVariable', { params, body: { key: 'COLOR', value: 'red' } });
  const secret = await client.call('createApplicationSecret', { params, body: { key: 'KEY', value: 'sesame' } });
  const gitToken = await client.call('createGitToken', {
    params: organization,
    body: { name: 'git', type: 'HOSTA', token: 'x' },
  });
  const registry = await client.call('createContainerRegistry', {
    params: organization,
    body: { name: 'registry', kind: 'GENERIC_CR', url: site.url, config: {} },
  });
  const helmRepository = await client.call('createHelmRepository', {
    params: organization,
    body: { name: 'charts', kind: 'HTTPS', url: site.url, skip_tls_verification: false, config: {} },
  });
  const annotationsGroup = await client.call('createOrganizationAnnotationsGroup', {
    params: organization,
    body: { name: 'annotations', annotations: [], scopes: [] },
  });
  const labelsGroup = await client.call('createOrganizationLabelsGroup', {
    params: organization,
    body: { name: 'labels', labels: [] },
  });
  const container = await client.call('createContainer', {
    params: inEnvironment,
    body: { name: 'cache', registry_id: registry.id, image_name: 'cache', tag: '7' },
  });
  const job = await client.call('createJob', {
    params: inEnvironment,
    body: {
      name: 'migrate',
      healthchecks: {},
      source: { image: { registry_id: registry.id, image_name: 'cache', tag: '7' } },
      schedule: { on_start: {} },
    },
  });
  const database = await client.call('createDatabase', {
    params: inEnvironment,
    body: { name: 'store', type: 'POSTGRESQL', version: '16', mode: 'CONTAINER' },
  });
  const helm = await client.call('createHelm', {
    params: inEnvironment,
    body: { name: 'chart', source: { git_repository: { url: 'https://git.example.org/shop/chart.git' } } },
  });
  const terraform = await client.call('createTerraform', {
    params: inEnvironment,
    body: { name: 'infra', terraform_files_source: { git_repository: { url: 'https://git.example.org/shop/infra.git' } } },
  });
  const role = await client.call('createOrganizationCustomRole', { params: organization, body: { name: 'testers' } });
  const invitation = await client.call('postInviteMember', { params: organization, body: { email: 'ada@example.org' } });
  const webhook = await client.call('createOrganizationWebhook', {
    params: organization,
    body: { target_url: 'https://hooks.example.org', events: ['DEPLOYMENT_STARTED'] },
  });
  const attempt = await server.database.database.one(attemptAdd, [webhook.id]);
  const tokens = await client.call('listOrganizationApiTokens', { params: organization });
  const rule = await client.call('createDeploymentRule', {
    params: { projectId: project.id },
    body: {
      name: 'nights',
      mode: 'STAGING',
      cluster_id: environment.cluster_id,
      timezone: 'UTC',
      start_time: '1970-01-01T08:00:00Z',
      stop_time: '1970-01-01T18:00:00Z',
      weekdays: ['MONDAY'],
    },
  });
  const restriction = await client.call('createApplicationDeploymentRestriction', {
    params,
    body: { mode: 'MATCH', type: 'PATH', value: 'src' },
  });
  const customDomain = await client.call('createApplicationCustomDomain', { params, body: { domain: 'shop.example.org' } });
  const containerDomain = await client.call('createContainerCustomDomain', {
    params: { containerId: container.id },
    body: { domain: 'cache.example.org' },
  });
  const helmDomain = await client.call('createHelmCustomDomain', {
    params: { helmId: helm.id },
    body: { domain: 'chart.example.org' },
  });
  locations['container'] = { customDomainId: containerDomain.id };
  locations['helm'] = { customDomainId: helmDomain.id };
  const status = await client.call('deployApplication', { params });
  const [first, second] = stages.results;
  const credentials = await Promise.all(
    Object.entries(credentialsBodies).map(async ([segment, body]) => {
      const made = await fetch(`${server.baseUrl}/organization/${owner.id}/${segment}/credentials`, {
        method: 'POST',
        headers: { authorization: `Token ${owner.tokens.ADMIN}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'account', ...body }),
      });
      const { id }: { id: string } = JSON.parse(await made.text());
      return [segment, id] as const;
    }),
  );
  credentialsIds = Object.fromEntries(credentials);
  return {
    organizationId: owner.id,
    projectId: project.id,
    environmentId: environment.id,
    applicationId: application.id,
    containerId: container.id,
    jobId: job.id,
    databaseId: database.id,
    helmId: helm.id,
    terraformId: terraform.id,
    serviceId: application.id,
    serviceType: 'APPLICATION',
    // This template is part of Davit.
    lifecycleTemplateId: '5e0d3f0a-6c1b-4a57-9a53-0f3f7c6a1001',
    deploymentStageId: first?.id ?? '',
    stageId: second?.id ?? '',
    environmentVariableId: variable.id,
    secretId: secret.id,
    variableId: variable.id,
    gitTokenId: gitToken.id,
    containerRegistryId: registry.id,
    helmRepositoryId: helmRepository.id,
    annotationsGroupId: annotationsGroup.id,
    labelsGroupId: labelsGroup.id,
    deploymentRuleId: rule.id,
    deploymentRestrictionId: restriction.id,
    webhookId: webhook.id,
    webhookEventId: attempt.id,
    customDomainId: customDomain.id,
    apiTokenId: tokens.results[0]?.id ?? '',
    clusterId: environment.cluster_id,
    customRoleId: role.id,
    backupId: randomUUID(),
    releaseId: (await server.database.database.one(releaseOf, [application.id])).id,
    targetApplicationId: application.id,
    inviteId: invitation.id,
    sessionId: randomUUID(),
    passkeyId: randomUUID(),
    userId: randomUUID(),
    credentialsId: credentialsIds['aws'] ?? '',
    region: '',
    zone: '',
    databaseType: '',
    managedK8sSegment: '',
    deploymentRequestId: status.deployment_request_id ?? '',
  };
}

const clusterBody = { name: 'renamed', region: 'local', cloud_provider: 'ON_PREMISE', reason: 'by a stranger' };

type Ids = (name: string) => string | undefined;

/** The API's own paths, and those of a vocabulary. */
const bases = ['', '/v/public'] as const;

interface Aim {
  readonly idOf?: Ids;
  readonly base?: (typeof bases)[number];
}

async function send(
  operation: Operation,
  token: string | null,
  { idOf = knownId(operation), base = '' }: Aim = {},
): Promise<Response> {
  const inWords = base === '' ? operation.path : pathIn(operation.path, vocabulary);
  const path = inWords.replaceAll(/\{([^}]+)\}/g, (_all, name: string) => idOf(name) ?? `unset-${name}`);
  const headers: Record<string, string> = {};
  if (token !== null) headers['authorization'] = `Token ${token}`;
  if (operation.body !== undefined) headers['content-type'] = 'application/json';
  const init: RequestInit = { method: operation.method, headers };
  if (operation.body !== undefined) init.body = JSON.stringify(bodyOf(operation));
  return fetch(`${server.baseUrl}${base}${path}${queryOf(operation, idOf)}`, init);
}

const periods: Readonly<Record<string, string>> = {
  from_date_time: '2026-01-01T00:00:00Z',
  to_date_time: '2026-01-02T00:00:00Z',
};

/** Returns the query that an operation needs. It consists of periods and ids, except for one operation. */
function queryOf(operation: Operation, idOf: Ids): string {
  if (operation.id === 'listVariables') {
    return `?${new URLSearchParams({ scope: 'PROJECT', parent_id: idOf('projectId') ?? '' }).toString()}`;
  }
  const query: { readonly required?: readonly string[] } = operation.query ?? {};
  const needed = query.required ?? [];
  return needed.length === 0 ? '' : `?${needed.map((name) => `${name}=${periods[name] ?? idOf(name) ?? ''}`).join('&')}`;
}

/** Returns ids of existing things. Credentials are those of the operation's vendor; places have their own words. */
function knownId({ path }: Operation): Ids {
  const [, first = '', , segment = ''] = path.split('/');
  return (name) => (name === 'credentialsId' ? credentialsIds[segment] : (locations[first]?.[name] ?? ids[name]));
}

/** Returns a body that is valid for each operation that needs one; unknown fields are ignored. */
function bodyOf(operation: Operation): unknown {
  if (operation.mediaType !== undefined) return 'kind: Config';
  const segment = operation.path.split('/')[3] ?? '';
  if (operation.path.includes('/credentials')) {
    return { name: 'renamed by a stranger', ...Object.entries(credentialsBodies).find(([word]) => word === segment)?.[1] };
  }
  if (operation.tag === 'Cluster') return { ...clusterBody, routes: [] };
  const key = /alias/i.test(operation.id) ? { key: 'OTHER' } : { key: 'COLOR', value: 'blue' };
  const repository = { dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/a/b.git' } };
  const roles = { cluster_permissions: [], project_permissions: [], user_id: randomUUID(), role_id: viewer };
  const kind = operation.path.includes('helmRepository') ? 'HTTPS' : 'GENERIC_CR';
  const registry = { kind, url: 'https://registry.example.org', skip_tls_verification: false, config: {} };
  const group = { annotations: [], scopes: [], labels: [] };
  const image = { registry_id: ids['containerRegistryId'], image_name: 'stolen', tag: '1' };
  const location = { alias_scope: 'APPLICATION', alias_parent_id: ids['applicationId'] };
  const override = { override_scope: 'APPLICATION', override_parent_id: ids['applicationId'] };
  const word = operation.path.split('/')[1]?.toUpperCase() ?? '';
  const scope = ['CONTAINER', 'JOB'].includes(word) ? word : 'APPLICATION';
  const job = { source: { image }, schedule: { on_start: {} }, healthchecks: {} };
  const many = { overwrite: true, vars: [{ name: 'COLOR', value: 'blue', scope, is_secret: false }] };
  const variable = { ...key, ...location, ...override, ...many };
  const application = ids['applicationId'];
  const services = { applications: [{ application_id: application }], application_ids: [application] };
  if (operation.id.endsWith('Restriction')) return { mode: 'EXCLUDE', type: 'PATH', value: 'src' };
  const time = '1970-01-01T08:00:00Z';
  const window = { timezone: 'UTC', start_time: time, stop_time: time, weekdays: [], mode: 'STAGING', cluster_id: randomUUID() };
  const files = { dockerfile_path: 'Dockerfile', files: ['Dockerfile'] };
  const webhook = { target_url: 'https://strange.example.org', events: ['DEPLOYMENT_STARTED'] };
  const inEnvironment = { environment_id: ids['environmentId'] };
  const backup = { message: 'stolen', backup_id: randomUUID() };
  if (operation.tag === 'Database')
    return { name: 'stolen', type: 'REDIS', version: '7', mode: 'CONTAINER', ...backup, ...inEnvironment };
  if (operation.tag === 'Webhook') return { ...webhook, kind: 'STANDARD' };
  return {
    ...files,
    ...window,
    ...services,
    name: 'renamed by a stranger',
    type: 'HOSTA',
    token: 'stolen',
    email: 'mallory@example.org',
    ...roles,
    ...variable,
    ...repository,
    terraform_files_source: repository,
    ...registry,
    ...group,
    ...image,
    ...inEnvironment,
    ...job,
    ...(operation.tag === 'Helm' && { source: repository }),
    domain: 'stolen.example.org',
  };
}

const viewer = roleDescriptions.VIEWER.id;

async function errorOf(response: Response, status: number): Promise<Record<string, unknown>> {
  const body: Record<string, unknown> = JSON.parse(await response.text());
  expect({ status: response.status, body }).toMatchObject({ status, body: { status } });
  expect(Object.keys(body)).toEqual(expect.arrayContaining(['status', 'error', 'message', 'detail', 'code']));
  expect(body['detail']).toBe(body['message']);
  return body;
}

/** Returns every row of every table that an operation could write. Tables that change by themselves are left out. */
async function snapshot(): Promise<string> {
  const { database } = server.database;
  if (everyRow === undefined) {
    const names = await database.many(tableNames);
    const rowsOf = ({ name }: { readonly name: string }): string =>
      `(select jsonb_agg(to_jsonb(t) order by to_jsonb(t)::text) from "${name}" as t)`;
    everyRow = statement('test_every_row', `select jsonb_build_array(${names.map(rowsOf).join(', ')})::text as rows`);
  }
  return (await database.one(everyRow)).rows;
}
let everyRow: Statement<{ readonly rows: string }> | undefined;
const tableNames = statement<{ name: string }>(
  'test_table_names',
  `select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'runner' order by 1`,
);

/** Runs an action that must leave every row unchanged. */
async function expectNoChange(action: () => Promise<void>): Promise<void> {
  isCompared = true;
  const before = rowsBefore ?? (await snapshot());
  rowsBefore = undefined;
  await action();
  const after = await snapshot();
  expect(after).toBe(before);
  rowsBefore = after;
}
/** The rows at the end of the previous test, if that test changed nothing. */
let rowsBefore: string | undefined;
let isCompared = false;
afterEach(() => {
  if (!isCompared) rowsBefore = undefined;
  isCompared = false;
});

const below: Readonly<Record<Scope, Scope | undefined>> = { READ: undefined, DEPLOY: 'READ', WRITE: 'DEPLOY', ADMIN: 'WRITE' };
const withId = operationList.filter((operation) => operation.target !== 'instance');

const guardedByToken = operationList.filter(({ audience }) => audience !== 'anybody');
describe.each(guardedByToken.map((operation) => [operation.id, operation] as const))('%s', (_id, operation) => {
  test('answers 401 without a token and with a wrong one', async () => {
    for (const base of bases) {
      for (const token of [null, 'dvt_wrong']) {
        const response = await send(operation, token, { base });
        expect(response.headers.get('www-authenticate')).toContain('Token');
        expect(await errorOf(response, 401)).toMatchObject({ code: 'UNAUTHORIZED', error: 'Unauthorized' });
      }
    }
  });
});

describe.each(withId.map((operation) => [operation.id, operation] as const))('%s', (_id, operation) => {
  test('answers 404 for ids that are unknown or no uuids', async () => {
    for (const idOf of [(): string => randomUUID(), (): string => 'abc', (): string => '%00']) {
      for (const base of bases)
        expect(await errorOf(await send(operation, server.adminToken, { idOf, base }), 404)).toMatchObject({
          error: 'Not Found',
        });
    }
  });
});

describe.each(withId.map((operation) => [operation.id, operation] as const))('%s', (_id, operation) => {
  test('answers 404 to tokens and people of another organization and of none, and changes nothing', async () => {
    await expectNoChange(async () => {
      for (const token of [...scopes.map((scope) => stranger.tokens[scope]), ...strangers]) {
        for (const base of bases)
          expect(await errorOf(await send(operation, token, { base }), 404)).toMatchObject({ code: 'NOT_FOUND' });
      }
    });
  });
});

const inProjects = withId.filter(({ target }) => !['organization', 'cluster', 'invitation'].includes(target));
test.each(inProjects.map((operation) => [operation.id, operation] as const))(
  '%s answers 404 to a custom role without access to the project, and changes nothing',
  async (_id, operation) => {
    await expectNoChange(async () => {
      for (const base of bases)
        expect(await errorOf(await send(operation, blind, { base }), 404)).toMatchObject({ code: 'NOT_FOUND' });
    });
  },
);

test('the comparison sees a change of any table', async () => {
  const before = await snapshot();
  for (const word of ['testers', 'ada@example.org', 'member@example.org']) expect(before).toContain(word);
  await server
    .client(owner.tokens.ADMIN)
    .call('editOrganization', { params: { organizationId: owner.id }, body: { description: '!' } });
  expect(await snapshot()).not.toBe(before);
});

const guarded = withId.filter((operation) => below[operation.scope] !== undefined);
describe.each(guarded.map((operation) => [operation.id, operation] as const))('%s', (_id, operation) => {
  test('answers 403 to a token of too small a scope, naming the one it needs, and changes nothing', async () => {
    await expectNoChange(async () => {
      const scope = below[operation.scope];
      if (scope === undefined) throw new Error('only operations that need more than READ are here');
      for (const base of bases) {
        const body = await errorOf(await send(operation, owner.tokens[scope], { base }), 403);
        expect(body).toMatchObject({ code: 'FORBIDDEN', message: expect.stringContaining(operation.scope) });
      }
    });
  });
});

const forPeople = operationList.filter((operation) => operation.audience === 'people');
test.each(forPeople.map((operation) => [operation.id, operation] as const))(
  '%s answers 403 to API tokens, which are no people, and changes nothing',
  async (_id, operation) => {
    await expectNoChange(async () => {
      for (const token of [...scopes.map((scope) => owner.tokens[scope]), server.adminToken]) {
        for (const base of bases) {
          const body = await errorOf(await send(operation, token, { base }), 403);
          expect(body).toMatchObject({ code: 'FORBIDDEN', message: expect.stringContaining('people') });
        }
      }
    });
  },
);

/** Reads that fail in these tests, with status and reason, even for callers that may read. */
const refusedReads: readonly (readonly [operations: RegExp, status: number, because: string])[] = [
  [/^list(Application|Terraform|Helm)(Commit|Contributor)$/, 400, 'nothing here can look into a repository'],
  [/^getClusterKubernetesEvents$/, 409, 'the cluster is no Kubernetes'],
];

const readable = operationList.filter(
  (operation) => operation.method === 'GET' && operation.scope === 'READ' && operation.audience !== 'people',
);
test.each(readable.map((operation) => [operation.id, operation] as const))(
  '%s answers a token that may read',
  async (_id, operation) => {
    const status = refusedReads.find(([operations]) => operations.test(operation.id))?.[1] ?? operation.status;
    for (const base of bases) {
      const response = await send(operation, owner.tokens.READ, { base });
      // A stream does not end.
      const text = operation.events === undefined ? await response.text() : await response.body?.cancel();
      expect({ base, status: response.status, text }).toMatchObject({ status });
    }
  },
);

// A lifecycle template belongs to the installation.
const secondIds = withId.filter(({ path }) => (path.match(/Id\}/g)?.length ?? 0) > 1 && !path.includes('{lifecycleTemplateId}'));
describe('where its second id belongs elsewhere', () => {
  let other: TestOrganization;
  /** Ids of things in the other organization. */
  let firsts: Readonly<Record<string, string>>;
  beforeAll(async () => {
    other = await server.organization();
    firsts = await makeFirstIds(other);
  });

  test.each(secondIds.map((operation) => [operation.id, operation] as const))('%s answers 404', async (_id, operation) => {
    await expectNoChange(async () => {
      // The last id belongs to the owner's organization, those before it to the other one. Even the administrator must
      // not get a mixture.
      const known = knownId(operation);
      const last = [...operation.path.matchAll(/\{(\w+Id)\}/g)].at(-1)?.[1];
      const idOf: Ids = (name) => (name === last ? undefined : firsts[name]) ?? known(name);
      for (const token of [other.tokens.ADMIN, server.adminToken]) {
        for (const base of bases)
          expect(await errorOf(await send(operation, token, { idOf, base }), 404)).toMatchObject({ code: 'NOT_FOUND' });
      }
    });
  });
});

async function makeFirstIds({ id: organizationId, tokens }: TestOrganization): Promise<Record<string, string>> {
  const client = server.client(tokens.ADMIN);
  const project = await client.call('createProject', { params: { organizationId }, body: { name: 'p' } });
  const params = {
    environmentId: (await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'e' } })).id,
  };
  const stages = await client.call('listEnvironmentDeploymentStage', { params });
  const registry = await client.call('createContainerRegistry', {
    params: { organizationId },
    body: { name: 'registry', kind: 'GENERIC_CR', url: site.url, config: {} },
  });
  const application = await client.call('createApplication', {
    params,
    body: { name: 'web', dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/shop/web.git' } },
  });
  const container = await client.call('createContainer', {
    params,
    body: { name: 'cache', registry_id: registry.id, image_name: 'cache', tag: '7' },
  });
  const helm = await client.call('createHelm', {
    params,
    body: { name: 'chart', source: { git_repository: { url: 'https://git.example.org/shop/chart.git' } } },
  });
  return {
    organizationId,
    projectId: project.id,
    ...params,
    deploymentStageId: stages.results[0]?.id ?? '',
    applicationId: application.id,
    containerId: container.id,
    helmId: helm.id,
    serviceId: application.id,
  };
}
