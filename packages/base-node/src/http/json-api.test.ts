import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { AppError } from '@davit/base';
import { afterEach, expect, test } from 'vitest';
import { openConnection } from './connection.ts';
import { call, HttpRefusal, stream, type JsonApi } from './json-api.ts';
import { chunksOf } from './send.ts';

const signal = new AbortController().signal;
const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

async function serve(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  settings: Partial<JsonApi> = {},
): Promise<JsonApi> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // oxlint-disable-line typescript/no-unsafe-type-assertion -- it listens on TCP
  const connection = openConnection({ origin: `http://127.0.0.1:${port}` });
  closers.push(() => void (connection.close(), server.closeAllConnections(), server.close()));
  return {
    connection,
    prefix: '/v1',
    maxBytes: 1000,
    repeatsIfStale: false,
    refused: (request, status, words) => new HttpRefusal(request, status, words),
    unreachable: (why, error) => new AppError({ code: 'ENGINE_UNREACHABLE', message: why, cause: error }),
    ...settings,
  };
}

test('the response is JSON, or the text that it is', async () => {
  const api = await serve(({ url }, response) => response.end(url?.startsWith('/v1/json') ? `{"url":"${url}"}` : 'plain'));
  const answer = await call(api, { method: 'GET', path: '/json', query: { a: 'b c' }, signal }, 0);
  expect(answer).toEqual({ status: 200, body: { url: '/v1/json?a=b+c' } });
  expect((await call(api, { method: 'GET', path: '/text', signal }, 0)).body).toBe('plain');
});

test('a refusal has the status and the words of the server, but for statuses that are accepted', async () => {
  const api = await serve(({ url }, response) =>
    response.writeHead(404).end(url === '/v1/json' ? '{"message":" no such thing "}' : 'not here\n'),
  );
  const json = { method: 'GET', path: '/json', signal } as const;
  await expect(call(api, json, 0)).rejects.toMatchObject({ status: 404, words: 'no such thing' });
  await expect(stream(api, { ...json, path: '/text' })).rejects.toMatchObject({ status: 404, words: 'not here' });
  expect(await call(api, { ...json, accept: [404] }, 0)).toMatchObject({ status: 404 });
});

test('a server that does not respond, is cut off or says too much is unreachable', async () => {
  const api = await serve(({ url }, response) => {
    if (url === '/v1/cut') response.write('{"half":', () => response.destroy());
    if (url === '/v1/much') response.end('x'.repeat(1001));
  });
  const get = (path: string): Promise<unknown> => call(api, { method: 'GET', path, signal }, 100);
  await expect(get('/silent')).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE', message: 'gave no answer within 0.1 s' });
  const cut = { message: 'does not answer', cause: { name: 'SeveredResponse' } };
  await expect(get('/cut')).rejects.toMatchObject(cut);
  await expect(get('/much')).rejects.toMatchObject({ cause: { name: 'OversizedResponse' } });
});

test('an abort of the caller is no failure of the server, and neither is a broken body', async () => {
  const api = await serve((request) => void request.resume());
  const [controller, reason, broken] = [new AbortController(), new Error('mine'), new Error('the disk is gone')];
  const calling = call(api, { method: 'GET', path: '/', signal: controller.signal }, 0);
  controller.abort(reason);
  await expect(calling).rejects.toBe(reason);
  const body = new Readable({ read: () => void body.destroy(broken) });
  await expect(call(api, { method: 'PUT', path: '/', body, signal }, 0)).rejects.toBe(broken);
});

test('a refused request is sent again as often as the API says', async () => {
  let requested = 0;
  const api = await serve((_, response) => response.writeHead((requested += 1) < 3 ? 429 : 200).end('{}'), {
    repeatAfter: (_request, _response, repeats) => (repeats < 2 ? 1 : null),
  });
  expect((await call(api, { method: 'POST', path: '/', body: '{}', signal }, 0)).status).toBe(200);
  requested = -3;
  await expect(call(api, { method: 'POST', path: '/', signal }, 0)).rejects.toMatchObject({ status: 429 });
});

test('a stream begins before it ends, and does not delay calls', async () => {
  const api = await serve(({ url }, response) => void (url === '/v1/log' ? response.write('line\n') : response.end('{}')));
  const controller = new AbortController();
  const chunks = chunksOf(await stream(api, { method: 'GET', path: '/log', signal: controller.signal }));
  expect((await chunks.next()).value?.toString()).toBe('line\n');
  expect((await call(api, { method: 'GET', path: '/', signal }, 1000)).status).toBe(200);
  controller.abort();
  await expect(chunks.next()).rejects.toThrow(/aborted|ended/);
});
