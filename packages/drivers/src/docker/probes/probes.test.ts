import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { probeGrpc } from './grpc.ts';
import { probeHttp } from './http.ts';
import { probeTcp, type Target } from './tcp.ts';

// Self-signed certificate that only this test uses.
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgo6qANyyK7ioV4MWW
0xdRS6jYncwBE6iPeemI/kQPTnehRANCAASmvWe0r5ga3FF15Qx93sxnWdFk7DKe
cZqRLUDo0Le2CgNJW/K88GvmuW9e6cuhi1xygmp+QwrSYdnibHG5uQSw
-----END PRIVATE KEY-----`;
const cert = `-----BEGIN CERTIFICATE-----
MIIBgDCCASegAwIBAgIUDcSS1LIzqRMxrAUBiyyUzoOYEJEwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKZGF2aXQtdGVzdDAgFw0yNjExMjEwMzUwNTdaGA8yMTI2MTAy
ODAzNTA1N1owFTETMBEGA1UEAwwKZGF2aXQtdGVzdDBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABKa9Z7SvmBrcUXXlDH3ezGdZ0WTsMp5xmpEtQOjQt7YKA0lb8rzw
a+a5b17py6GLXHKCan5DCtJh2eJscbm5BLCjUzBRMB0GA1UdDgQWBBRu/EmArS0Q
WHWmcclKn0HnXFqYWDAfBgNVHSMEGDAWgBRu/EmArS0QWHWmcclKn0HnXFqYWDAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIFlrdkCuGSDwdx4crH6A
Xj41QHz3d+LAwCxDYI9vF4xFAiAYok/AzFG2aBuBposJUIXOjmNHsLi3NpQGEfP3
EfC4MA==
-----END CERTIFICATE-----`;

const signal = new AbortController().signal;
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

interface Listening {
  listen(port: number, host: string, done: () => void): unknown;
  address(): ReturnType<Server['address']>;
  close(): unknown;
}

async function targetOf(server: Listening): Promise<Target> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { host: '127.0.0.1', port: address.port, isProxied: false };
}

async function closedTarget(): Promise<Target> {
  const target = await targetOf(createServer());
  closers.pop()?.();
  return target;
}

describe('an HTTP probe', () => {
  const probe = async (listener: http.RequestListener, timeout = 2000): Promise<string | null> =>
    probeHttp(await targetOf(http.createServer(listener)), { path: '/up', scheme: 'HTTP' }, timeout, signal);

  it('takes 2xx and 3xx as success, and follows nothing', async () => {
    const requested: (string | undefined)[] = [];
    const answer =
      (status: number): http.RequestListener =>
      (request, response) => {
        requested.push(request.url);
        response.writeHead(status, { location: '/elsewhere' }).end();
      };
    expect(await probe(answer(204))).toBeNull();
    expect(await probe(answer(302))).toBeNull();
    expect(requested).toEqual(['/up', '/up']);
  });

  it('says status and first words of another answer', async () => {
    expect(await probe((_, response) => response.writeHead(503).end('database\n  is starting'))).toBe(
      'status 503: database is starting',
    );
    expect(await probe((_, response) => response.writeHead(500).end('x'.repeat(10_000)))).toBe(`status 500: ${'x'.repeat(200)}`);
  });

  it('says when there is no answer in time, none at all, or nobody', async () => {
    expect(await probe(() => undefined, 50)).toBe('no answer within 0.05 s');
    expect(await probe((request) => request.socket.destroy())).toBe('connection closed without an answer');
    expect(await probeHttp(await closedTarget(), { path: '/', scheme: 'HTTP' }, 1000, signal)).toBe('connection refused');
  });

  it('takes a certificate that nobody signed', async () => {
    const target = await targetOf(https.createServer({ key, cert }, (_, response) => response.end('fine')));
    expect(await probeHttp(target, { path: '/', scheme: 'HTTPS' }, 2000, signal)).toBeNull();
    expect(await probeHttp(target, { path: '/', scheme: 'HTTP' }, 2000, signal)).not.toBeNull();
  });
});

describe('a TCP probe', () => {
  it('takes a connection as success, and says when it is refused', async () => {
    expect(await probeTcp(await targetOf(createServer()), 1000, signal)).toBeNull();
    expect(await probeTcp(await closedTarget(), 1000, signal)).toBe('connection refused');
  });

  it('does not take a proxy that closes at once for a service', async () => {
    const closing = await targetOf(createServer((socket) => socket.end()));
    expect(await probeTcp({ ...closing, isProxied: true }, 1000, signal)).toBe('connection refused');
    const open = await targetOf(createServer((socket) => closers.push(() => socket.destroy())));
    expect(await probeTcp({ ...open, isProxied: true }, 1000, signal)).toBeNull();
  });
});

describe('a gRPC probe', () => {
  const serve = async (status: number | null, grpcStatus = '0'): Promise<Target> => {
    const server = http2.createServer();
    server.on('stream', (stream, headers) => {
      const isHealth = headers[':path'] === '/grpc.health.v1.Health/Check' && headers['content-type'] === 'application/grpc';
      stream.respond({ ':status': isHealth ? 200 : 404, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': grpcStatus }));
      stream.end(status === null ? Buffer.alloc(0) : Buffer.from([0, 0, 0, 0, 2, 8, status]));
    });
    return targetOf(server);
  };

  it('takes SERVING as success and nothing else', async () => {
    expect(await probeGrpc(await serve(1), '', 2000, signal)).toBeNull();
    expect(await probeGrpc(await serve(2), '', 2000, signal)).toBe('gRPC health is NOT_SERVING');
  });

  it('says what the server lacks', async () => {
    expect(await probeGrpc(await serve(null, '12'), '', 2000, signal)).toContain('no health service');
    expect(await probeGrpc(await serve(null, '5'), 'shop', 2000, signal)).toContain('does not know the service "shop"');
  });

  it('says when nobody answers, or not in HTTP/2', async () => {
    expect(await probeGrpc(await closedTarget(), '', 1000, signal)).toBe('connection refused');
    const plain = await targetOf(http.createServer((_, response) => response.end('hello')));
    expect(await probeGrpc(plain, '', 1000, signal)).not.toBeNull();
    const silent = await targetOf(createServer((socket) => closers.push(() => socket.destroy())));
    expect(await probeGrpc(silent, '', 50, signal)).toBe('no answer within 0.05 s');
  });
});
