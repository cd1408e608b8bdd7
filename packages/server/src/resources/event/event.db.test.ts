import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { statement } from '@davit/db';
import { startTestServer, type TestOrganization, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';

let server: TestServer;
let owner: TestOrganization;
let client: Client;

beforeAll(async () => {
  server = await startTestServer();
  owner = await server.organization('owner');
  client = server.client(owner.tokens.ADMIN);
});
afterAll(() => server.close());

const source = { dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/shop/web.git' } };
const listOf = async (query: object = {}) =>
  client.call('getOrganizationEvents', { params: { organizationId: owner.id }, query });

async function makeEnvironment(name: string): Promise<{ projectId: string; environmentId: string; applicationId: string }> {
  const project = await client.call('createProject', { params: { organizationId: owner.id }, body: { name } });
  const environment = await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } });
  const params = { environmentId: environment.id };
  const { id } = await client.call('createApplication', { params, body: { name: 'web', ...source } });
  return { projectId: project.id, environmentId: environment.id, applicationId: id };
}

const unwatched = statement<{ name: string }>(
  'test_tables_without_events',
  `select c.table_name as name from information_schema.columns c
    where c.table_schema = 'public' and c.column_name = 'updated_at' and c.table_name <> 'service_runtime'
      and not exists (
        select 1 from pg_trigger t join pg_proc p on p.oid = t.tgfoid
         where t.tgrelid = c.table_name::regclass and p.proname = 'record_change' and t.tgtype & 28 = 28)
      and c.table_name not in ('variable', 'person')`,
);

// Two triggers write the events of variables. A person belongs to no organization, and a log belongs to an
// organization.
test('every table with records that can be edited writes events', async () => {
  expect(await server.database.database.many(unwatched)).toEqual([]);
});

const unmasked = statement<{ name: string }>(
  'test_columns_not_masked',
  `select format('%s.%s', a.attrelid::regclass, a.attname) as name
     from pg_trigger t join pg_proc p on p.oid = t.tgfoid join pg_attribute a on a.attrelid = t.tgrelid
    where p.proname = 'record_change' and a.atttypid = 'bytea'::regtype and a.attnum > 0
      and strpos(encode(t.tgargs, 'escape'), a.attname) = 0`,
);

test('no table shows bytes in the log: they are sealed or hashed', async () => {
  expect(await server.database.database.many(unmasked)).toEqual([]);
});

test('an event says who, what, when and from where, and what was before and after', async () => {
  const { id } = await client.call('createProject', { params: { organizationId: owner.id }, body: { name: 'told' } });
  await fetch(`${server.baseUrl}/project/${id}`, {
    method: 'PUT',
    headers: {
      authorization: `Token ${owner.tokens.WRITE}`,
      'content-type': 'application/json',
      'user-agent': 'CLI 1.2.3',
    },
    body: JSON.stringify({ description: 'edited' }),
  });
  const { events } = await listOf({ targetId: id });
  expect(events.map((event) => event.event_type)).toEqual(['UPDATE', 'CREATE']);
  const [update, create] = events;
  expect(update).toMatchObject({
    target_type: 'PROJECT',
    target_id: id,
    target_name: 'told',
    sub_target_type: null,
    project_id: id,
    project_name: 'told',
    environment_id: null,
    origin: 'CLI',
    triggered_by: 'token WRITE',
    user_agent: 'CLI 1.2.3',
    address: '127.0.0.1',
    operation: 'editProject',
  });
  expect(JSON.parse(update?.original_change ?? '')).toMatchObject({ id, name: 'told', description: '' });
  expect(JSON.parse(update?.change ?? '')).toMatchObject({ id, name: 'told', description: 'edited' });
  expect(create).toMatchObject({ origin: 'API', triggered_by: 'token ADMIN', original_change: null });
  expect(JSON.parse(create?.change ?? '')).toMatchObject({ id, name: 'told' });
});

test('what is refused, and an edit that changes nothing, is no event', async () => {
  const { id } = await client.call('createProject', { params: { organizationId: owner.id }, body: { name: 'quiet' } });
  await client.call('editProject', { params: { projectId: id }, body: { name: 'quiet' } });
  await expect(client.call('editProject', { params: { projectId: id }, body: { name: 'told' } })).rejects.toMatchObject({
    status: 409,
  });
  expect((await listOf({ targetId: id })).events.map((event) => event.event_type)).toEqual(['CREATE']);
});

test('of what a custom role allows, the log tells what changed alone', async () => {
  const { projectId } = await makeEnvironment('allowed');
  const { projectId: other } = await makeEnvironment('allowed later');
  const params = { organizationId: owner.id };
  const { id } = await client.call('createOrganizationCustomRole', { params, body: { name: 'auditors' } });
  const edit = async (ids: readonly string[]) =>
    client.call('editOrganizationCustomRole', {
      params: { ...params, customRoleId: id },
      body: { name: 'auditors', cluster_permissions: [], project_permissions: ids.map((one) => ({ project_id: one })) },
    });
  await edit([projectId]);
  await edit([projectId, other]);
  await edit([other]);
  const { events } = await listOf({ targetId: id });
  expect(events.map((event) => [event.event_type, event.sub_target_type, event.target_name, event.project_id])).toEqual([
    ['DELETE', 'CUSTOM_ROLE', 'auditors', projectId],
    ['CREATE', 'CUSTOM_ROLE', 'auditors', other],
    ['CREATE', 'CUSTOM_ROLE', 'auditors', projectId],
    ['CREATE', 'CUSTOM_ROLE', 'auditors', null],
  ]);
});

test('secrets are not in the log', async () => {
  const canary = `canary-${randomUUID()}`;
  const { applicationId } = await makeEnvironment('secretive');
  const body = { name: 'canary', type: 'HOSTA' as const, token: canary };
  const { id } = await client.call('createGitToken', { params: { organizationId: owner.id }, body });
  await client.call('editGitToken', {
    params: { organizationId: owner.id, gitTokenId: id },
    body: { ...body, token: `${canary}2` },
  });
  await client.call('createApplicationSecret', { params: { applicationId }, body: { key: 'CANARY', value: canary } });
  const all = await listOf({ pageSize: 1000 });
  expect(JSON.stringify(all)).not.toContain(canary);
  const rows = statement<{ text: string }>('test_event_rows', 'select concat(before, after) as text from audit_event');
  for (const { text } of await server.database.database.many(rows)) expect(text).not.toContain(canary);
  const [edit] = (await listOf({ subTargetType: 'GIT_TOKEN', eventType: 'UPDATE' })).events;
  expect(JSON.parse(edit?.change ?? '')).toMatchObject({ name: 'canary', sealed: '[masked, changed]' });
});

test('pages lead on to the end and back to the beginning', async () => {
  const { id } = await client.call('createProject', { params: { organizationId: owner.id }, body: { name: 'paged' } });
  for (let n = 0; n < 11; n += 1) await client.call('editProject', { params: { projectId: id }, body: { description: `${n}` } });
  const get = async (link: string) => {
    const response = await fetch(`${server.baseUrl}${link}`, { headers: { authorization: `Token ${owner.tokens.READ}` } });
    const page: Awaited<ReturnType<typeof listOf>> = JSON.parse(await response.text());
    return page;
  };
  const whole = (await listOf({ targetId: id, pageSize: 100 })).events.map((event) => event.id);
  expect(whole).toHaveLength(12);
  const first = await listOf({ targetId: id, pageSize: 5 });
  const second = await get(first.links.next ?? '');
  const third = await get(second.links.next ?? '');
  expect([first, second, third].flatMap(({ events }) => events.map((event) => event.id))).toEqual(whole);
  expect(first.links.previous).toBeUndefined();
  expect(third.links.next).toBeUndefined();
  const back = await get(third.links.previous ?? '');
  expect(back.events).toEqual(second.events);
  const begin = await get(back.links.previous ?? '');
  expect(begin.events).toEqual(first.events);
  expect(begin.links.previous).toBeUndefined();
});

test('filters choose', async () => {
  const { environmentId, projectId, applicationId } = await makeEnvironment('filtered');
  await client.call('createApplicationEnvironmentVariable', { params: { applicationId }, body: { key: 'COLOR', value: 'red' } });
  const kinds = async (query: object) =>
    (await listOf({ pageSize: 100, ...query })).events.map((event) =>
      `${event.event_type} ${event.target_type} ${event.sub_target_type ?? ''}`.trim(),
    );
  expect(await kinds({ serviceProjectId: projectId })).toEqual([
    'CREATE APPLICATION VARIABLE',
    'CREATE APPLICATION',
    'CREATE ENVIRONMENT',
    'CREATE PROJECT',
  ]);
  expect(await kinds({ serviceEnvironmentId: environmentId, targetType: 'ENVIRONMENT' })).toEqual(['CREATE ENVIRONMENT']);
  expect(await kinds({ targetId: applicationId, subTargetType: 'VARIABLE' })).toEqual(['CREATE APPLICATION VARIABLE']);
  expect(await kinds({ serviceProjectId: projectId, eventType: 'DELETE' })).toEqual([]);
  expect(await kinds({ serviceProjectId: projectId, triggeredBy: 'nobody' })).toEqual([]);
  expect(await kinds({ serviceProjectId: projectId, origin: 'CONSOLE' })).toEqual([]);
  const minute = 60_000;
  const now = Date.now();
  expect(await kinds({ targetId: projectId, toTimestamp: new Date(now - minute).toISOString() })).toEqual([]);
  expect(await kinds({ targetId: projectId, fromTimestamp: String(Math.floor((now - minute) / 1000)) })).toEqual([
    'CREATE PROJECT',
  ]);
  const old = await listOf({ fromTimestamp: '2020-01-01T00:00:00Z' });
  expect(old.organization_max_limit_reached).toBe(true);
});

test('targets are listed with the name that they had last', async () => {
  const { projectId, environmentId, applicationId } = await makeEnvironment('targets');
  await client.call('editApplication', { params: { applicationId }, body: { name: 'renamed', ...source } });
  const params = { organizationId: owner.id };
  const call = async (query: object) => (await client.call('getOrganizationEventTargets', { params, query })).targets;
  expect(await call({ projectId, targetType: 'APPLICATION' })).toEqual([{ id: applicationId, name: 'renamed' }]);
  expect(await call({ environmentId, targetLevelToFetch: 'ENVIRONMENT' })).toEqual([{ id: environmentId, name: 'live' }]);
  expect(await call({ projectId, targetLevelToFetch: 'PROJECT' })).toEqual([{ id: projectId, name: 'targets' }]);
});

test.each([
  ['continueToken', 'nonsense'],
  ['stepBackToken', 'ZTF4'],
  ['fromTimestamp', 'yesterday'],
  ['toTimestamp', '99999-01-01'],
  ['targetId', 'abc'],
  ['eventType', 'EXPLODE'],
  ['pageSize', '0'],
])('a wrong %s is refused', async (name, value) => {
  await expect(listOf({ [name]: value })).rejects.toMatchObject({ status: 400, errors: [{ path: name }] });
});

test('another organization sees nothing of it', async () => {
  const stranger = await server.organization();
  const other = server.client(stranger.tokens.ADMIN);
  await expect(other.call('getOrganizationEvents', { params: { organizationId: owner.id } })).rejects.toMatchObject({
    status: 404,
  });
  const own = await other.call('getOrganizationEvents', { params: { organizationId: stranger.id }, query: { pageSize: 1000 } });
  expect(JSON.stringify(own)).not.toContain(owner.id);
});
