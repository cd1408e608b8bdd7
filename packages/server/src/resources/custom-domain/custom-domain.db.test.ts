import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { TestDns } from '@davit/testkit/dns';
import { makeTestEnvironment, startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let server: RunningServer;
let dns: TestDns;
let api: Client;
let organizationId: string;
let environmentId: string;

const gatewayDomain = 'apps.example.net';

beforeAll(async () => {
  dns = await TestDns.start();
  server = await startRunningServer({ DAVIT_GATEWAY_DOMAIN: gatewayDomain, DAVIT_DNS_SERVERS: dns.server });
  ({ organizationId, environmentId, api } = await makeTestEnvironment(server));
});
afterAll(async () => {
  await server.close();
  await dns.close();
});

const git_repository = { url: 'https://git.example.org/acme/shop.git', branch: 'main' };
const http = { internal_port: 80, publicly_accessible: true };
const of = (applicationId: string) => ({ params: { applicationId } });
const unique = (): string => `d${randomUUID().slice(0, 8)}.example.org`;

async function application(body: object = {}): Promise<string> {
  const request = { name: `a ${randomUUID()}`, dockerfile_path: 'Dockerfile', git_repository, ports: [http], ...body };
  return (await api.call('createApplication', { params: { environmentId }, body: request })).id;
}

function add(id: string, domain: string, more: object = {}) {
  return api.call('createApplicationCustomDomain', { ...of(id), body: { domain, ...more } });
}

async function deploy(id: string, body: object = {}) {
  const { results } = await api.call('listApplicationDeploymentHistoryV2', of(id));
  await api.call('deployApplication', { ...of(id), body });
  const until = Date.now() + 15_000;
  for (;;) {
    const [last, ...former] = (await api.call('listApplicationDeploymentHistoryV2', of(id))).results;
    const isOver = last?.status_details.status === 'SUCCESS' || last?.status_details.status === 'ERROR';
    if (isOver && former.length === results.length) return last;
    if (Date.now() > until) throw new Error(`the deployment is ${JSON.stringify(last)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const hostsOf = (portId: string): readonly string[] => server.fake.routes.http.find(({ id }) => id === portId)?.hosts ?? [];

describe('a custom domain', () => {
  test('is created with the defaults, listed, edited and deleted', async () => {
    const id = await application();
    const domain = unique();
    const made = await add(id, domain.toUpperCase());
    const validation_domain = `app-z${id.slice(0, 8)}.${gatewayDomain}`;
    expect(made).toMatchObject({
      domain,
      generate_certificate: true,
      use_cdn: false,
      validation_domain,
      status: 'VALIDATION_PENDING',
    });
    expect((await api.call('listApplicationCustomDomain', of(id))).results).toEqual([made]);
    const ids = { params: { applicationId: id, customDomainId: made.id } };
    const edited = await api.call('editCustomDomain', { ...ids, body: { domain, generate_certificate: false, use_cdn: true } });
    expect(edited).toMatchObject({ id: made.id, domain, generate_certificate: false, use_cdn: true });
    const other = unique();
    expect(await api.call('editCustomDomain', { ...ids, body: { domain: other } })).toMatchObject({
      domain: other,
      use_cdn: true,
    });
    await api.call('deleteCustomDomain', ids);
    expect((await api.call('listApplicationCustomDomain', of(id))).results).toEqual([]);
    await expect(api.call('deleteCustomDomain', ids)).rejects.toMatchObject({ status: 404 });
    await expect(api.call('getCustomDomainStatus', ids)).rejects.toMatchObject({ status: 404 });
  });

  test('that is none is refused, and says what would be one', async () => {
    const id = await application();
    for (const domain of ['https://x.example.org', `web.${gatewayDomain}`, 'localhost', '', 'a b.example.org']) {
      await expect(add(id, domain)).rejects.toMatchObject({ status: 400, errors: [{ path: 'domain' }] });
    }
    const made = await add(id, unique());
    const edit = api.call('editCustomDomain', {
      params: { applicationId: id, customDomainId: made.id },
      body: { domain: 'x' },
    });
    await expect(edit).rejects.toMatchObject({ status: 400, errors: [{ path: 'domain' }] });
  });

  test('belongs to one service, whatever its spelling; who may not see the other is not told its name', async () => {
    const [first, second] = [await application({ name: 'first of all' }), await application()];
    const label = `bücher-${randomUUID().slice(0, 8)}.example`;
    const made = await add(first, label);
    const taken = { status: 409, code: 'DOMAIN_TAKEN', errors: [{ path: 'domain' }] };
    for (const id of [first, second]) {
      await expect(add(id, new URL(`http://${label}`).hostname)).rejects.toMatchObject({
        ...taken,
        message: expect.stringContaining('first of all'),
      });
    }
    const mine = await add(second, unique());
    const ids = { params: { applicationId: second, customDomainId: mine.id } };
    await expect(api.call('editCustomDomain', { ...ids, body: { domain: label } })).rejects.toMatchObject(taken);
    const stranger = await server.organization();
    const theirs = server.client(stranger.tokens.WRITE);
    const project = await theirs.call('createProject', { params: { organizationId: stranger.id }, body: { name: 'x' } });
    const { id } = await theirs.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'x' } });
    const app = await theirs.call('createApplication', {
      params: { environmentId: id },
      body: { name: 'x', dockerfile_path: 'Dockerfile', git_repository },
    });
    const attempt = theirs.call('createApplicationCustomDomain', { ...of(app.id), body: { domain: label } });
    await expect(attempt).rejects.toMatchObject({ ...taken, message: expect.not.stringContaining('first of all') });
    const parent = unique();
    await add(first, `*.${parent}`);
    const inside = theirs.call('createApplicationCustomDomain', { ...of(app.id), body: { domain: `a.${parent}` } });
    await expect(inside).rejects.toMatchObject(taken);
    await add(second, `a.${parent}`);
    // The domain is found only under its own service.
    const elsewhere = { params: { applicationId: second, customDomainId: made.id } };
    await expect(api.call('editCustomDomain', { ...elsewhere, body: {} })).rejects.toMatchObject({ status: 404 });
    await expect(api.call('deleteCustomDomain', elsewhere)).rejects.toMatchObject({ status: 404 });
  });

  test('of several services that want it at the same moment is given to one', async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, () => application()));
    const domain = unique();
    const results = await Promise.allSettled(ids.map((id) => add(id, domain)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const refusals = results.flatMap((result): unknown[] => (result.status === 'rejected' ? [result.reason] : []));
    expect(refusals).toMatchObject(Array.from({ length: 3 }, () => ({ code: 'DOMAIN_TAKEN' })));
  });

  test('of a container works the same', async () => {
    const registry = { name: randomUUID(), kind: 'GENERIC_CR' as const, url: 'https://registry.example.org', config: {} };
    const registry_id = (await api.call('createContainerRegistry', { params: { organizationId }, body: registry })).id;
    const body = { name: randomUUID(), registry_id, image_name: 'cache', tag: '7', ports: [http] };
    const params = { containerId: (await api.call('createContainer', { params: { environmentId }, body })).id };
    const made = await api.call('createContainerCustomDomain', { params, body: { domain: unique() } });
    expect(made.validation_domain).toBe(`container-z${params.containerId.slice(0, 8)}.${gatewayDomain}`);
    const ids = { params: { ...params, customDomainId: made.id } };
    expect(await api.call('getContainerCustomDomainStatus', ids)).toMatchObject({ id: made.id });
    expect(await api.call('editContainerCustomDomain', { ...ids, body: { use_cdn: true } })).toMatchObject({ use_cdn: true });
    expect((await api.call('checkContainerCustomDomain', { params })).results).toHaveLength(1);
    await api.call('deleteContainerCustomDomain', ids);
    expect((await api.call('listContainerCustomDomain', { params })).results).toEqual([]);
  });
});

describe('DNS', () => {
  test('is asked now, for each domain of the service', async () => {
    const id = await application();
    const validation = `app-z${id.slice(0, 8)}.${gatewayDomain}`;
    dns.records.set(validation, { a: ['192.0.2.1'] });
    const domains = { alias: unique(), address: unique(), wrong: unique(), none: unique(), broken: unique(), cdn: unique() };
    dns.records.set(domains.alias, { cname: `alias.${domains.alias}` });
    dns.records.set(`alias.${domains.alias}`, { cname: validation });
    dns.records.set(domains.address, { a: ['192.0.2.9', '192.0.2.1'] });
    dns.records.set(domains.wrong, { a: ['198.51.100.7'] });
    dns.records.set(domains.broken, { fails: true });
    dns.records.set(domains.cdn, { a: ['198.51.100.7'] });
    for (const [name, domain] of Object.entries(domains)) await add(id, domain, { use_cdn: name === 'cdn' });
    const wildcard = `*.${unique()}`;
    await add(id, wildcard);
    dns.records.set(wildcard, { cname: validation });
    const { results } = await api.call('checkApplicationCustomDomain', of(id));
    expect(results).toEqual([
      { domain_name: domains.alias, status: 'MATCHES_LOAD_BALANCER_HOST', error_details: null },
      { domain_name: domains.address, status: 'MATCHES_LOAD_BALANCER_HOST', error_details: null },
      {
        domain_name: domains.wrong,
        status: 'DOMAIN_LINKED_TO_WRONG_HOST',
        error_details: expect.stringMatching(/198\.51\.100\.7.*192\.0\.2\.1/),
      },
      { domain_name: domains.none, status: 'DOMAIN_NOT_CONFIGURED', error_details: expect.stringContaining(validation) },
      { domain_name: domains.broken, status: 'GENERIC_FAILURE', error_details: expect.stringContaining('SERVFAIL') },
      { domain_name: domains.cdn, status: 'RESOLVES_TO_IP', error_details: null },
      { domain_name: wildcard, status: 'MATCHES_LOAD_BALANCER_HOST', error_details: null },
    ]);
  });

  test('is in the status of one domain, which says that no certificate is served and why', async () => {
    const id = await application();
    const domain = unique();
    const made = await add(id, domain);
    const ids = { params: { applicationId: id, customDomainId: made.id } };
    expect(await api.call('getCustomDomainStatus', ids)).toMatchObject({
      ...made,
      status: 'VALIDATION_PENDING',
      dns_status: 'DOMAIN_NOT_CONFIGURED',
      certificate_status: 'NOT_SERVED',
      certificate_details: expect.stringContaining('DAVIT_GATEWAY_HTTPS_PORT'),
    });
    dns.records.set(domain, { a: ['192.0.2.1'] });
    expect(await api.call('getCustomDomainStatus', ids)).toMatchObject({
      dns_status: 'GENERIC_FAILURE',
      dns_details: expect.stringContaining('DAVIT_GATEWAY_DOMAIN'),
    });
    await api.call('editCustomDomain', { ...ids, body: { generate_certificate: false, use_cdn: true } });
    expect(await api.call('getCustomDomainStatus', ids)).toMatchObject({ dns_status: 'RESOLVES_TO_IP', dns_details: null });
    await api.call('editApplication', { ...of(id), body: { ports: [] } });
    expect(await api.call('getCustomDomainStatus', ids)).toMatchObject({ dns_details: expect.stringContaining('404') });
  });
});

describe('a deployment', () => {
  test('makes the service answer under its domains, and links say so', async () => {
    const id = await application({ ports: [http, { internal_port: 81, publicly_accessible: true, public_path: '/api' }] });
    const { ports = [] } = await api.call('getApplication', of(id));
    const [web = '', other = ''] = ports.map((port) => port.id);
    await deploy(id);
    const domain = unique();
    const made = await add(id, domain);
    expect((await api.call('getApplicationStatus', of(id))).service_deployment_status).toBe('OUT_OF_DATE');
    expect(hostsOf(web)).not.toContain(domain);
    await deploy(id);
    expect((await api.call('getApplicationStatus', of(id))).service_deployment_status).toBe('UP_TO_DATE');
    expect(hostsOf(web)).toContain(domain);
    // The other ports of the service answer on the domain under their own paths.
    expect(hostsOf(other)).toContain(domain);
    const { results } = await api.call('listApplicationLinks', of(id));
    const own = results.filter(({ url }) => url.includes(domain));
    expect(own).toMatchObject([
      { url: `http://${domain}:4480`, internal_port: 80, is_service_domain: false, is_default: true },
      { url: `http://${domain}:4480/api`, internal_port: 81, is_service_domain: false, is_default: false },
    ]);
    expect(results.filter(({ is_service_domain }) => is_service_domain)).toHaveLength(2);
    await api.call('deleteCustomDomain', { params: { applicationId: id, customDomainId: made.id } });
    expect(hostsOf(web)).toContain(domain);
    await deploy(id);
    expect(hostsOf(web)).not.toContain(domain);
  });

  test('says in its log what is wrong in DNS, unless it shall not look', async () => {
    const id = await application();
    const [wrong, right] = [unique(), unique()];
    dns.records.set(`app-z${id.slice(0, 8)}.${gatewayDomain}`, { a: ['192.0.2.1'] });
    dns.records.set(right, { a: ['192.0.2.1'] });
    await add(id, wrong);
    await add(id, right);
    const remarks = async (): Promise<string[]> => {
      const lines = await api.call('listEnvironmentLogs', { params: { environmentId } });
      return lines.flatMap(({ message }) => {
        const text = message?.safe_message ?? '';
        return text.startsWith('Custom domain:') && [wrong, right].some((domain) => text.includes(domain)) ? [text] : [];
      });
    };
    expect((await deploy(id))?.status).toBe('DEPLOYED');
    expect(await remarks()).toEqual([expect.stringContaining(`DNS has no record for ${wrong}`)]);
    const body = { 'deployment.custom_domain_check_enabled': false };
    await api.call('editAdvancedSettings', { ...of(id), body });
    dns.requested.length = 0;
    await deploy(id);
    expect(dns.requested).not.toContain(wrong);
  });

  test('is needed before a domain can go to another service, and no rollback takes it back', async () => {
    const [first, second] = [await application({ name: 'had it' }), await application()];
    const domain = unique();
    const made = await add(first, domain);
    const release = await deploy(first);
    await api.call('deleteCustomDomain', { params: { applicationId: first, customDomainId: made.id } });
    await expect(add(second, domain)).rejects.toMatchObject({
      status: 409,
      code: 'DOMAIN_TAKEN',
      message: expect.stringMatching(/had it.*deployed again/),
    });
    await deploy(first);
    await add(second, domain);
    await deploy(second);
    const rollback = api.call('deployApplication', { ...of(first), body: { release_id: release?.release_id ?? '' } });
    await expect(rollback).rejects.toMatchObject({ status: 409, code: 'RELEASE_NOT_USABLE' });
    const serving = server.fake.routes.http.filter(({ hosts }) => hosts.includes(domain));
    expect(serving).toHaveLength(1);
  });
});
