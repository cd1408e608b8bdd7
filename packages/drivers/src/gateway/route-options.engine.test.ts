import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RouteOptions } from '../gateway.ts';
import { hasHaproxy, httpRoute, GatewaySetup, title, toEcho } from './testing.ts';

let setup: GatewaySetup;
beforeEach(() => {
  setup = new GatewaySetup();
});
afterEach(() => setup.end());

const host = 'a.localhost';
/** Returns a list of the shortest words with that total length. */
const toWords = (length: number): string[] => Array.from({ length: length / 2 }, () => 'A');

/** Starts a gateway with one route, which has these options and a backend. */
async function serving(options: RouteOptions, count = 1) {
  const gateway = await setup.gateway();
  const backends = await Promise.all(Array.from({ length: count }, (_, index) => setup.backend(`backend-${index}`)));
  const apply = (number: number): Promise<void> =>
    gateway.apply({ http: [httpRoute('r', [host], backends.slice(0, number), { options })], tcp: [] });
  await apply(count);
  return { apply, gateway, backends };
}

describe.skipIf(!hasHaproxy)(`options of a route of ${title}`, () => {
  it('lets only allowed addresses in, and keeps denied ones out', async () => {
    const { gateway, backends } = await serving({ allowedSources: ['127.0.0.0/8', '::1'] });
    expect((await setup.ask(host)).status).toBe(200);
    for (const options of [{ allowedSources: ['10.0.0.0/8'] }, { deniedSources: ['192.0.2.1', '127.0.0.1'] }]) {
      await gateway.apply({ http: [httpRoute('r', [host], backends, { options })], tcp: [] });
      // Addresses that a client claims for itself are not trusted.
      expect((await setup.ask(host, '/', { headers: { 'x-forwarded-for': '10.0.0.1' } })).status).toBe(403);
    }
  });

  it('looks at each entry of a list of any length', async () => {
    const sources = Array.from({ length: 1250 }, (_, index) => `10.${index >> 8}.${index & 255}.1`);
    const origins = Array.from({ length: 800 }, (_, index) => `https://o${index}.example`);
    const { gateway, backends } = await serving({ allowedSources: [...sources, '127.0.0.1'] });
    expect((await setup.ask(host)).status).toBe(200);
    const crossOrigin = { origins, methods: ['GET'], headers: [] };
    const others: readonly (readonly [RouteOptions, number])[] = [
      [{ allowedSources: sources }, 403],
      [{ deniedSources: sources }, 200],
      [{ deniedSources: [...sources, '127.0.0.1'], crossOrigin }, 403],
      [{ crossOrigin }, 200],
    ];
    for (const [options, status] of others) {
      await gateway.apply({ http: [httpRoute('r', [host], backends, { options })], tcp: [] });
      expect((await setup.ask(host)).status).toBe(status);
    }
    for (const origin of ['https://o0.example', 'https://O799.example']) {
      const answer = await setup.ask(host, '/', { headers: { origin } });
      expect(answer.headers['access-control-allow-origin']).toBe(origin);
    }
    const other = await setup.ask(host, '/', { headers: { origin: 'https://o800.example' } });
    expect(other.headers['access-control-allow-origin']).toBeUndefined();
  });

  it('has room for the longest headers that may be set, on answers and in preflight requests', async () => {
    const headers = Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [`X-${String(index).padStart(3, '0')}`, 'a'.repeat(155)]),
    );
    // Longer than a buffer of HAProxy: it fills the buffer, except the reserved part.
    const body = 'b'.repeat(100_000);
    const server = createHttpServer((_message, response) => {
      for (let index = 0; index < 5; index += 1) response.setHeader(`x-own-${index}`, 'o'.repeat(1000));
      response.end(body);
    });
    const gateway = await setup.gateway();
    const backend = { id: 'long', host: '127.0.0.1', port: await setup.listen(server) };
    const options: RouteOptions = {
      headers,
      sticky: true,
      crossOrigin: { origins: ['https://a.example'], methods: toWords(1000), headers: toWords(4000) },
    };
    await gateway.apply({ http: [httpRoute('r', [host], [backend], { options })], tcp: [] });
    for (let count = 0; count < 20; count += 1) {
      const answer = await setup.ask(host, '/', { headers: { origin: 'https://a.example' } });
      expect([answer.status, answer.text.length, answer.headers['x-049']]).toEqual([200, body.length, 'a'.repeat(155)]);
    }
    const preflight = { origin: 'https://a.example', 'access-control-request-method': 'PUT' };
    const answer = await setup.ask(host, '/', { method: 'OPTIONS', headers: preflight });
    expect(answer.status).toBe(204);
    expect(answer.headers['access-control-allow-headers']).toBe(toWords(4000).join(', '));
  });

  it('refuses a body that is longer than the limit', async () => {
    await serving({ bodyLimitMebibytes: 1 });
    expect((await setup.ask(host, '/', { method: 'POST', body: 'x'.repeat(1024 * 1024) })).status).toBe(200);
    expect((await setup.ask(host, '/', { method: 'POST', body: 'x'.repeat(1024 * 1024 + 1) })).status).toBe(413);
  });

  it('gives up on an answer that does not come', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const address = silent.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const gateway = await setup.gateway();
    const backend = { id: 'silent', host: '127.0.0.1', port: address.port };
    await gateway.apply({ http: [httpRoute('r', [host], [backend], { options: { readTimeoutSeconds: 1 } })], tcp: [] });
    const before = performance.now();
    expect((await setup.ask(host)).status).toBe(504);
    expect(performance.now() - before).toBeGreaterThan(900);
    await new Promise((resolve) => silent.close(resolve));
  });

  it('keeps a client at one backend, also at one that came later', async () => {
    const { apply } = await serving({ sticky: true }, 2);
    await apply(1);
    await apply(2);
    const names = new Set<string>();
    for (let client = 0; client < 4; client += 1) {
      const first = await setup.ask(host);
      const cookie = String(first.headers['set-cookie']).split(';', 1)[0] ?? '';
      expect(cookie).toMatch(/^DAVIT_INSTANCE=\w+$/);
      const { name } = toEcho(first.text);
      names.add(name);
      for (let again = 0; again < 3; again += 1) expect((await setup.echo(host, '/', { headers: { cookie } })).name).toBe(name);
    }
    expect(names.size).toBe(2);
  });

  it('answers preflight requests of allowed origins, and lets only them read answers', async () => {
    const crossOrigin = { origins: ['https://a.example'], methods: ['GET', 'PUT'], headers: ['X-Token'] };
    await serving({ crossOrigin });
    const preflight = { method: 'OPTIONS', headers: { origin: 'https://a.example', 'access-control-request-method': 'PUT' } };
    const answer = await setup.ask(host, '/', preflight);
    expect(answer.status).toBe(204);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': 'https://a.example',
      'access-control-allow-methods': 'GET, PUT',
      'access-control-allow-headers': 'X-Token',
    });
    const allowed = await setup.ask(host, '/', { headers: { origin: 'https://a.example' } });
    expect(allowed.headers['access-control-allow-origin']).toBe('https://a.example');
    const other = await setup.ask(host, '/', { headers: { origin: 'https://b.example' } });
    expect(other.headers['access-control-allow-origin']).toBeUndefined();
  });

  it('sets headers on every answer, whatever characters they have', async () => {
    const headers = { 'Content-Security-Policy': `default-src 'self'; x "y" \\ $HOME $\{HOME} # %[src] 100%` };
    await serving({ headers });
    expect((await setup.ask(host)).headers['content-security-policy']).toBe(headers['Content-Security-Policy']);
  });
});
