import { randomUUID } from 'node:crypto';
import { operationList, type Operation } from '@davit/contract';
import { statement } from '@davit/db';
import { startTestServer, type TestOrganization, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let server: TestServer;
let owner: TestOrganization;
let projectId: string;
let environmentId: string;
let applicationId: string;

beforeAll(async () => {
  server = await startTestServer();
  owner = await server.organization('owner');
  const client = server.client(owner.tokens.ADMIN);
  projectId = (await client.call('createProject', { params: { organizationId: owner.id }, body: { name: 'shop' } })).id;
  environmentId = (await client.call('createEnvironment', { params: { projectId }, body: { name: 'live' } })).id;
  const body = { name: 'web', dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/shop/web.git' } };
  applicationId = (await client.call('createApplication', { params: { environmentId }, body })).id;
});
afterAll(() => server.close());

interface Sent {
  readonly status: number;
  readonly etag: string | null;
  readonly body: Record<string, unknown>;
}

async function send(method: string, path: string, body?: unknown, ifMatch?: string): Promise<Sent> {
  return sendAs(owner.tokens.ADMIN, { method, path, body, ifMatch });
}

interface Sending {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly ifMatch: string | undefined;
}

async function sendAs(token: string, { method, path, body, ifMatch }: Sending): Promise<Sent> {
  const headers: Record<string, string> = { authorization: `Token ${token}`, 'content-type': 'application/json' };
  if (ifMatch !== undefined) headers['if-match'] = ifMatch;
  const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
  const response = await fetch(`${server.baseUrl}${path}`, init);
  const text = await response.text();
  return { status: response.status, etag: response.headers.get('etag'), body: text === '' ? {} : JSON.parse(text) };
}

const records: readonly (readonly [string, () => string])[] = [
  ['an organization', () => `/organization/${owner.id}`],
  ['a project', () => `/project/${projectId}`],
  ['an environment', () => `/environment/${environmentId}`],
  ['an application', () => `/application/${applicationId}`],
];

describe.each(records)('%s', (_what, path) => {
  test('has an ETag that changes with each edit, and an edit on an old one is refused and changes nothing', async () => {
    const read = await send('GET', path());
    expect(read).toMatchObject({ status: 200, etag: expect.stringMatching(/^"[^"]+"$/) });
    const first = await send('PUT', path(), { name: `edited ${randomUUID()}` }, read.etag ?? '');
    expect(first.status).toBe(200);
    expect(first.etag).not.toBe(read.etag);
    expect((await send('GET', path())).etag).toBe(first.etag);
    const late = await send('PUT', path(), { name: 'late' }, read.etag ?? '');
    expect(late).toMatchObject({ status: 412, body: { status: 412, code: 'PRECONDITION_FAILED' } });
    expect((await send('GET', path())).body['name']).toBe(first.body['name']);
    expect(await send('PUT', path(), { name: `by any ${randomUUID()}` }, '*')).toMatchObject({ status: 200 });
  });

  test('is edited once by fifty edits that expect the same version', async () => {
    const { etag } = await send('GET', path());
    const edits = Array.from({ length: 50 }, (_, n) => send('PUT', path(), { name: `winner ${n}` }, etag ?? ''));
    const answers = await Promise.all(edits);
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, ...Array<number>(49).fill(412)]);
    const winner = answers.find(({ status }) => status === 200);
    expect((await send('GET', path())).body['name']).toBe(winner?.body['name']);
  });

  test('keeps its version apart from an edit in the same millisecond', async () => {
    const edits = Array.from({ length: 20 }, () => send('PUT', path(), { name: `quick ${randomUUID()}` }));
    const etags = (await Promise.all(edits)).map(({ status, etag }) => `${status} ${etag}`);
    expect(new Set(etags).size).toBe(20);
  });
});

test('edits without a condition between do not slip through', async () => {
  const path = `/project/${projectId}`;
  const { etag } = await send('GET', path);
  const plain = Array.from({ length: 10 }, (_, n) => send('PUT', path, { description: `plain ${n}` }));
  const careful = Array.from({ length: 10 }, (_, n) => send('PUT', path, { description: `careful ${n}` }, etag ?? ''));
  await Promise.all(plain);
  // Whatever the order, at most one request saw the version that it expects.
  expect((await Promise.all(careful)).filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
});

test('If-Match takes several tags, and no weak ones; what is no tag is refused', async () => {
  const path = `/project/${projectId}`;
  const etag = (await send('GET', path)).etag ?? '';
  expect(await send('PUT', path, { description: 'a' }, `"old", ${etag}`)).toMatchObject({ status: 200 });
  const now = (await send('GET', path)).etag ?? '';
  expect(await send('PUT', path, { description: 'b' }, `W/${now}`)).toMatchObject({ status: 412 });
  expect(await send('PUT', path, { description: 'b' }, 'abc')).toMatchObject({
    status: 400,
    body: { code: 'VALIDATION_FAILED', errors: [{ path: 'If-Match' }] },
  });
});

test('a stranger learns nothing by If-Match', async () => {
  const stranger = await server.organization();
  const answer = await sendAs(stranger.tokens.ADMIN, {
    method: 'PUT',
    path: `/project/${projectId}`,
    body: { name: 'x' },
    ifMatch: '"old"',
  });
  expect(answer).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
});

test('a delete on an old version is refused, one on the right version is done', async () => {
  const made = await send('POST', `/organization/${owner.id}/project`, { name: 'short-lived' });
  const path = `/project/${String(made.body['id'])}`;
  await send('PUT', path, { description: 'edited' });
  expect(await send('DELETE', path, undefined, made.etag ?? '')).toMatchObject({ status: 412 });
  const { etag } = await send('GET', path);
  expect(await send('DELETE', path, undefined, etag ?? '')).toMatchObject({ status: 204 });
});

test('deleting a deployed application on an old version asks for nothing', async () => {
  await send('POST', `/application/${applicationId}/deploy`);
  expect(await send('DELETE', `/application/${applicationId}`, undefined, '"old"')).toMatchObject({ status: 412 });
  const queue = await send('GET', `/service/${applicationId}/deploymentQueue`);
  expect(queue.body['results']).toHaveLength(1);
});

const unversioned = statement<{ name: string }>(
  'test_tables_without_version',
  `select c.table_name as name from information_schema.columns c
    where c.table_schema = 'public' and c.column_name = 'updated_at'
      and c.table_name not in ('service_runtime', 'membership', 'person')
      and not exists (select 1 from pg_trigger t where t.tgrelid = c.table_name::regclass and t.tgname = 'keep_version')`,
);

// A membership has no id, and neither a membership nor a person has an ETag: their operations are declared with
// `record: null`.
test('every table with records that can be edited keeps versions', async () => {
  expect(await server.database.database.many(unversioned)).toEqual([]);
});

test('every operation that edits or deletes names the record that If-Match speaks of', () => {
  const names = (operation: Operation): string[] => [...operation.path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1] ?? '');
  const wrong = operationList.filter((operation) => {
    if ((operation.method !== 'PUT' && operation.method !== 'DELETE') || operation.record === null) return false;
    return names(operation).length === 0 || !names(operation).includes(operation.record ?? names(operation).at(-1) ?? '');
  });
  expect(wrong.map(({ id }) => id)).toEqual([]);
});
