import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { startTestApi } from '../testing/api-server.ts';
import { call, stream, unreachable, type Api, type KubernetesObject } from './api.ts';
import { follow, type Change } from './follow.ts';

/* Requests to an API server that is busy, falls silent, or is cut off. */

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

/** Refuses one request for each given status, then responds. */
async function busy(...statuses: readonly number[]): Promise<{ readonly api: Api; readonly methods: string[] }> {
  const methods: string[] = [];
  const api = await serve(({ method = '' }, response) => {
    const status = statuses[methods.push(method) - 1] ?? 200;
    response.writeHead(status, { 'retry-after': '0' }).end('{"message":"busy"}');
  });
  return { api, methods };
}

async function refusing(status: number, words: string): Promise<Api> {
  return serve((_, response) => {
    response.writeHead(status, { 'retry-after': '0' }).end(JSON.stringify({ message: words }));
  });
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
  await expect(call(away.api, { method: 'GET', path: '/', signal })).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE' });
  expect(away.methods).toHaveLength(3);
  const full = await busy(429, 429, 429);
  await expect(call(full.api, { method: 'GET', path: '/', signal })).rejects.toMatchObject({ status: 429 });
  const denied = await busy(403);
  await expect(call(denied.api, { method: 'GET', path: '/', signal })).rejects.toMatchObject({ status: 403 });
  expect(denied.methods).toEqual(['GET']);
});

describe('a server that can do nothing is away', () => {
  const pods = '/api/v1/namespaces/davit-1/pods';
  const away = { code: 'ENGINE_UNREACHABLE', retryable: true };

  test.each([
    [502, 'Bad Gateway'],
    [503, 'the server is currently unable to handle the request'],
    [504, 'Gateway Timeout'],
    [500, 'etcdserver: request timed out'],
    [500, 'Internal error occurred: etcdserver: no leader'],
    [500, 'rpc error: code = Unavailable desc = transport is closing'],
  ])('when it answers %i %s, and its words are told', async (status, words) => {
    const api = await refusing(status, words);
    const reported = { ...away, message: expect.stringContaining(`answers with ${status}: ${words}`) };
    for (const path of [
      pods,
      '/version',
      '/apis/apps/v1/deployments',
      '/apis/networking.k8s.io/v1/ingresses',
      '/apis/keda.sh/v1alpha1/x',
    ])
      await expect(call(api, { method: 'PATCH', path, body: {}, signal })).rejects.toMatchObject(reported);
    await expect(stream(api, { method: 'GET', path: pods, signal })).rejects.toMatchObject(reported);
  });

  test.each([
    [500, 'Internal error occurred: failed calling webhook "x": context deadline exceeded'],
    [503, 'failed calling webhook "x": no endpoints available'],
    [500, 'etcdserver: request is too large'],
    [500, 'etcdserver: mvcc: database space exceeded'],
    [504, 'Timeout: request did not complete within requested timeout - context deadline exceeded'],
    [500, 'Internal error occurred'],
    [429, 'too many requests'],
  ])('but not when it answers %i %s', async (status, words) => {
    const api = await refusing(status, words);
    await expect(call(api, { method: 'PATCH', path: pods, body: {}, signal })).rejects.toMatchObject({ status, words });
  });

  test.each([
    ['a node', `${pods}/web/log`],
    ['a node', `${pods}/web/exec`],
    ['a server behind it', '/apis/metrics.k8s.io/v1beta1/pods'],
    ['a server behind it', '/apis/custom.metrics.k8s.io/v1beta1/x'],
    ['a server behind it', '/apis/packages.example.org/v1'],
  ])('nor where %s was asked: %s', async (_, path) => {
    const api = await refusing(503, 'error trying to reach service: dial tcp 10.0.0.9:10250: connection refused');
    await expect(stream(api, { method: 'GET', path, signal })).rejects.toMatchObject({ status: 503 });
    await expect(call(api, { method: 'POST', path, body: {}, signal })).rejects.toMatchObject({ status: 503 });
  });

  test('nor for a moment, in which a watch is asked for again', async () => {
    const { api, methods } = await busy(503, 500);
    (await stream(api, { method: 'GET', path: pods, signal })).destroy();
    expect(methods).toHaveLength(3);
    const log = await busy(503);
    await expect(stream(log.api, { method: 'GET', path: `${pods}/web/log`, signal })).rejects.toMatchObject({ status: 503 });
    expect(log.methods).toHaveLength(1);
  });

  test('when it says so in a watch', async () => {
    const { following } = await followed((response) => {
      response.end('{"type":"ERROR","object":{"code":500,"message":"etcdserver: no leader"}}\n');
    });
    await expect(following).rejects.toMatchObject(away);
  });
});

interface Followed {
  readonly api: Api;
  /** Resource version of each watch. */
  readonly watches: string[];
  /** Names of the reported objects. */
  readonly reported: string[];
  readonly lists: () => number;
  readonly following: Promise<void>;
  readonly stop: () => void;
}

/** Follows an empty list. Each watch gets the next of `answers`; the last one is repeated. */
async function followed(...answers: readonly ((response: ServerResponse) => void)[]): Promise<Followed> {
  const [watches, reported]: [string[], string[]] = [[], []];
  let lists = 0;
  const api = await serve(({ url = '' }, response) => {
    const query = new URL(url, 'https://localhost').searchParams;
    if (query.has('watch')) {
      watches.push(query.get('resourceVersion') ?? '');
      answers[Math.min(watches.length, answers.length) - 1]?.(response);
      return;
    }
    lists += 1;
    response.end(JSON.stringify({ metadata: { resourceVersion: `list${lists}` }, items: [] }));
  });
  const stop = new AbortController();
  const onEvent = ({ object }: Change<KubernetesObject>): unknown => reported.push(object.metadata?.name ?? '');
  const following = follow(api, { path: '/pods', query: {} }, { onEvent }, stop.signal);
  following.catch(() => undefined);
  closers.push(() => stop.abort());
  return { api, watches, reported, lists: () => lists, following, stop: () => stop.abort() };
}

const line = (type: string, name: string): string =>
  `${JSON.stringify({ type, object: { metadata: { name, uid: name, resourceVersion: `after-${name}` } } })}\n`;
const quiet = (response: ServerResponse): void => response.writeHead(200).flushHeaders();
const cut = (response: ServerResponse): void => {
  quiet(response);
  setImmediate(() => response.destroy());
};
/** Sends one complete event and half of another one. */
const cutAfter =
  (name: string) =>
  (response: ServerResponse): void => {
    response.writeHead(200).write(line('ADDED', name) + line('ADDED', 'half').slice(0, 20), () => response.destroy());
  };

test('a watch whose connection is cut goes on where it was', async () => {
  const { watches, reported, lists, following, stop } = await followed(cutAfter('a'), cut, (response) => {
    response.writeHead(200).write(line('ADDED', 'half'));
  });
  await expect.poll(() => reported, { timeout: 5_000 }).toEqual(['a', 'half']);
  expect(watches).toEqual(['list1', 'after-a', 'after-a']);
  expect(lists()).toBe(1);
  stop();
  await following;
});

test.each([
  ['is refused so', (response: ServerResponse) => response.writeHead(410).end('{}')],
  ['says so', (response: ServerResponse) => response.end('{"type":"ERROR","object":{"code":410}}\n')],
])('a watch that cannot go on, as what was there is forgotten, begins with a new list: %s', async (_, forgotten) => {
  const { watches, following, stop } = await followed(cutAfter('a'), forgotten, quiet);
  await expect.poll(() => watches, { timeout: 5_000 }).toEqual(['list1', 'after-a', 'list2']);
  stop();
  await following;
});

test('a server that is gone after it cut a watch is away', async () => {
  const { api, server, close } = await startTestApi(({ url = '' }, response) => {
    if (!url.includes('watch=true')) response.end('{"metadata":{"resourceVersion":"1"},"items":[]}');
    else {
      server.close();
      cut(response);
    }
  });
  closers.push(close);
  const following = follow(api, { path: '/pods', query: {} }, {}, signal);
  await expect(following).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE', retryable: true });
});

test.each([
  ['cuts', cut],
  ['ends', (response: ServerResponse) => response.end()],
])('a server that %s each watch at once is away, and is not asked without end', async (_, end) => {
  const { watches, lists, following } = await followed(end);
  await expect(following).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE' });
  expect([watches.length, lists()]).toEqual([5, 1]);
});

test('a watch that is not answered is that of a server that is away', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { watches, following } = await followed(() => undefined);
  await expect.poll(() => watches.length).toBe(1);
  await vi.advanceTimersByTimeAsync(60_000);
  await expect(following).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE' });
});

test('what goes wrong with what a watch tells is not taken for a cut', async () => {
  const api = await serve(({ url = '' }, response) => {
    if (url.includes('watch=true')) response.writeHead(200).write(line('ADDED', 'a'));
    else response.end('{"metadata":{"resourceVersion":"1"},"items":[]}');
  });
  const wrong = new Error('a fault of ours');
  const onEvent = (): void => {
    throw wrong;
  };
  await expect(follow(api, { path: '/pods', query: {} }, { onEvent }, signal)).rejects.toBe(wrong);
});

test('a watch that is not ended by its server is dropped, and the list read anew', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { watches, reported, lists, following, stop } = await followed((response) => {
    response.writeHead(200).write(line('ADDED', 'a'));
  });
  await expect.poll(() => reported).toEqual(['a']);
  await vi.advanceTimersByTimeAsync(240_000);
  expect(lists()).toBe(1);
  await vi.advanceTimersByTimeAsync(60_000);
  await expect.poll(() => [lists(), watches.length]).toEqual([2, 2]);
  stop();
  await following;
});

test('a certificate that is not trusted is told from a server that is away', () => {
  const hintOf = (code: string): string => unreachable('does not answer', Object.assign(new Error(code), { code })).hint;
  for (const code of [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'CERT_HAS_EXPIRED',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ])
    expect(hintOf(code)).toContain('certificate-authority-data');
  expect(hintOf('ECONNREFUSED')).toContain('Check that the cluster runs');
});
