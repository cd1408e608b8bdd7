import { randomUUID } from 'node:crypto';
import { TestDns } from '@davit/testkit/dns';
import { makeTestEnvironment, startRunningServer, type RunningServer, type TestEnvironment } from '@davit/testkit/running-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proveDue, type ProofMemory } from './prove-due.ts';

let server: RunningServer;
let dns: TestDns;
let ours: TestEnvironment;
let theirs: TestEnvironment;

const gatewayDomain = 'apps.example.net';

beforeAll(async () => {
  dns = await TestDns.start();
  server = await startRunningServer({
    DAVIT_PROVE_DOMAINS: 'true',
    DAVIT_GATEWAY_DOMAIN: gatewayDomain,
    DAVIT_DNS_SERVERS: dns.server,
  });
  ours = await makeTestEnvironment(server);
  theirs = await makeTestEnvironment(server);
});
afterAll(async () => {
  await server.close();
  await dns.close();
});

const unique = (): string => `d${randomUUID().slice(0, 8)}.example.org`;
const leadOf = (applicationId: string): string => `app-z${applicationId.slice(0, 8)}.${gatewayDomain}`;

async function application({ api, environmentId }: TestEnvironment): Promise<string> {
  const git_repository = { url: 'https://git.example.org/acme/shop.git', branch: 'main' };
  const body = {
    name: `a ${randomUUID()}`,
    dockerfile_path: 'Dockerfile',
    git_repository,
    ports: [{ internal_port: 80, publicly_accessible: true }],
  };
  return (await api.call('createApplication', { params: { environmentId }, body })).id;
}

async function add({ api }: TestEnvironment, applicationId: string, domain: string) {
  const { id } = await api.call('createApplicationCustomDomain', { params: { applicationId }, body: { domain } });
  return { applicationId, customDomainId: id };
}

const ownership = async ({ api }: TestEnvironment, params: { applicationId: string; customDomainId: string }) =>
  (await api.call('getCustomDomainStatus', { params })).ownership_status;

async function deploy({ api }: TestEnvironment, applicationId: string): Promise<void> {
  const params = { applicationId };
  const { results } = await api.call('listApplicationDeploymentHistoryV2', { params });
  await api.call('deployApplication', { params, body: {} });
  const deadline = Date.now() + 15_000;
  for (;;) {
    const [last, ...former] = (await api.call('listApplicationDeploymentHistoryV2', { params })).results;
    if (former.length === results.length && last?.status_details.status === 'SUCCESS') return;
    if (Date.now() > deadline) throw new Error('the deployment does not end');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const isAnswered = (domain: string): boolean => server.fake.routes.http.some(({ hosts }) => hosts.includes(domain));

describe('where domains must be proven', () => {
  test('nothing answers under one before a CNAME record names the service, whoever the address belongs to', async () => {
    const id = await application(ours);
    const domain = unique();
    const made = await add(ours, id, domain);
    const params = { params: made };
    dns.records.set(domain, { a: ['192.0.2.1'] });
    dns.records.set(leadOf(id), { a: ['192.0.2.1'] });
    await deploy(ours, id);
    expect(isAnswered(domain)).toBe(false);
    const status = await ours.api.call('getCustomDomainStatus', params);
    expect(status).toMatchObject({ dns_status: 'MATCHES_LOAD_BALANCER_HOST', ownership_status: 'UNPROVEN' });
    expect(status.ownership_details).toMatch(
      new RegExp(`CNAME.*${leadOf(id)}.*TXT.*_davit.${domain} .*davit-organization=${ours.organizationId}`),
    );
    const { results } = await ours.api.call('checkApplicationCustomDomain', { params: { applicationId: id } });
    expect(results[0]?.error_details).toBe(status.ownership_details);
    const lines = await ours.api.call('listEnvironmentLogs', { params: { environmentId: ours.environmentId } });
    expect(lines.some(({ message }) => message?.safe_message?.includes(`${domain} is not proven`) === true)).toBe(true);
    dns.records.set(domain, { cname: leadOf(id) });
    expect(await ownership(ours, made)).toBe('PROVEN');
    expect((await ours.api.call('getApplicationStatus', { params: { applicationId: id } })).service_deployment_status).toBe(
      'OUT_OF_DATE',
    );
    await deploy(ours, id);
    expect(isAnswered(domain)).toBe(true);
  });

  test('one of several organizations has it that DNS names, not the first who asked', async () => {
    const [squatter, owner] = [await application(theirs), await application(ours)];
    const domain = unique();
    const claim = await add(theirs, squatter, domain);
    const made = await add(ours, owner, domain);
    dns.records.set(domain, { a: ['192.0.2.1'] });
    dns.records.set(`_davit.${domain}`, { txt: ['v=other', `davit-organization=${ours.organizationId}`] });
    expect(await ownership(theirs, claim)).toBe('UNPROVEN');
    expect(await ownership(ours, made)).toBe('PROVEN');
    // The first proof wins, even if DNS later names the other organization.
    dns.records.set(domain, { cname: leadOf(squatter) });
    expect(await ownership(theirs, claim)).toBe('TAKEN');
    await deploy(theirs, squatter);
    expect(isAnswered(domain)).toBe(false);
    const again = theirs.api.call('createApplicationCustomDomain', {
      params: { applicationId: await application(theirs) },
      body: { domain },
    });
    await expect(again).rejects.toMatchObject({ status: 409, code: 'DOMAIN_TAKEN' });
  });

  test('of two organizations that prove it at the same moment one has it', async () => {
    const domain = unique();
    const text = (tenantOf: TestEnvironment) => `davit-organization=${tenantOf.organizationId}`;
    dns.records.set(`_davit.${domain}`, { txt: [text(ours), text(theirs)] });
    const made = [
      await add(ours, await application(ours), domain),
      await add(theirs, await application(theirs), domain),
    ] as const;
    const words = await Promise.all([ownership(ours, made[0]), ownership(theirs, made[1])]);
    expect(words.toSorted()).toEqual(['PROVEN', 'TAKEN']);
  });

  test('another domain in place of a proven one must be proven too', async () => {
    const id = await application(ours);
    const [first, second] = [unique(), unique()];
    dns.records.set(`_davit.${first}`, { txt: [`davit-organization=${ours.organizationId}`] });
    const made = await add(ours, id, first);
    expect(await ownership(ours, made)).toBe('PROVEN');
    await ours.api.call('editCustomDomain', { params: made, body: { use_cdn: true } });
    expect(await ownership(ours, made)).toBe('PROVEN');
    await ours.api.call('editCustomDomain', { params: made, body: { domain: second } });
    expect(await ownership(ours, made)).toBe('UNPROVEN');
    await deploy(ours, id);
    expect(isAnswered(second)).toBe(false);
  });

  test('a domain that another organization still answers is not taken from under it', async () => {
    const [former, next] = [await application(ours), await application(theirs)];
    const domain = unique();
    const text = (tenantOf: TestEnvironment) => ({ txt: [`davit-organization=${tenantOf.organizationId}`] });
    dns.records.set(`_davit.${domain}`, text(ours));
    const made = await add(ours, former, domain);
    expect(await ownership(ours, made)).toBe('PROVEN');
    await deploy(ours, former);
    await ours.api.call('deleteCustomDomain', { params: made });
    dns.records.set(`_davit.${domain}`, text(theirs));
    const claim = await add(theirs, next, domain);
    expect(await ownership(theirs, claim)).toBe('TAKEN');
    await deploy(ours, former);
    expect(await ownership(theirs, claim)).toBe('PROVEN');
  });

  test('a wildcard of one organization is not undermined by a name below it, and DNS is looked at by itself with growing pauses', async () => {
    const parent = unique();
    dns.records.set(`_davit.${parent}`, { txt: [`davit-organization=${ours.organizationId}`] });
    const wildcard = await add(ours, await application(ours), `*.${parent}`);
    const memory: ProofMemory = new Map();
    await proveDue(server.api.deps, memory, 1000);
    expect(await ownership(ours, wildcard)).toBe('PROVEN');
    dns.records.set(`_davit.a.${parent}`, { txt: [`davit-organization=${theirs.organizationId}`] });
    const below = await add(theirs, await application(theirs), `a.${parent}`);
    expect(await ownership(theirs, below)).toBe('TAKEN');
    await proveDue(server.api.deps, memory, 2000);
    dns.requested.length = 0;
    await proveDue(server.api.deps, memory, 10_000);
    expect(dns.requested).toEqual([]);
    await proveDue(server.api.deps, memory, 18_000);
    expect(dns.requested).toContain(`_davit.a.${parent}`);
  });
});
