import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from 'node:tls';
import type { Client } from '@davit/client';
import { statement } from '@davit/db';
import { createFakeCluster, createGateway, type LocalGateway } from '@davit/drivers';
import { createEngine, type Engine } from '@davit/engine';
import { freePort } from '@davit/testkit/site';
import { TestDns } from '@davit/testkit/dns';
import { hasPebble, Pebble } from '@davit/testkit/pebble';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Background } from '../../background/background.ts';
import { acmeAuthority } from './acme-authority.ts';
import type { IssueRequest, Order } from './authority.ts';
import { awaitChallenge } from './challenge.ts';
import { addChallenge } from './store.ts';

const gatewayDomain = 'apps.example.net';

let dns: TestDns;
let pebble: Pebble;
let server: TestServer;
let gateway: LocalGateway | undefined;
let engine: Engine | undefined;
let background: Background;
let api: Client;
let environmentId: string;
let httpsPort: number;
let folder: string;

beforeAll(async () => {
  if (!hasPebble) return;
  const ports = [await freePort(), await freePort()] as const;
  httpsPort = ports[1];
  folder = await mkdtemp(path.join(tmpdir(), 'davit-acme-'));
  dns = await TestDns.start();
  pebble = await Pebble.start({ dnsServer: dns.server, httpPort: ports[0] });
  server = await startTestServer({
    engine: (parts) => {
      gateway = createGateway({ stateFolder: folder, port: ports[0], httpsPort, bindAddress: '127.0.0.1' });
      const { cluster, builder, carrier, source } = createFakeCluster();
      return (engine = createEngine({ ...parts, drivers: { docker: { cluster, builder, carrier, source, gateway } } }));
    },
    environment: {
      DAVIT_GATEWAY_DOMAIN: gatewayDomain,
      DAVIT_GATEWAY_PORT: String(ports[0]),
      DAVIT_GATEWAY_HTTPS_PORT: String(httpsPort),
      DAVIT_ACME_DIRECTORY: pebble.directory,
      DAVIT_ACME_ROOTS: pebble.rootsFile,
      DAVIT_ACME_EMAIL: 'operator@example.org',
      DAVIT_DNS_SERVERS: dns.server,
      DAVIT_DRAIN_SECONDS: '1',
      DAVIT_TERMINATION_GRACE_SECONDS: '1',
    },
  });
  await engine?.start();
  background = newBackground();
  await background.start();
  const organization = await server.organization();
  api = server.client(organization.tokens.WRITE);
  const params = { organizationId: organization.id };
  const project = await api.call('createProject', { params, body: { name: 'shop' } });
  environmentId = (await api.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } })).id;
});
afterAll(async () => {
  await background?.stop();
  await engine?.stop();
  await gateway?.stop();
  await server?.close();
  await pebble?.close();
  await dns?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

function newBackground(): Background {
  const { connectionString } = server.database;
  return new Background({
    deps: server.api.deps,
    connectionString,
    version: '1',
    log: { info: () => undefined, warn: () => undefined },
  });
}

const unique = (): string => `d${randomUUID().slice(0, 8)}.example.org`;

interface Made {
  readonly applicationId: string;
  readonly customDomainId: string;
  readonly domain: string;
}

/** Creates a deployed application with a domain. `leadsHere`: whether DNS points to this installation. */
async function add(domain: string, leadsHere: boolean): Promise<Made> {
  const body = {
    name: `a ${randomUUID()}`,
    dockerfile_path: 'Dockerfile',
    git_repository: { url: 'https://git.example.org/acme/shop.git', branch: 'main' },
    ports: [{ internal_port: 80, publicly_accessible: true }],
  };
  const { id: applicationId } = await api.call('createApplication', { params: { environmentId }, body });
  dns.records.set(`app-z${applicationId.slice(0, 8)}.${gatewayDomain}`, { a: ['127.0.0.1'] });
  if (leadsHere) dns.records.set(domain, { a: ['127.0.0.1'] });
  const params = { applicationId };
  const { id: customDomainId } = await api.call('createApplicationCustomDomain', { params, body: { domain } });
  await api.call('deployApplication', { params, body: {} });
  return { applicationId, customDomainId, domain };
}

const read = ({ applicationId, customDomainId }: Made) =>
  api.call('getCustomDomainStatus', { params: { applicationId, customDomainId } });

async function until<Result>(look: () => Promise<Result | undefined>): Promise<Result> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error('it did not come true');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const reaches = (made: Made, word: string) =>
  until(async () => {
    const status = await read(made);
    return status.certificate_status === word ? status : undefined;
  });

/**
 * Returns the serial number of the certificate that is presented for a host. Fails if a client that trusts the
 * authority would reject the certificate.
 */
async function serial(host: string): Promise<string> {
  const ca = await pebble.root();
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: httpsPort, servername: host, ca }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

const dueNow = statement('test_acme_due', 'update certificate set due_at = clock_timestamp() where host = $1');
const loseAccount = statement(
  'test_acme_lose_account',
  'update certificate_authority set account_url = null where directory = $1',
);
const forgetAccount = statement(
  'test_acme_forget_account',
  `update certificate_authority set account_url = account_url || '0' where directory = $1`,
);

const remedy = hasPebble ? '' : ' (skipped: the program pebble is missing; apt-get install pebble)';

describe.skipIf(!hasPebble)(`an ACME server${remedy}`, () => {
  test('gives a certificate that clients accept, and another one when it is due', async () => {
    const made = await add(unique(), true);
    const status = await reaches(made, 'SERVED');
    expect(status.certificate_details).toContain(pebble.directory);
    const first = await until(() => serial(made.domain).catch(() => undefined));
    const orders = pebble.orders;
    await server.database.database.run(dueNow, [made.domain]);
    const second = await until(async () => {
      const now = await serial(made.domain);
      return now === first ? undefined : now;
    });
    expect(second).not.toBe(first);
    expect(pebble.orders).toBe(orders + 1);
  });

  test('is asked once for each domain, however many processes there are', async () => {
    const others = [newBackground(), newBackground()];
    await Promise.all(others.map((one) => one.start()));
    const before = pebble.orders;
    const made = await Promise.all([1, 2, 3].map(() => add(unique(), true)));
    await Promise.all(made.map((one) => reaches(one, 'SERVED')));
    await Promise.all(others.map((one) => one.stop()));
    expect(pebble.orders).toBe(before + 3);
  });

  test('is not asked while DNS leads elsewhere, and the status says what to change', async () => {
    const before = pebble.orders;
    const made = await add(unique(), false);
    const status = await reaches(made, 'WAITING');
    await until(async () => ((await read(made)).certificate_next_attempt === null ? undefined : true));
    const { certificate_details, certificate_next_attempt } = await read(made);
    expect(status.certificate_valid_until).toBeNull();
    expect(certificate_details).toMatch(new RegExp(`DNS has no record for ${made.domain}: add a CNAME`));
    expect(Date.parse(certificate_next_attempt ?? '') - Date.now()).toBeLessThan(20_000);
    expect(pebble.orders).toBe(before);
    dns.records.set(made.domain, { a: ['127.0.0.1'] });
    await server.database.database.run(dueNow, [made.domain]);
    await reaches(made, 'SERVED');
  });

  test('that refuses is quoted, and is not asked again for minutes', async () => {
    const domain = unique();
    const made = await add(domain, false);
    await reaches(made, 'WAITING');
    // Only the authority checks DNS.
    const body = { 'deployment.custom_domain_check_enabled': false };
    await api.call('editAdvancedSettings', { params: { applicationId: made.applicationId }, body });
    await server.database.database.run(dueNow, [domain]);
    const status = await reaches(made, 'FAILED');
    expect(status.certificate_details).toMatch(/could not verify the domain: .*could not resolve.*The next attempt/s);
    expect(Date.parse(status.certificate_next_attempt ?? '') - Date.now()).toBeGreaterThan(4 * 60_000);
  });

  test('that fails at a renewal does not take the certificate away that is served', async () => {
    const made = await add(unique(), true);
    await reaches(made, 'SERVED');
    const first = await until(() => serial(made.domain).catch(() => undefined));
    dns.records.set(made.domain, { a: ['198.51.100.7'] });
    await server.database.database.run(dueNow, [made.domain]);
    const status = await reaches(made, 'RENEWAL_FAILING');
    expect(status.certificate_details).toMatch(/It is served until .*198\.51\.100\.7/s);
    expect(await serial(made.domain)).toBe(first);
  });

  test('makes none for a wildcard, and the status says why', async () => {
    const made = await add(`*.${unique()}`, false);
    expect(await read(made)).toMatchObject({
      certificate_status: 'NOT_SERVED',
      certificate_details: expect.stringContaining('HTTP'),
    });
  });

  test('that has forgotten the account is given it again', async () => {
    await server.database.database.run(forgetAccount, [pebble.directory]);
    const made = await add(unique(), true);
    expect((await reaches(made, 'FAILED')).certificate_details).toContain('The authority refused');
    await server.database.database.run(dueNow, [made.domain]);
    expect((await reaches(made, 'SERVED')).certificate_next_attempt).toBeNull();
  });

  test('is still used after a process died before it had stored the account', async () => {
    await server.database.database.run(loseAccount, [pebble.directory]);
    const made = await Promise.all([add(unique(), true), add(unique(), true)]);
    const statuses = await Promise.all(made.map((one) => reaches(one, 'SERVED')));
    expect(statuses.map((status) => status.certificate_next_attempt)).toEqual([null, null]);
  });

  test('finishes an order that a process left when it died', async () => {
    const { database, vault, config } = server.api.deps;
    if (config.acme === null) throw new Error('there is no ACME server');
    const roots = await readFile(pebble.rootsFile, 'utf8');
    const authority = acmeAuthority(database, vault, { ...config.acme, roots, pollMilliseconds: 50 });
    const host = unique();
    dns.records.set(host, { a: ['127.0.0.1'] });
    let order: Order | null = null;
    const death = new AbortController();
    const request: IssueRequest = {
      host,
      former: null,
      challenge: 'http-01',
      keep: async (now) => {
        order = now;
      },
      publish: async () => {
        death.abort();
        throw new Error('the process died');
      },
      signal: death.signal,
    };
    const before = pebble.orders;
    await expect(authority.issue(request)).rejects.toThrow('died');
    expect(order).not.toBeNull();
    const signal = new AbortController().signal;
    const publish = async (token: string, answer: string): Promise<void> => {
      await database.run(addChallenge, [host, token, answer]);
      await awaitChallenge(config, { host, token, answer }, signal);
    };
    const pem = await authority.issue({ ...request, former: order, publish, signal });
    expect(pem).toContain('BEGIN CERTIFICATE');
    expect(pebble.orders).toBe(before + 1);
  });
});
