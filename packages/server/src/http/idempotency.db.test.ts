import { randomUUID } from 'node:crypto';
import { DatabaseUnavailable, statement } from '@davit/db';
import { startTestServer, type TestOrganization, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { breakDatabase } from './testing.ts';

let server: TestServer;
let owner: TestOrganization;

beforeAll(async () => {
  server = await startTestServer();
  owner = await server.organization('owner');
});
afterAll(() => server.close());

interface Sent {
  readonly status: number;
  readonly text: string;
  readonly etag: string | null;
  readonly replayed: boolean;
}

interface Sending {
  readonly token?: string;
  readonly on?: TestServer;
}

async function post(
  path: string,
  body: unknown,
  key: string,
  { token = owner.tokens.ADMIN, on = server }: Sending = {},
): Promise<Sent> {
  const response = await fetch(`${on.baseUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Token ${token}`, 'content-type': 'application/json', 'idempotency-key': key },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    text: await response.text(),
    etag: response.headers.get('etag'),
    replayed: response.headers.get('idempotency-replayed') === 'true',
  };
}

const projects = (): string => `/organization/${owner.id}/project`;
const tokens = (): string => `/organization/${owner.id}/apiToken`;

async function projectNames(): Promise<string[]> {
  const list = await server.client(owner.tokens.READ).call('listProject', { params: { organizationId: owner.id } });
  return list.results.map(({ name }) => name);
}

test('a repeated request gets the same answer, status and ETag included, and does nothing', async () => {
  const body = { name: 'token', scope: 'READ' };
  const first = await post(tokens(), body, 'same');
  expect(first).toMatchObject({ status: 201, replayed: false });
  // The order of the body's members does not matter.
  const again = await post(tokens(), { scope: 'READ', name: 'token' }, 'same');
  expect(again).toEqual({ ...first, replayed: true });
  const list = await server
    .client(owner.tokens.ADMIN)
    .call('listOrganizationApiTokens', { params: { organizationId: owner.id } });
  expect(list.results.filter(({ name }) => name === 'token')).toHaveLength(1);
});

test('the value of a token that an answer shows is not in the database', async () => {
  const { text } = await post(tokens(), { name: 'sealed' }, 'sealed');
  const { token }: { token: string } = JSON.parse(text);
  const rows = statement<{ text: string }>(
    'test_idempotency_rows',
    `select encode(sealed, 'escape') as text from idempotency_key`,
  );
  for (const row of await server.database.database.many(rows)) expect(row.text).not.toContain(token);
});

test('thirty requests at once are one', async () => {
  const sent = Array.from({ length: 30 }, () => post(projects(), { name: 'at once' }, 'at-once'));
  const answers = await Promise.all(sent);
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
  expect((await projectNames()).filter((name) => name === 'at once')).toHaveLength(1);
});

test('a refusal is answered again too', async () => {
  await post(projects(), { name: 'taken' }, randomUUID());
  const first = await post(projects(), { name: 'Taken' }, 'refused');
  expect(first).toMatchObject({ status: 409, replayed: false });
  expect(await post(projects(), { name: 'Taken' }, 'refused')).toEqual({ ...first, replayed: true });
});

test('another body, path or query with the same key is refused', async () => {
  await post(projects(), { name: 'one' }, 'reused');
  for (const path of [projects(), `${projects()}?x=1`, tokens()]) {
    const answer = await post(path, { name: 'two' }, 'reused');
    expect(answer).toMatchObject({ status: 409 });
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
  }
  expect(await projectNames()).not.toContain('two');
});

test('the keys of two callers are two', async () => {
  expect((await post(projects(), { name: 'by admin' }, 'shared')).status).toBe(200);
  expect((await post(projects(), { name: 'by writer' }, 'shared', { token: owner.tokens.WRITE })).status).toBe(200);
  const stranger = await server.organization();
  const answer = await post(projects(), { name: 'by admin' }, 'shared', { token: stranger.tokens.ADMIN });
  expect(answer).toMatchObject({ status: 404, replayed: false });
});

test('keys that are too long or empty are refused', async () => {
  for (const key of ['k'.repeat(256), '', 'schlüssel']) {
    const answer = await post(projects(), { name: 'never' }, key);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text)).toMatchObject({ errors: [{ path: 'Idempotency-Key' }] });
  }
  expect((await post(projects(), { name: 'longest' }, 'k'.repeat(255))).status).toBe(200);
});

test('a deployment is requested once, also without a body', async () => {
  const client = server.client(owner.tokens.ADMIN);
  const project = await client.call('createProject', { params: { organizationId: owner.id }, body: { name: 'shop' } });
  const environment = await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } });
  const body = { name: 'web', dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/shop/web.git' } };
  const { id } = await client.call('createApplication', { params: { environmentId: environment.id }, body });
  const first = await post(`/application/${id}/deploy`, undefined, 'deploy');
  const again = await post(`/application/${id}/deploy`, undefined, 'deploy');
  expect(again).toEqual({ ...first, replayed: true });
});

const age = statement(
  'test_idempotency_age',
  'update idempotency_key set created_at = clock_timestamp() - make_interval(secs => $2) where key = $1',
);
const readKey = statement<{ id: string; sealed: Buffer; has_changed: boolean }>(
  'test_idempotency_key',
  'select id, sealed, has_changed from idempotency_key where key = $1',
);
const leave = statement(
  'test_idempotency_leave',
  `update idempotency_key set is_answered = false, sealed = $2, has_changed = $3, runner = 'another'
    where key = $1`,
);

const takeName = statement('test_idempotency_take', 'insert into project (id, organization_id, name) values ($1, $2, $3)');
const forget = statement('test_idempotency_forget', 'delete from idempotency_key where key = $1');

/** Waits until the request with this key has begun. */
async function untilClaimed(key: string): Promise<void> {
  while ((await server.database.database.maybe(readKey, [key])) === undefined) await new Promise(setImmediate);
}

/** Makes a key look as if its process had exited before it stored the answer. */
async function loseAnswer(key: string, hasChanged: boolean): Promise<void> {
  const { database } = server.database;
  const { vault } = server.api.deps;
  const row = await database.one(readKey, [key]);
  const kept: { asked: string } = JSON.parse(vault.open(row.id, row.sealed));
  await database.run(leave, [key, vault.seal(row.id, JSON.stringify({ asked: kept.asked })), hasChanged]);
}

test('a request whose server died after its change is not carried out again', async () => {
  await post(projects(), { name: 'lost' }, 'lost');
  expect((await server.database.database.one(readKey, ['lost'])).has_changed).toBe(true);
  await loseAnswer('lost', true);
  const answer = await post(projects(), { name: 'lost' }, 'lost');
  expect(answer.status).toBe(409);
  expect(JSON.parse(answer.text)).toMatchObject({ code: 'IDEMPOTENCY_ANSWER_LOST' });
});

test('a request whose change was written while the database went away is not carried out again', async () => {
  const { database } = server.api.deps;
  const client = server.client(owner.tokens.ADMIN);
  const project = await client.call('createProject', { params: { organizationId: owner.id }, body: { name: 'cut' } });
  const environment = await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'cut' } });
  const body = { name: 'web', dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/shop/web.git' } };
  const { id } = await client.call('createApplication', { params: { environmentId: environment.id }, body });
  // The connection broke while the response to COMMIT was in transit.
  const transaction = database.transaction.bind(database);
  const cut = vi.spyOn(database, 'transaction').mockImplementationOnce(async (action) => {
    await transaction(action);
    throw new DatabaseUnavailable(new Error('Connection terminated unexpectedly'));
  });
  expect(await post(`/application/${id}/deploy`, undefined, 'cut')).toMatchObject({ status: 503 });
  cut.mockRestore();
  expect((await server.database.database.one(readKey, ['cut'])).has_changed).toBe(true);
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const answer = await post(`/application/${id}/deploy`, undefined, 'cut');
    expect(answer.status).toBe(409);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'IDEMPOTENCY_ANSWER_LOST' });
  }
});

test('a request whose server died before its change is carried out again', async () => {
  await post(projects(), { name: 'lost' }, 'unchanged');
  expect((await server.database.database.one(readKey, ['unchanged'])).has_changed).toBe(false);
  await loseAnswer('unchanged', false);
  expect(await post(projects(), { name: 'lost' }, 'unchanged')).toMatchObject({ status: 409, replayed: false });
});

test('a request whose key was given to another one meanwhile changes nothing', async () => {
  const { database } = server.database;
  const gate = `slow ${randomUUID()}`;
  // Blocks the creation of a project: an open transaction has taken its name.
  const ended = Promise.withResolvers<void>();
  const holding = Promise.withResolvers<void>();
  const holder = database.transaction(async (tx) => {
    await tx.run(takeName, [randomUUID(), owner.id, gate]);
    holding.resolve();
    await ended.promise;
    throw new Error('given up');
  });
  await holding.promise;
  const first = post(projects(), { name: gate }, 'taken');
  await untilClaimed('taken');
  await database.run(forget, ['taken']);
  ended.resolve();
  await expect(holder).rejects.toThrow('given up');
  expect(await first).toMatchObject({ status: 409 });
  expect(JSON.parse((await first).text)).toMatchObject({ code: 'IDEMPOTENCY_KEY_BUSY' });
  expect(await projectNames()).not.toContain(gate);
});

test('a key of yesterday is free again', async () => {
  await post(projects(), { name: 'yesterday' }, 'old');
  await server.database.database.run(age, ['old', 86_401]);
  expect(await post(projects(), { name: 'today' }, 'old')).toMatchObject({ status: 200, replayed: false });
});

test('a failure of ours is not kept', async () => {
  const other = await startTestServer();
  try {
    const organization = await other.organization();
    await breakDatabase(other.database.database);
    const path = `/organization/${organization.id}/gitToken`;
    const sending = { token: organization.tokens.ADMIN, on: other };
    const body = { name: 'git', type: 'HOSTA', token: 'x' };
    for (let attempt = 0; attempt < 2; attempt += 1) {
      expect(await post(path, body, 'broken', sending)).toMatchObject({ status: 500, replayed: false });
    }
  } finally {
    await other.close();
  }
});
