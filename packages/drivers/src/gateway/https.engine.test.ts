import { readdir, readFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { connect } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HostCertificate } from '../gateway.ts';
import { createGateway, type LocalGateway } from './gateway.ts';
import { testCertificate } from '@davit/testkit/certificate';
import { freePort, hasHaproxy, httpRoute, GatewaySetup, title, toEcho, until, type Echo } from './testing.ts';

let setup: GatewaySetup;
let httpsPort: number;
beforeEach(async () => {
  setup = new GatewaySetup();
  httpsPort = await freePort();
});
afterEach(() => setup.end());

interface Seen {
  readonly echo: Echo;
  readonly serial: string;
  readonly hsts: string | undefined;
}

/** Sends a request over HTTPS that trusts only this certificate and accepts only the requested host name. */
function ask(host: string, ca: string, agent?: Agent): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: httpsPort, servername: host, headers: { host: `${host}:${httpsPort}` }, ca };
    const sent = request({ ...options, agent: agent ?? false }, (response) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of an https request
      const serial = (response.socket as TLSSocket).getPeerCertificate().serialNumber;
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('error', reject);
      response.on('end', () => resolve({ echo: toEcho(text), serial, hsts: response.headers['strict-transport-security'] }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

const shown = (host: string, { pem }: { readonly pem: string }, redirect = false): HostCertificate => ({ host, pem, redirect });

describe.skipIf(!hasHaproxy)(`HTTPS of ${title}`, () => {
  let gateway: LocalGateway;
  beforeEach(async () => {
    gateway = await setup.gateway({ httpsPort });
    await gateway.start();
  });

  it('shows each host its certificate, to HTTP/2 too, and breaks off for a host without one', async () => {
    const [a, star] = [await testCertificate('a.test'), await testCertificate('*.b.test')];
    const http = [httpRoute('a', ['a.test', 'c.test', '*.b.test'], [await setup.backend('one')])];
    await gateway.apply({ http, tcp: [] });
    await expect(ask('a.test', a.certificate)).rejects.toThrow(/alert|disconnected|reset/i);
    await gateway.apply({ http, tcp: [], certificates: [shown('a.test', a), shown('*.b.test', star)] });
    const { echo } = await ask('a.test', a.certificate);
    expect(echo).toMatchObject({ name: 'one', headers: { 'x-forwarded-proto': 'https', 'x-forwarded-for': '127.0.0.1' } });
    expect((await ask('x.b.test', star.certificate)).echo.name).toBe('one');
    await expect(ask('x.b.test', a.certificate)).rejects.toThrow(/certificate/);
    await expect(ask('c.test', a.certificate)).rejects.toThrow(/alert|disconnected|reset/i);
    const session = connect(`https://a.test:${httpsPort}`, {
      ca: a.certificate,
      lookup: (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
    });
    const status = await new Promise((resolve, reject) => {
      session.on('error', reject);
      session.request({ ':path': '/' }).on('response', (headers) => resolve(headers[':status']));
    });
    session.destroy();
    expect(status).toBe(200);
    await gateway.apply({ http, tcp: [], certificates: [shown('*.b.test', star)] });
    await expect(ask('a.test', a.certificate)).rejects.toThrow(/alert|disconnected|reset/i);
    expect(await readdir(join(setup.folder, 'certificates'))).toHaveLength(1);
  });

  it('changes a certificate 20 times under load and loses no request', async () => {
    const certificates = await Promise.all(Array.from({ length: 21 }, () => testCertificate('a.test')));
    const ca = certificates.map(({ certificate }) => certificate).join('');
    const http = [httpRoute('a', ['a.test'], [await setup.backend('one')])];
    const apply = (index: number) => gateway.apply({ http, tcp: [], certificates: [shown('a.test', certificates[index]!)] });
    await apply(0);
    const before = await workers();
    const serials = new Set<string>();
    const faults: unknown[] = [];
    let count = 0;
    const over = new AbortController();
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    const clients = [kept, undefined, undefined].map(async (agent) => {
      while (!over.signal.aborted) {
        count += 1;
        await ask('a.test', ca, agent).then(
          ({ serial }) => serials.add(serial),
          (error: unknown) => faults.push(error),
        );
      }
    });
    for (let index = 1; index < certificates.length; index += 1) {
      const since = count;
      await until(() => count > since + 60);
      await apply(index);
    }
    over.abort();
    await Promise.all(clients);
    kept.destroy();
    expect(faults).toEqual([]);
    expect(serials.size).toBeGreaterThan(15);
    // The change was made by commands, without a reload.
    expect(await workers()).toEqual(before);
  });

  it('keeps its certificates over a reload, a crash of HAProxy and a restart of Davit', async () => {
    const a = await testCertificate('a.test');
    const first = httpRoute('a', ['a.test'], [await setup.backend('one')]);
    await gateway.apply({ http: [first], tcp: [], certificates: [shown('a.test', a)] });
    const second = httpRoute('b', ['b.test'], [await setup.backend('two')]);
    const table = { http: [first, second], tcp: [], certificates: [shown('a.test', a)] };
    await gateway.apply(table);
    expect((await ask('a.test', a.certificate)).echo.name).toBe('one');
    process.kill(Number(await readFile(join(setup.folder, 'pid'), 'utf8')), 'SIGKILL');
    gateway.detach();
    const next = createGateway({ stateFolder: setup.folder, port: setup.port, httpsPort, bindAddress: '127.0.0.1' });
    await next.start();
    // The routes return once the instances have been checked.
    await next.apply(table);
    next.detach();
    expect((await ask('a.test', a.certificate)).echo.name).toBe('one');
  });

  it('sends requests over HTTP to HTTPS where it is told to, but not those of certificate authorities', async () => {
    const [a, star] = [await testCertificate('a.test'), await testCertificate('*.b.test')];
    const http = [httpRoute('a', ['a.test', 'c.test', '*.b.test'], [await setup.backend('one')])];
    const certificates = [shown('a.test', a, true), shown('*.b.test', star, true)];
    const challenges = [{ host: 'a.test', token: 'tok-en_1', answer: 'tok-en_1.thumb' }];
    await gateway.apply({ http, tcp: [], certificates, challenges });
    for (const host of ['a.test', 'x.b.test']) {
      const { status, headers } = await setup.ask(`${host}:${setup.port}`, '/a?b=c', { method: 'POST', body: 'x' });
      expect({ status, location: headers.location }).toEqual({ status: 308, location: `https://${host}:${httpsPort}/a?b=c` });
    }
    expect((await setup.echo('c.test', '/')).headers['x-forwarded-proto']).toBe('http');
    const location = '/.well-known/acme-challenge/tok-en_1';
    expect(await setup.ask('a.test', location)).toMatchObject({ status: 200, text: 'tok-en_1.thumb' });
    // Challenges of other authorities belong to the service.
    expect((await setup.echo('c.test', location)).url).toBe(location);
    expect((await setup.ask('a.test', `${location}2`)).status).toBe(308);
    await gateway.apply({ http, tcp: [], certificates });
    expect((await setup.ask('a.test', location)).status).toBe(308);
  });

  it('refuses a certificate that is none, and serves on', async () => {
    const [a, b] = [await testCertificate('a.test'), await testCertificate('a.test')];
    const http = [httpRoute('a', ['a.test'], [await setup.backend('one')])];
    await gateway.apply({ http, tcp: [], certificates: [shown('a.test', a)] });
    const mixed = a.pem.slice(0, a.pem.indexOf('-----BEGIN CERTIFICATE')) + b.certificate;
    for (const pem of ['', 'x', a.certificate, mixed]) {
      expect(() => gateway.check({ http, tcp: [], certificates: [shown('a.test', { pem })] })).toThrow(/certificate of a\.test/);
    }
    expect((await ask('a.test', a.certificate)).echo.name).toBe('one');
  });

  async function workers(): Promise<string> {
    const { HaproxyProcess } = await import('./haproxy-process.ts');
    return String((await new HaproxyProcess(setup.folder, 'haproxy').serving()).pid);
  }
});

describe.skipIf(!hasHaproxy)(`HTTPS of ${title} with the API of Davit`, () => {
  it('serves it from the start and after a crash, and no other route may have its host', async () => {
    const api = httpRoute('davit-api', ['davit.test'], [await setup.backend('api')]);
    const options = { httpsPort, ownRoutes: [api], hstsSeconds: 60 };
    const gateway = await setup.gateway(options);
    await gateway.start();
    expect((await setup.ask('davit.test')).headers.location).toBe(`https://davit.test:${httpsPort}/`);
    const [own, star] = [await testCertificate('davit.test'), await testCertificate('*.b.test')];
    const service = httpRoute('a', ['a.b.test', 'c.b.test'], [await setup.backend('one')]);
    const certificates = [shown('davit.test', own, true), shown('*.b.test', star)];
    await gateway.apply({ http: [service], tcp: [], certificates, redirects: ['a.b.test'] });
    expect((await ask('davit.test', own.certificate)).echo.name).toBe('api');
    expect((await setup.ask('davit.test')).status).toBe(308);
    expect((await setup.ask('a.b.test')).status).toBe(308);
    expect((await setup.ask('c.b.test')).status).toBe(200);
    expect((await ask('a.b.test', star.certificate)).hsts).toBe('max-age=60');
    expect((await ask('c.b.test', star.certificate)).hsts).toBeUndefined();
    const thief = httpRoute('b', ['davit.test'], [await setup.backend('thief')], { pathPrefix: '/console' });
    await expect(gateway.apply({ http: [thief], tcp: [] })).rejects.toThrow('at which Davit itself answers');
    await gateway.stop();
    const next = await setup.gateway(options);
    await next.start();
    expect((await ask('davit.test', own.certificate)).echo.name).toBe('api');
  });

  it('gets its certificate before any route is known, and keeps the routes that it served', async () => {
    const api = httpRoute('davit-api', ['davit.test'], [await setup.backend('api')]);
    const first = await setup.gateway({ httpsPort, ownRoutes: [api] });
    const a = await testCertificate('a.test');
    const service = httpRoute('a', ['a.test'], [await setup.backend('one')]);
    await first.apply({ http: [service], tcp: [], certificates: [shown('a.test', a)] });
    first.detach();
    const next = await setup.gateway({ httpsPort, ownRoutes: [api] });
    await next.start();
    const own = await testCertificate('davit.test');
    const challenges = [{ host: 'davit.test', token: 'tok', answer: 'tok.thumb' }];
    await next.applyDomains?.({ certificates: [shown('davit.test', own, true)], challenges });
    expect((await ask('davit.test', own.certificate)).echo.name).toBe('api');
    expect((await setup.ask('davit.test', '/.well-known/acme-challenge/tok')).text).toBe('tok.thumb');
    expect((await ask('a.test', a.certificate)).echo.name).toBe('one');
  });
});

describe.skipIf(!hasHaproxy)(`${title} without a port for HTTPS`, () => {
  it('keeps certificates for later and sends nobody to HTTPS', async () => {
    const gateway = await setup.gateway();
    const a = await testCertificate('a.test');
    const http = [httpRoute('a', ['a.test'], [await setup.backend('one')])];
    await gateway.apply({ http, tcp: [], certificates: [shown('a.test', a, true)] });
    expect((await setup.echo('a.test')).name).toBe('one');
  });
});
