import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, expect, test, vi } from 'vitest';
import { call, type Api } from './api.ts';
import { follow } from './follow.ts';
import { startTestApi } from './testing/api-server.ts';

/* What becomes of an API server that is busy, or falls silent. */

const signal = new AbortController().signal;

const closers: (() => void)[] = [];
afterEach(() => {
  vi.useRealTimers();
  closers.splice(0).forEach((close) => close());
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Api> {
  const { api, close } = await startTestApi(answer);
  closers.push(() => close());
  return api;
}

/** Refuses as often as there are statuses, then answers. */
async function busy(...statuses: readonly number[]): Promise<{ readonly api: Api; readonly methods: string[] }> {
  const methods: string[] = [];
  const api = await serve(({ method = '' }, response) => {
    const status = statuses[methods.push(method) - 1] ?? 200;
    response.writeHead(status, { 'retry-after': '0' }).end('{"message":"busy"}');
  });
  return { api, methods };
}

test('what a busy server did not do is asked again, in the time that it tells', async () => {
  const { api, methods } = await busy(429, 429);
  await call(api, { method: 'POST', path: '/', body: {}, signal });
  expect(methods).toEqual(['POST', 'POST', 'POST']);
  const leaderless = await busy(500, 503);
  await call(leaderless.api, { method: 'GET', path: '/', signal });
  expect(leaderless.methods).toEqual(['GET', 'GET', 'GET']);
});

test('what may have been done is not asked again, nor what is refused again and again', async () => {
  const { api, methods } = await busy(500);
  await expect(call(api, { method: 'POST', path: '/', body: {}, signal })).rejects.toMatchObject({ status: 500 });
  expect(methods).toEqual(['POST']);
  const away = await busy(503, 503, 503);
  await expect(call(away.api, { method: 'GET', path: '/', signal })).rejects.toMatchObject({ status: 503 });
  const denied = await busy(403);
  await expect(call(denied.api, { method: 'GET', path: '/', signal })).rejects.toMatchObject({ status: 403 });
  expect(denied.methods).toEqual(['GET']);
});

test('a watch that is not ended by its server is dropped, and the list read anew', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let [lists, watches] = [0, 0];
  const api = await serve(({ url = '' }, response) => {
    if (url.includes('watch=true')) {
      watches += 1;
      response.writeHead(200).flushHeaders();
      return;
    }
    lists += 1;
    response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: [] }));
  });
  const stop = new AbortController();
  const following = follow(api, { path: '/pods', query: {} }, {}, stop.signal);
  await expect.poll(() => watches).toBe(1);
  await vi.advanceTimersByTimeAsync(240_000);
  expect(lists).toBe(1);
  await vi.advanceTimersByTimeAsync(60_000);
  await expect.poll(() => [lists, watches]).toEqual([2, 2]);
  stop.abort();
  await following;
});
