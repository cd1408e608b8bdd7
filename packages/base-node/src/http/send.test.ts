import { mkdtempSync, rmSync } from 'node:fs';
import dns from 'node:dns';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import net, { type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { openConnection, type Connection } from './connection.ts';
import { PrivateTarget } from './public-lookup.ts';
import { bodyOf, chunksOf, OversizedResponse, send, SeveredResponse, startOf } from './send.ts';

/* Requests to real servers, over TCP and over unix sockets. */

const signal = new AbortController().signal;
const maxBytes = 1024 * 1024;
const closers: (() => void)[] = [];
afterEach(() => {
  vi.restoreAllMocks();
  closers.splice(0).forEach((close) => close());
});

/** Starts an HTTP server on loopback. Returns its origin. */
async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = http.createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => void (server.closeAllConnections(), server.close()));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // oxlint-disable-line typescript/no-unsafe-type-assertion -- it listens on TCP
}

/** Starts a server that speaks bytes. `onData` is called with each socket and what was received on it at once. */
async function serveBytes(onData: (socket: Socket, count: number) => void): Promise<string> {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', () => onData(socket, (count += 1)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => void (sockets.forEach((socket) => socket.destroy()), server.close()));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // oxlint-disable-line typescript/no-unsafe-type-assertion -- it listens on TCP
}

function connectionTo(origin: string, socketPath?: string): Connection {
  const connection = openConnection({ origin, socketPath });
  closers.push(() => connection.close());
  return connection;
}

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const textOf = async (response: IncomingMessage): Promise<string> => (await bodyOf(response, maxBytes)).toString('utf8');

test('a unix socket is reached by its path, again and again over the same connection', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'davit-http-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const socketPath = join(folder, 'a.sock');
  const sockets = new Set<unknown>();
  const server = http.createServer(({ url, socket }, response) => {
    sockets.add(socket);
    response.end(url);
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  closers.push(() => void (server.closeAllConnections(), server.close()));
  const connection = connectionTo('http://localhost', socketPath);
  for (const path of ['/one?a=b', '/two']) {
    const response = await send({ method: 'GET', url: `http://localhost${path}`, signal, over: { connection, use: 'calls' } });
    expect(await textOf(response)).toBe(path);
  }
  expect(sockets.size).toBe(1);
});

describe('bodies', () => {
  test('are streamed in both directions, no faster than they are read', async () => {
    const origin = await serve((request, response) => void request.pipe(response));
    let made = 0;
    const body = Readable.from(
      (async function* () {
        for (; made < 256; made += 1) yield Buffer.alloc(256 * 1024, made);
      })(),
    );
    const response = await send({ method: 'POST', url: origin, body, signal });
    const chunks = chunksOf(response);
    await chunks.next();
    await new Promise((resolve) => setTimeout(resolve, 100));
    // Nobody reads, so most of the 64 MiB must not have been made.
    expect(made).toBeLessThan(128);
    let bytes = 0;
    for await (const chunk of chunks) bytes += chunk.length;
    expect(made).toBe(256);
    expect(bytes).toBeGreaterThan(60 * 1024 * 1024);
  });

  test('of a request that break fail it with their own error, and close the connection', async () => {
    const [arrived, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const origin = await serve((request) => {
      request.once('data', () => arrived.resolve());
      request.once('close', () => closed.resolve());
    });
    const broken = new Error('the disk is gone');
    const body = Readable.from(
      (async function* () {
        yield Buffer.alloc(10);
        await arrived.promise;
        throw broken;
      })(),
    );
    await expect(send({ method: 'PUT', url: origin, body, signal })).rejects.toBe(broken);
    await closed.promise;
  });

  test('that were closed before do not leave the request waiting', async () => {
    const origin = await serve((request, response) => void request.resume().once('end', () => response.end()));
    const body = new Readable({ read: () => undefined });
    body.destroy();
    await expect(send({ method: 'PUT', url: origin, body, signal })).rejects.toThrow('closed before its end');
  });

  test('are given up once the server has refused them', async () => {
    const origin = await serve((_, response) => response.writeHead(413, { connection: 'close' }).end('too much'));
    const body = new Readable({ read: () => undefined });
    body.push('x');
    const response = await send({ method: 'PUT', url: origin, body, signal });
    expect([response.statusCode, await textOf(response)]).toEqual([413, 'too much']);
    await vi.waitFor(() => expect(body.destroyed).toBe(true));
  });

  test('of a DELETE have a length', async () => {
    const origin = await serve(({ headers }, response) => response.end(headers['content-length']));
    expect(await textOf(await send({ method: 'DELETE', url: origin, body: 'ä', signal }))).toBe('2');
  });
});

describe('failures are told apart', () => {
  test('nothing listens', async () => {
    const origin = await serve(() => undefined);
    closers.splice(0).forEach((close) => close());
    await expect(send({ method: 'GET', url: origin, signal })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('the connection ends before a response', async () => {
    const origin = await serveBytes((socket) => socket.destroy());
    const failing = send({ method: 'GET', url: origin, signal });
    await expect(failing).rejects.toMatchObject({ code: 'ECONNRESET' });
    await expect(failing).rejects.not.toBeInstanceOf(SeveredResponse);
  });

  test.each([
    ['chunks', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'],
    ['a length', 'Content-Length: 10\r\n\r\nhello'],
  ])('the connection ends in the middle of a response with %s', async (_, rest) => {
    const origin = await serveBytes((socket) => socket.end(`HTTP/1.1 200 OK\r\n${rest}`));
    const response = await send({ method: 'GET', url: origin, signal });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const chunk of chunksOf(response)) seen.push(chunk.toString());
    })();
    await expect(reading).rejects.toBeInstanceOf(SeveredResponse);
    expect(seen).toEqual(['hello']);
  });

  test('a response without a length is complete when the connection ends', async () => {
    const origin = await serveBytes((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nhello'));
    expect(await textOf(await send({ method: 'GET', url: origin, signal }))).toBe('hello');
  });

  test('the response is larger than accepted; its start can be had all the same', async () => {
    const origin = await serve((_, response) => response.end('x'.repeat(100)));
    await expect(bodyOf(await send({ method: 'GET', url: origin, signal }), 99)).rejects.toBeInstanceOf(OversizedResponse);
    expect((await bodyOf(await send({ method: 'GET', url: origin, signal }), 100)).length).toBe(100);
    expect((await startOf(await send({ method: 'GET', url: origin, signal }), 10)).length).toBe(10);
  });

  test('the caller aborts, before and in the middle of a response', async () => {
    const closed = Promise.withResolvers<void>();
    const origin = await serve((request, response) => {
      if (request.url === '/silent') return;
      response.write('begins');
      response.once('close', () => closed.resolve());
    });
    const reason = new Error('mine');
    const [before, amid] = [new AbortController(), new AbortController()];
    const failing = send({ method: 'GET', url: `${origin}/silent`, signal: before.signal });
    setTimeout(() => before.abort(reason), 20);
    await expect(failing).rejects.toBe(reason);
    await expect(send({ method: 'GET', url: origin, signal: before.signal })).rejects.toBe(reason);
    const chunks = chunksOf(await send({ method: 'GET', url: origin, signal: amid.signal }));
    await chunks.next();
    amid.abort(reason);
    await expect(chunks.next()).rejects.toThrow(/aborted|ended/);
    await closed.promise;
  });
});

describe('a kept connection that the server closes just when it is used', () => {
  /** Answers the first request and closes the connection on the second one. */
  const stale = (): Promise<string> => serveBytes((socket, count) => void (count === 2 ? socket.destroy() : socket.write(ok)));

  test('is replaced where the caller allows it', async () => {
    const origin = await stale();
    const over = { connection: connectionTo(origin), use: 'calls' } as const;
    await textOf(await send({ method: 'GET', url: origin, signal, over }));
    const response = await send({ method: 'POST', url: origin, body: '{}', signal, over, repeatsIfStale: true });
    expect(await textOf(response)).toBe('ok');
  });

  test('fails otherwise, and for a stream that cannot be sent twice', async () => {
    for (const request of [{ body: '{}' }, { body: Readable.from(['{}']), repeatsIfStale: true }]) {
      const origin = await stale();
      const over = { connection: connectionTo(origin), use: 'calls' } as const;
      await textOf(await send({ method: 'GET', url: origin, signal, over }));
      await expect(send({ method: 'POST', url: origin, signal, over, ...request })).rejects.toMatchObject({ code: 'ECONNRESET' });
    }
  });
});

describe('only public addresses', () => {
  const ask = (url: string): Promise<IncomingMessage> => send({ method: 'GET', url, signal, isPublicOnly: true });
  const resolvesTo = (...addresses: readonly string[]): void => {
    const found = addresses.map((address) => ({ address, family: net.isIPv6(address) ? 6 : 4 }));
    const lookup = (_host: string, _options: unknown, callback: (error: null, found: unknown) => void): void =>
      callback(null, found);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the overloads of lookup cannot be written as one
    vi.spyOn(dns, 'lookup').mockImplementation(lookup as typeof dns.lookup);
  };

  test('an address is refused before anything is sent', async () => {
    let requested = 0;
    const origin = await serve((_, response) => void ((requested += 1), response.end()));
    await expect(ask(origin)).rejects.toMatchObject({ name: 'PrivateTarget', address: '127.0.0.1' });
    await expect(ask(origin.replace('127.0.0.1', '2130706433'))).rejects.toBeInstanceOf(PrivateTarget);
    await expect(ask(origin.replace('127.0.0.1', '[::ffff:127.0.0.1]'))).rejects.toBeInstanceOf(PrivateTarget);
    expect(requested).toBe(0);
  });

  test('a name is refused if any of its addresses is private, whatever their order', async () => {
    for (const addresses of [['127.0.0.1'], ['8.8.8.8', '127.0.0.1'], ['10.0.0.1', '2606:4700::1']]) {
      resolvesTo(...addresses);
      await expect(ask('http://mixed.example/')).rejects.toMatchObject({ name: 'PrivateTarget', host: 'mixed.example' });
    }
  });
});
