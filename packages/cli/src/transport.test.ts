import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { send } from './transport.ts';

let server: Server;
let base: string;
const seen: { readonly method?: string; readonly headers: IncomingMessage['headers']; body: string; port?: number }[] = [];
beforeAll(async () => {
  server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  base = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += String(chunk);
  const { method, headers, socket, url } = request;
  seen.push({ ...(method && { method }), headers, body, ...(socket.remotePort && { port: socket.remotePort }) });
  if (url === '/moved') response.writeHead(307, { location: '/there' }).end('moved');
  else if (url === '/packed') response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"ä": 1}'));
  else if (url === '/broken') response.writeHead(200).write('half', () => socket.destroy());
  else if (url === '/stream') response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
  else if (url !== '/silent') response.writeHead(url === '/none' ? 404 : 200, { 'retry-after': '7' }).end('here');
}

const get = (path: string, more: { readonly signal?: AbortSignal; readonly accept?: string } = {}) =>
  send(
    `${base}${path}`,
    { headers: { accept: more.accept ?? 'application/json' }, ...(more.signal && { signal: more.signal }) },
    {},
  );

test('requests share a connection, and an answer is read whatever its status, packed or not', async () => {
  const none = await get('/none');
  expect([none.ok, none.status, none.headers.get('Retry-After'), none.headers.get('x'), await none.text()]).toEqual([
    false,
    404,
    '7',
    null,
    'here',
  ]);
  expect(await (await get('/packed')).text()).toBe('{"ä": 1}');
  expect(new Set(seen.map(({ port }) => port)).size).toBe(1);
});

test('a body is sent with its length, also with a method that seldom has one', async () => {
  for (const method of ['POST', 'DELETE']) {
    await (await send(`${base}/there`, { method, headers: {}, body: '"ä"' }, {})).text();
    expect(seen.at(-1)).toMatchObject({ method, body: '"ä"', headers: { 'content-length': '4' } });
  }
});

test('redirections are followed, with the body', async () => {
  const moved = await send(`${base}/moved`, { method: 'POST', headers: { accept: 'text/plain' }, body: '1' }, {});
  expect(await moved.text()).toBe('here');
  expect(seen.at(-1)).toMatchObject({ method: 'POST', body: '1' });
});

test('failures are those of fetch: before the answer, in the middle of it, and when the caller leaves', async () => {
  const fault = (failing: Promise<unknown>): Promise<unknown> => failing.catch((error: unknown) => error);
  const refused = send('http://127.0.0.1:1/', { headers: {} }, {});
  expect(await fault(refused)).toMatchObject({ name: 'TypeError', message: 'fetch failed', cause: { code: 'ECONNREFUSED' } });
  const broken = await get('/broken');
  expect(await fault(broken.text())).toMatchObject({ name: 'TypeError', message: 'terminated' });
  const leave = new AbortController();
  const waiting = fault(get('/silent', { signal: leave.signal }));
  const reason = new Error('enough');
  leave.abort(reason);
  expect(await waiting).toBe(reason);
});

test('a stream comes as it is sent, and ends when the caller leaves', async () => {
  const leave = new AbortController();
  const { body } = await get('/stream', { accept: 'text/event-stream', signal: leave.signal });
  const reader = body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('data: 1\n\n');
  expect(seen.at(-1)?.headers['accept-encoding']).toBeUndefined();
  const rest = reader?.read().catch((error: unknown) => error);
  leave.abort(new Error('enough'));
  expect(await rest).toMatchObject({ message: 'enough' });
});
