import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { ApiError } from '@davit/client';
import { statement } from '@davit/db';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { breakDatabase, revokeElsewhere, untilWindowLasts, windowSecondsLeft } from './testing.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { DAVIT_BODY_LIMIT_BYTES: '20000' } });
});
afterAll(() => server.close());

interface Sent {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

async function post(body: string | undefined, headers: Record<string, string> = {}, path = '/organization'): Promise<Sent> {
  const response = await fetch(`${server.baseUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Token ${server.adminToken}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const answer: Record<string, unknown> = JSON.parse(await response.text());
  return { status: response.status, headers: response.headers, body: answer };
}

describe('a body', () => {
  test('is checked strictly, and every place that is wrong is named with what would be right', async () => {
    const { status, body } = await post('{"name":"","plan":"GOLD","admin_emails":["x"],"description":5,"later":true}');
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: 'VALIDATION_FAILED', error: 'Bad Request' });
    expect(body['errors']).toEqual(
      expect.arrayContaining([
        { path: 'name', message: 'must not be empty' },
        { path: 'plan', message: expect.stringContaining('must be one of FREE, TEAM') },
        { path: 'admin_emails.0', message: 'must be an e-mail address' },
        { path: 'description', message: 'must be a string or null' },
      ]),
    );
  });

  test('that is missing is answered with what is needed', async () => {
    const { body } = await post(undefined);
    expect(body).toMatchObject({ status: 400, message: 'Validation error: a JSON body is required, with name' });
  });

  test.each([
    ['{"name":"a"', 'at line 1, column 12, it ends too early'],
    ['{"name": nope}', 'line 1, column 10'],
    ['{"name":"a",\n}', 'line 2, column 1'],
    ['[1,]', 'line 1, column 4'],
    ['{"a":"\u0001"}', 'line 1, column 6'],
    ['{} {}', 'line 1, column 4'],
    ['{1:2}', 'line 1, column 2'],
  ])('%j that is not JSON is answered 400 with the place', async (text, location) => {
    const { body } = await post(text);
    expect(body).toMatchObject({ status: 400, code: 'MALFORMED_JSON', message: expect.stringContaining(location) });
  });

  test('that nests too deep is answered 400 with advice, whatever is in its texts', async () => {
    for (const levels of [201, 5_000]) {
      const text = `{"name":${'['.repeat(levels)}${']'.repeat(levels)}}`;
      expect((await post(text)).body).toMatchObject({
        status: 400,
        code: 'MALFORMED_JSON',
        message: expect.stringContaining('Make it flatter'),
      });
    }
    const name = `${'[{'.repeat(110)}\\"`;
    expect((await post(JSON.stringify({ name, extra: 'x' }))).body).not.toMatchObject({ code: 'MALFORMED_JSON' });
  });

  test('with keys that would change prototypes is refused', async () => {
    for (const text of ['{"name":"a","__proto__":{"x":1}}', '{"name":"a","constructor":{"prototype":{}}}']) {
      expect((await post(text)).body).toMatchObject({ status: 400, code: 'MALFORMED_JSON' });
    }
  });

  test.each(['{"name":"a\\u0000b"}', '{"name":"\\ud800"}', '{"a\\u0000":1,"name":"x"}', '{"admin_emails":["\\udc00"]}'])(
    '%s that PostgreSQL cannot store is refused',
    async (text) => {
      expect((await post(text)).body).toMatchObject({ status: 400, code: 'VALIDATION_FAILED' });
    },
  );

  test('that is too large is answered 413, one of another type 415', async () => {
    expect((await post(JSON.stringify({ name: 'x'.repeat(30_000) }))).body).toMatchObject({
      status: 413,
      code: 'BODY_TOO_LARGE',
    });
    const other = { 'content-type': 'text/plain' };
    expect((await post('name', other)).body).toMatchObject({ status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' });
  });

  test('without bytes may have any type', async () => {
    const body = await post('', { 'content-type': 'application/x-www-form-urlencoded' });
    expect(body.body).toMatchObject({ status: 400, message: expect.stringContaining('a JSON body is required') });
  });
});

describe('what is no operation', () => {
  test.each([
    ['GET', '/nowhere', 'no such path'],
    ['GET', '/organization/%zz', 'not a valid URL path'],
  ])('%s %s is answered 404', async (method, path, message) => {
    const response = await fetch(`${server.baseUrl}${path}`, { method });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'ROUTE_NOT_FOUND', message: expect.stringContaining(message) });
  });

  test.each([
    ['PATCH', '/organization', 'GET, HEAD, POST'],
    ['DELETE', '/healthz', 'GET, HEAD'],
    ['POST', '/openapi.json', 'GET, HEAD'],
  ])('%s %s is answered 405 with the methods that the path has', async (method, path, allowed) => {
    const response = await fetch(`${server.baseUrl}${path}`, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe(allowed);
    expect(await response.json()).toMatchObject({ code: 'METHOD_NOT_ALLOWED', message: expect.stringContaining(allowed) });
  });

  test('HEAD of a stream is answered 405: nobody knows what it would say before it begins', async () => {
    const response = await fetch(`${server.baseUrl}/organization/${randomUUID()}/stream`, { method: 'HEAD' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET']);
  });

  test('OPTIONS of a path names its methods', async () => {
    const response = await fetch(`${server.baseUrl}/organization`, { method: 'OPTIONS' });
    expect([response.status, response.headers.get('allow')]).toEqual([204, 'GET, HEAD, POST']);
  });

  test('like bytes that are no HTTP, is answered in the same form', async () => {
    const answer = await new Promise<string>((resolve, reject) => {
      const { hostname, port } = new URL(server.baseUrl);
      const socket = connect(Number(port), hostname, () => socket.write('nonsense\r\n\r\n'));
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      socket.on('close', () => resolve(text)).on('error', reject);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({ status: 400, code: 'MALFORMED_REQUEST' });
  });
});

describe('a failure of our own', () => {
  test('tells nothing but the request id', async () => {
    const broken = await startTestServer();
    try {
      const { id } = await broken.organization();
      await breakDatabase(broken.database.database);
      const headers = { authorization: `Token ${broken.adminToken}` };
      const response = await fetch(`${broken.baseUrl}/organization/${id}/gitToken`, { headers });
      const text = await response.text();
      expect(response.status).toBe(500);
      expect(text).not.toMatch(/git_token|relation|select/);
      expect(JSON.parse(text)).toMatchObject({ code: 'INTERNAL', request_id: expect.stringMatching(/^\w+-\w+$/) });
    } finally {
      await broken.close();
    }
  });
});

describe('a token', () => {
  test('is taken as Token and as Bearer', async () => {
    for (const scheme of ['Token', 'Bearer', 'token']) {
      const headers = { authorization: `${scheme} ${server.adminToken}` };
      expect((await fetch(`${server.baseUrl}/organization`, { headers })).status).toBe(200);
    }
  });

  test('that has expired is told apart, and one must expire in the future', async () => {
    const { id } = await server.organization();
    const params = { organizationId: id };
    const past = server
      .client()
      .call('createOrganizationApiToken', { params, body: { name: 'past', expires_at: '2001-01-01T00:00:00Z' } });
    await expect(past).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'expires_at', message: 'must be in the future' }],
    });
    const expiresAt = new Date(Date.now() + 400).toISOString();
    const { token } = await server
      .client()
      .call('createOrganizationApiToken', { params, body: { name: 'short', expires_at: expiresAt } });
    const expired = await vi.waitUntil(async () => {
      try {
        await server.client(token).call('listOrganization');
        return undefined;
      } catch (error) {
        return error;
      }
    });
    expect(expired).toMatchObject({ status: 401, code: 'TOKEN_EXPIRED' });
  });

  test('stops working the moment it is deleted', async () => {
    const { id } = await server.organization();
    const created = await server
      .client()
      .call('createOrganizationApiToken', { params: { organizationId: id }, body: { name: 'gone' } });
    const client = server.client(created.token);
    await client.call('listOrganization');
    await server.client().call('deleteOrganizationApiToken', { params: { organizationId: id, apiTokenId: created.id } });
    await expect(client.call('listOrganization')).rejects.toMatchObject({ status: 401 });
  });

  test('that another process takes away stops working without waiting for the cache', async () => {
    const { id } = await server.organization();
    const created = await server
      .client()
      .call('createOrganizationApiToken', { params: { organizationId: id }, body: { name: 'far' } });
    const client = server.client(created.token);
    await client.call('listOrganization');
    const began = Date.now();
    await revokeElsewhere(server.database.connectionString, created.id);
    await vi.waitUntil(async () => (await client.call('listOrganization').catch((error: unknown) => error)) instanceof ApiError);
    expect(Date.now() - began).toBeLessThan(3000);
  });
});

test('fifty creations of one name at once end in one success and 49 conflicts', async () => {
  const { id } = await server.organization();
  const calls = Array.from({ length: 50 }, (_unused, index) =>
    server.client().call('createProject', { params: { organizationId: id }, body: { name: index % 2 === 0 ? 'Same' : 'sAME' } }),
  );
  const results = await Promise.allSettled(calls);
  const codes = results.map((one) =>
    one.status === 'fulfilled' ? 'ok' : one.reason instanceof ApiError ? one.reason.code : 'other',
  );
  expect(codes.filter((code) => code === 'ok')).toHaveLength(1);
  expect(codes.filter((code) => code === 'NAME_TAKEN')).toHaveLength(49);
});

test('a page of any list can be asked for', async () => {
  const { id } = await server.organization();
  const client = server.client();
  for (const name of ['a', 'b', 'c']) await client.call('createProject', { params: { organizationId: id }, body: { name } });
  const headers = { authorization: `Token ${server.adminToken}` };
  const at = `${server.baseUrl}/organization/${id}/project`;
  const page: { results: { name: string }[] } = JSON.parse(await (await fetch(`${at}?page=2&pageSize=2`, { headers })).text());
  expect(page.results.map(({ name }) => name)).toEqual(['c']);
  expect(await (await fetch(`${at}?page=0`, { headers })).json()).toMatchObject({ status: 400, errors: [{ path: 'page' }] });
});

describe('the rate limit', () => {
  let limited: TestServer;
  beforeAll(async () => {
    limited = await startTestServer({ environment: { DAVIT_RATE_LIMIT: '5' } });
  });
  afterAll(() => limited.close());
  beforeEach(() => untilWindowLasts(3, () => windowSecondsLeft(limited)));

  test('counts per token, says what is left on every answer, and then answers 429', async () => {
    const headers = { authorization: `Token ${limited.adminToken}` };
    const answers: Response[] = [];
    for (let count = 0; count < 6; count += 1) answers.push(await fetch(`${limited.baseUrl}/organization`, { headers }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429]);
    expect(answers.map((answer) => answer.headers.get('x-ratelimit-remaining'))).toEqual(['4', '3', '2', '1', '0', '0']);
    const last = answers.at(-1);
    expect(last?.headers.get('x-ratelimit-limit')).toBe('5');
    expect(Number(last?.headers.get('x-ratelimit-reset'))).toBeGreaterThan(0);
    expect(last?.headers.get('retry-after')).toBe(last?.headers.get('x-ratelimit-reset'));
    expect(await last?.json()).toMatchObject({ status: 429, error: 'Too Many Requests', code: 'RATE_LIMITED' });
  });

  test('counts requests without a good token by address', async () => {
    const statuses: number[] = [];
    for (let count = 0; count < 8; count += 1) {
      statuses.push((await fetch(`${limited.baseUrl}/organization`, { headers: { authorization: 'Token dvt_guess' } })).status);
    }
    expect(statuses).toContain(401);
    expect(statuses.at(-1)).toBe(429);
  });
});

const setReadOnly = statement('test_set_read_only', 'set default_transaction_read_only = on');

test('a server of a database that takes no changes is not ready', async () => {
  const other = await startTestServer();
  try {
    // The pool hands out the most recently returned connection first.
    await expect
      .poll(async () => {
        await other.api.deps.database.run(setReadOnly);
        return (await fetch(`${other.baseUrl}/readyz`)).status;
      })
      .toBe(503);
  } finally {
    await other.close();
  }
});

test('health, metrics, description and reference page are there, and ask no other host', async () => {
  const get = async (path: string): Promise<string> => {
    const response = await fetch(`${server.baseUrl}${path}`);
    expect({ path, status: response.status }).toEqual({ path, status: 200 });
    return response.text();
  };
  expect(await get('/healthz')).toContain('ok');
  expect(await get('/readyz')).toContain('ready');
  expect(await get('/metrics')).toMatch(/davit_request_duration_seconds_count\{operation="\w+",status="2xx"\} \d+[\s\S]*nodejs_/);
  expect(JSON.parse(await get('/openapi.json'))).toMatchObject({ openapi: '3.1.0' });
  expect(await get('/docs/errors')).toContain('id="git_unreachable"');
  const page = await get('/docs');
  expect(page).not.toMatch(/https?:\/\//);
  expect((await get('/docs/rapidoc.js')).length).toBeGreaterThan(100_000);
});

describe('HEAD', () => {
  const authorized = () => ({ authorization: `Token ${server.adminToken}`, 'accept-encoding': 'identity' });
  const paths = ['/', '/healthz', '/readyz', '/openapi.json', '/docs', '/docs/errors', '/docs/rapidoc.js', '/organization'];

  test.each(paths)('of %s has the headers of GET and no body', async (path) => {
    const get = await fetch(`${server.baseUrl}${path}`, { headers: authorized() });
    const head = await fetch(`${server.baseUrl}${path}`, { method: 'HEAD', headers: authorized() });
    expect([head.status, await head.text()]).toEqual([200, '']);
    for (const name of ['content-type', 'etag', 'cache-control']) expect(head.headers.get(name)).toBe(get.headers.get(name));
    expect(Number(head.headers.get('content-length'))).toBe(Buffer.byteLength(await get.text()));
  });

  test('of the page of metrics works too, whose length changes with each request', async () => {
    expect((await fetch(`${server.baseUrl}/metrics`, { method: 'HEAD' })).status).toBe(200);
  });

  test('without a token is refused as GET is', async () => {
    expect((await fetch(`${server.baseUrl}/organization`, { method: 'HEAD' })).status).toBe(401);
  });
});

describe('an answer is compressed', () => {
  const get = (path: string, encoding: string, more: Readonly<Record<string, string>> = {}) =>
    fetch(`${server.baseUrl}${path}`, {
      headers: { authorization: `Token ${server.adminToken}`, 'accept-encoding': encoding, ...more },
    });

  test('where it is large and the client accepts it, with the same content', async () => {
    const { id: organizationId } = await server.organization();
    const client = server.client(server.adminToken);
    for (let count = 0; count < 20; count += 1) {
      await client.call('createProject', { params: { organizationId }, body: { name: `project ${count}` } });
    }
    const path = `/organization/${organizationId}/project`;
    const plain = await get(path, 'identity');
    const zipped = await get(path, 'gzip, deflate, br');
    expect([plain.headers.get('content-encoding'), zipped.headers.get('content-encoding')]).toEqual([null, 'gzip']);
    expect([plain.headers.get('vary'), zipped.headers.get('vary')]).toEqual(['accept-encoding', 'accept-encoding']);
    expect(await zipped.json()).toEqual(await plain.json());
    expect((await get(path, 'gzip;q=0')).headers.get('content-encoding')).toBeNull();
  });

  test('not where it is small', async () => {
    expect((await get('/healthz', 'gzip')).headers.get('content-encoding')).toBeNull();
  });

  test('once and for all where it is the description of the API, which is not sent again to who has it', async () => {
    const identity = await get('/openapi.json', 'identity');
    const text = await identity.text();
    for (const encoding of ['br', 'gzip'] as const) {
      const answer = await get('/openapi.json', encoding);
      const etag = answer.headers.get('etag') ?? '';
      expect(answer.headers.get('content-encoding')).toBe(encoding);
      expect(Number(answer.headers.get('content-length'))).toBeLessThan(text.length / 8);
      expect(await answer.text()).toBe(text);
      const again = await get('/openapi.json', encoding, { 'if-none-match': etag });
      expect([again.status, await again.text()]).toEqual([304, '']);
      expect(etag).not.toBe(identity.headers.get('etag'));
    }
  });
});

test('examples are served to everybody as they would be sent, and not again to who has them', async () => {
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${server.baseUrl}/examples/${path}`, { headers });
  const request = await get('createProject/request');
  expect([request.status, request.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
  expect(await request.json()).toMatchObject({ name: 'shop' });
  expect(await (await get('createProject/answer')).json()).toMatchObject({ name: 'shop', id: expect.any(String) });
  expect((await get('createProject/request', { 'if-none-match': request.headers.get('etag') ?? '' })).status).toBe(304);
  const yaml = await get('editClusterKubeconfig/request');
  expect([yaml.headers.get('content-type'), await yaml.text()]).toEqual([
    'application/x-yaml; charset=utf-8',
    expect.stringContaining('kind: Config'),
  ]);
  expect(await (await get('streamDeployment/answer')).text()).toContain('event: END');
  for (const path of ['getProject/request', 'toString/answer', 'createProject/status']) {
    expect(await (await get(path)).json()).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  }
});

test('the address of the server says where to look', async () => {
  const answer = await fetch(`${server.baseUrl}/`);
  expect(await answer.json()).toMatchObject({ name: 'Davit', reference: '/docs', description: '/openapi.json' });
});
