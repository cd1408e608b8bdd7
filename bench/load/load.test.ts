import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { startLoad } from './load.ts';
import type { LoadPlan, LoadResult } from './plan.ts';

let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function loadOn(listener: RequestListener, plan: Partial<LoadPlan> = {}): Promise<LoadResult> {
  server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const requests = [{ method: 'GET', path: '/', headers: {} }];
  return startLoad({ port, connections: 2, warmUpMilliseconds: 0, milliseconds: 300, requests, status: 200, ...plan }).result;
}

test('a server that answers all requests has lost none', async () => {
  const result = await loadOn((_request, response) => response.end('fine'), { keepsBodies: true, reconnectEvery: 3 });
  expect(result.failures).toEqual({});
  expect(result.requests).toBeGreaterThan(100);
  expect(result.bodies).toEqual(['fine']);
  expect(result.latency.p99).toBeGreaterThanOrEqual(result.latency.p50);
});

test('each answer of another status is counted', async () => {
  let answered = 0;
  const result = await loadOn((_request, response) => {
    answered += 1;
    response.writeHead(answered === 5 ? 503 : 200, { 'content-length': 0 }).end();
  });
  expect(result.failures).toEqual({ 'status 503': 1 });
});

test('a connection that ends in the middle of a request is a lost request', async () => {
  let requested = 0;
  const result = await loadOn((request, response) => {
    requested += 1;
    if (requested === 5) request.socket.destroy();
    else response.end('fine');
  });
  expect(Object.values(result.failures)).toEqual([1]);
});

test('a connection that ends between two requests is none', async () => {
  const sockets = new Set<Socket>();
  const result = await loadOn(
    (request, response) => {
      if (!sockets.has(request.socket)) response.once('close', () => setImmediate(() => request.socket.end()));
      sockets.add(request.socket);
      response.end('fine');
    },
    { pauseMilliseconds: 60 },
  );
  expect(result.failures).toEqual({});
  expect(sockets.size).toBeGreaterThan(2);
});

test('every # in a body becomes a number that no other request has', async () => {
  const seen: string[] = [];
  const requests = [{ method: 'POST', path: '/', headers: {}, body: '{"name":"Åse #"}' }];
  await loadOn(
    (request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      request.once('end', () => {
        seen.push(text);
        response.end();
      });
    },
    { requests, firstNumber: 7 },
  );
  expect(seen[0]).toBe('{"name":"Åse 00000007"}');
  expect(new Set(seen).size).toBe(seen.length);
});
