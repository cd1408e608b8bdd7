import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as plainRequest, type IncomingHttpHeaders } from 'node:http';
import { request as secureRequest } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { Sensitive } from '@davit/base';
import type { Client } from '@davit/client';
import { statement } from '@davit/db';
import { createFakeCluster, createGateway, type LocalGateway } from '@davit/drivers';
import { createEngine, type Engine } from '@davit/engine';
import { hasNamed, Named } from '@davit/testkit/named';
import { hasPebble, Pebble } from '@davit/testkit/pebble';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { freePort } from '@davit/testkit/site';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Background } from '../background/background.ts';
import { updateTxt } from '../dns/update.ts';
import { readConfiguration } from './config.ts';
import { ownRoutes } from './drivers.ts';
import { toTsigKey } from './network-settings.ts';

/*
 * HTTPS of the API, the console and the addresses of services, with a real ACME server and a real DNS server. Only the
 * containers are not real.
 */

const zone = 'example.net';
const publicHost = `davit.${zone}`;
const gatewayDomain = `apps.${zone}`;

let dns: Named;

interface Installation {
  readonly server: TestServer;
  readonly pebble: Pebble;
  readonly api: Client;
  readonly environmentId: string;
  readonly ports: { readonly http: number; readonly https: number };
  /** Messages of the log. */
  readonly log: readonly string[];
  close(): Promise<void>;
}

async function install(environment: Readonly<Record<string, string>>): Promise<Installation> {
  const [http, https, port] = [await freePort(), await freePort(), await freePort()];
  const folder = await mkdtemp(path.join(tmpdir(), 'davit-tls-'));
  const pebble = await Pebble.start({ dnsServer: dns.server, httpPort: http });
  const all = {
    DAVIT_PORT: String(port),
    DAVIT_PUBLIC_URL: `https://${publicHost}:${https}`,
    DAVIT_GATEWAY_DOMAIN: gatewayDomain,
    DAVIT_GATEWAY_PORT: String(http),
    DAVIT_GATEWAY_HTTPS_PORT: String(https),
    DAVIT_ACME_DIRECTORY: pebble.directory,
    DAVIT_ACME_ROOTS: pebble.rootsFile,
    DAVIT_DNS_SERVERS: dns.server,
    DAVIT_DRAIN_SECONDS: '1',
    DAVIT_TERMINATION_GRACE_SECONDS: '1',
    ...environment,
  };
  const config = readConfiguration(all);
  let gateway: LocalGateway | undefined;
  let engine: Engine | undefined;
  const server = await startTestServer({
    engine: (parts) => {
      const own = { ownRoutes: ownRoutes(config), hstsSeconds: config.hstsSeconds };
      gateway = createGateway({ stateFolder: folder, port: http, httpsPort: https, bindAddress: '127.0.0.1', ...own });
      const { cluster, builder, carrier, source } = createFakeCluster();
      return (engine = createEngine({ ...parts, drivers: { docker: { cluster, builder, carrier, source, gateway } } }));
    },
    environment: all,
  });
  await engine?.start();
  const { connectionString } = server.database;
  const lines: string[] = [];
  const note = (_details: object, message: string): void => void lines.push(message);
  const log = { info: note, warn: note };
  const background = new Background({ deps: server.api.deps, connectionString, version: '1', log });
  await background.start();
  const organization = await server.organization();
  const api = server.client(organization.tokens.WRITE);
  const project = await api.call('createProject', { params: { organizationId: organization.id }, body: { name: 'shop' } });
  const made = await api.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } });
  const close = async (): Promise<void> => {
    await background.stop();
    await engine?.stop();
    await gateway?.stop();
    await server.close();
    await pebble.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { server, pebble, api, environmentId: made.id, ports: { http, https }, log: lines, close };
}

/** Deploys an application, and returns its host. */
async function deploy({ api, environmentId }: Installation): Promise<{ readonly id: string; readonly host: string }> {
  const body = {
    name: `a ${randomUUID()}`,
    dockerfile_path: 'Dockerfile',
    git_repository: { url: 'https://git.example.org/acme/shop.git', branch: 'main' },
    ports: [{ internal_port: 80, publicly_accessible: true }],
  };
  const { id } = await api.call('createApplication', { params: { environmentId }, body });
  await api.call('deployApplication', { params: { applicationId: id }, body: {} });
  const { results } = await api.call('listApplicationLinks', { params: { applicationId: id } });
  return { id, host: new URL(results[0]?.url ?? '').hostname };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Names that the certificate is for; empty over HTTP. */
  readonly names: string;
}

async function ask({ pebble, ports }: Installation, url: string): Promise<Answer> {
  const { protocol, hostname, pathname } = new URL(url);
  const isSecure = protocol === 'https:';
  const ca = await pebble.root();
  const options = { host: '127.0.0.1', path: pathname, headers: { host: hostname }, agent: false };
  return new Promise((resolve, reject) => {
    const sent = isSecure
      ? secureRequest({ ...options, port: ports.https, servername: hostname, ca })
      : plainRequest({ ...options, port: ports.http });
    sent.on('response', (response) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of an https request
      const names = isSecure ? ((response.socket as TLSSocket).getPeerCertificate().subjectaltname ?? '') : '';
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text, names }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Asks for TLS as clients of PostgreSQL do, and returns the names that the certificate is for. */
async function postgresqlNames({ host, port, ca }: { host: string; port: number; ca: string }): Promise<string | undefined> {
  const socket = connectTcp(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    socket.write(Buffer.from('0000000804d2162f', 'hex'));
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toBe('S');
    const secure = connect({ socket, servername: host, ca });
    await once(secure, 'secureConnect');
    return secure.getPeerCertificate().subjectaltname;
  } finally {
    socket.destroy();
  }
}

async function until<Result>(look: () => Promise<Result | undefined>): Promise<Result> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    let cause: unknown;
    try {
      const found = await look();
      if (found !== undefined) return found;
    } catch (error) {
      cause = error;
    }
    if (Date.now() > deadline) throw new Error(`it did not come true: ${String(cause)}`, { cause });
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const answers = (installation: Installation, url: string): Promise<Answer> => until(() => ask(installation, url));

const certificates = statement<{ host: string; is_served: boolean; source: string | null }>(
  'test_tls_certificates',
  `select host, sealed is not null as is_served, failure ->> 'source' as source from certificate order by host`,
);

const failureOf = statement<{ message: string }>(
  'test_tls_failure',
  `select failure ->> 'message' as message from certificate where host = $1 and failure is not null`,
);

async function metricsOf({ server }: Installation): Promise<string> {
  const headers = { authorization: `Bearer ${server.adminToken}` };
  return (await fetch(`${server.baseUrl}/metrics`, { headers })).text();
}

const isPossible = hasPebble && hasNamed;
const remedy = isPossible ? '' : ' (skipped: the program pebble or named is missing; apt-get install pebble bind9)';

describe.skipIf(!isPossible)(`HTTPS of an installation${remedy}`, () => {
  beforeAll(async () => {
    dns = await Named.start(zone, ['davit A 127.0.0.1', 'shop A 127.0.0.1', '*.apps A 127.0.0.1']);
  });
  afterAll(async () => {
    await dns?.close();
  });

  test('has the API under the public URL, and the addresses of services by one certificate through DNS', async () => {
    const installation = await install({
      DAVIT_DNS_UPDATE_SERVER: dns.server,
      DAVIT_DNS_UPDATE_KEY: dns.key,
      DAVIT_DNS_WAIT_SECONDS: '0',
      DAVIT_HSTS_SECONDS: '600',
    });
    try {
      const own = await answers(installation, `https://${publicHost}/healthz`);
      expect(own).toMatchObject({ status: 200, names: `DNS:${publicHost}` });
      expect(own.headers['strict-transport-security']).toBe('max-age=600');
      const plain = await ask(installation, `http://${publicHost}/console`);
      expect(plain).toMatchObject({
        status: 308,
        headers: { location: `https://${publicHost}:${installation.ports.https}/console` },
      });

      const { id, host } = await deploy(installation);
      const service = await answers(installation, `https://${host}/`);
      expect(service.names).toBe(`DNS:*.${gatewayDomain}`);
      // The certificate is served for all names below the domain, the redirect once the service is deployed.
      const { location } = await until(async () => {
        const { status, headers } = await ask(installation, `http://${host}/a`);
        return status === 308 ? headers : undefined;
      });
      expect(location).toBe(`https://${host}:${installation.ports.https}/a`);
      const links = await installation.api.call('listApplicationLinks', { params: { applicationId: id } });
      expect(links.results.map((link) => link.url)).toEqual([`https://${host}:${installation.ports.https}`]);
      expect(dns.updates.some((line) => line.includes("adding an RR at '_acme-challenge.apps.example.net' TXT"))).toBe(true);
      await until(async () => ((await dns.texts(`_acme-challenge.${gatewayDomain}`)).length === 0 ? true : undefined));

      const body = { domain: publicHost };
      const refused = installation.api.call('createApplicationCustomDomain', { params: { applicationId: id }, body });
      await expect(refused).rejects.toThrow('this Davit itself');
      expect(await metricsOf(installation)).toMatch(/^davit_certificate_own_expiry_seconds\{host="davit\.example\.net"\} \d/m);
    } finally {
      await installation.close();
    }
  });

  test('has one certificate for each address up to the limit of a week', async () => {
    const installation = await install({
      DAVIT_ADDRESS_CERTIFICATES: 'each',
      DAVIT_ADDRESS_CERTIFICATES_PER_WEEK: '1',
    });
    try {
      const first = await deploy(installation);
      expect((await answers(installation, `https://${first.host}/`)).names).toBe(`DNS:${first.host}`);
      const second = await deploy(installation);
      const rows = await until(async () => {
        const all = await installation.server.database.database.many(certificates);
        return all.some(({ source }) => source === 'LIMIT') ? all : undefined;
      });
      expect(rows).toContainEqual({ host: second.host, is_served: false, source: 'LIMIT' });
      expect((await ask(installation, `http://${second.host}/`)).status).not.toBe(308);
    } finally {
      await installation.close();
    }
  });

  test('has a certificate for each public database, which clients of PostgreSQL get when they ask for TLS', async () => {
    const installation = await install({ DAVIT_ADDRESS_CERTIFICATES: 'each' });
    try {
      const { api, environmentId, pebble } = installation;
      const body = { name: 'store', type: 'POSTGRESQL', version: '15', mode: 'CONTAINER', accessibility: 'PUBLIC' } as const;
      const { id } = await api.call('createDatabase', { params: { environmentId }, body });
      await api.call('deployDatabase', { params: { databaseId: id } });
      const { host = '', port = 0 } = await api.call('getDatabase', { params: { databaseId: id } });
      expect(host).toBe(`z${id.slice(0, 8)}-postgresql.${gatewayDomain}`);
      const ca = await pebble.root();
      expect(await until(() => postgresqlNames({ host, port, ca }))).toBe(`DNS:${host}`);
    } finally {
      await installation.close();
    }
  });

  test('does not keep other certificates waiting for DNS, and says why it has none', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'davit-tls-program-'));
    const program = path.join(folder, 'program');
    const done = path.join(folder, 'done');
    // A provider of DNS that takes its time and then refuses.
    await writeFile(program, `#!/bin/sh\nuntil [ -e ${done} ]; do sleep 0.1; done\necho "$1 $2: key 123 is wrong"\nexit 7\n`);
    await chmod(program, 0o755);
    const installation = await install({ DAVIT_DNS_PROGRAM: program, DAVIT_DNS_WAIT_SECONDS: '0' });
    try {
      const { api, server, log } = installation;
      expect((await answers(installation, `https://${publicHost}/healthz`)).status).toBe(200);
      const { id } = await deploy(installation);
      const params = { applicationId: id };
      const body = { domain: `shop.${zone}` };
      const { id: customDomainId } = await api.call('createApplicationCustomDomain', { params, body });
      const status = await until(async () => {
        const now = await api.call('getCustomDomainStatus', { params: { ...params, customDomainId } });
        return now.certificate_valid_until === null ? undefined : now;
      });
      expect(status.certificate_next_attempt).toBeNull();
      await writeFile(done, '');
      const { message } = await until(() => server.database.database.maybe(failureOf, [`*.${gatewayDomain}`]));
      expect(message).toContain('the program of DAVIT_DNS_PROGRAM ended with exit code 7; the log of Davit has its output');
      expect(log).toContain(`DAVIT_DNS_PROGRAM: add _acme-challenge.${gatewayDomain}: key 123 is wrong`);
      expect(await metricsOf(installation)).toContain(`davit_certificate_own_failing{host="*.${gatewayDomain}"} 1`);
    } finally {
      await writeFile(done, '');
      await installation.close();
      await rm(folder, { recursive: true, force: true });
    }
  });

  test('says which server refused an update of DNS, and why', async () => {
    const [host = '', port] = dns.server.split(':');
    const key = toTsigKey(dns.key);
    if (key === null) throw new Error('the key is malformed');
    const settings = { server: { host, port: Number(port) }, zone, key };
    const record = { name: `_acme-challenge.${zone}`, text: 'x' };
    const { signal } = new AbortController();
    const wrong = { ...key, secret: new Sensitive('AAAA') };
    await expect(updateTxt({ ...settings, key: wrong }, 'add', record, signal)).rejects.toThrow(
      `the DNS server ${dns.server} refused to update the zone ${zone}: NOTAUTH (BADSIG)`,
    );
    await expect(updateTxt({ ...settings, key: null }, 'add', record, signal)).rejects.toThrow('REFUSED');
    const elsewhere = { name: '_acme-challenge.example.com', text: 'x' };
    await expect(updateTxt({ ...settings, zone: null }, 'add', elsewhere, signal)).rejects.toThrow('DAVIT_DNS_UPDATE_ZONE');
    await updateTxt({ ...settings, zone: null }, 'add', record, signal);
    expect(await dns.texts(record.name)).toEqual(['x']);
    await updateTxt(settings, 'remove', record, signal);
    expect(await dns.texts(record.name)).toEqual([]);
  });
});
