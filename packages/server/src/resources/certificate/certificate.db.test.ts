import { randomUUID, X509Certificate } from 'node:crypto';
import type { Client } from '@davit/client';
import { statement } from '@davit/db';
import { makeTestEnvironment, startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Background } from '../../background/background.ts';
import { renewalOf } from './issuer.ts';

let server: RunningServer;
let background: Background;
let api: Client;
let organizationId: string;
let environmentId: string;

beforeAll(async () => {
  server = await startRunningServer({ DAVIT_GATEWAY_HTTPS_PORT: '4443' });
  background = newBackground();
  await background.start();
  ({ organizationId, environmentId, api } = await makeTestEnvironment(server));
});
afterAll(async () => {
  await background.stop();
  await server.close();
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

const git_repository = { url: 'https://git.example.org/acme/shop.git', branch: 'main' };
const unique = (): string => `d${randomUUID().slice(0, 8)}.example.org`;

async function application(ports: object[] = [{ internal_port: 80, publicly_accessible: true }]): Promise<string> {
  const request = { name: `a ${randomUUID()}`, dockerfile_path: 'Dockerfile', git_repository, ports };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what a test says
  return (await api.call('createApplication', { params: { environmentId }, body: request as never })).id;
}

async function until<Result>(look: () => Promise<Result | undefined> | Result | undefined): Promise<Result> {
  const deadline = Date.now() + 15_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error('it did not come true');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function deploy(applicationId: string): Promise<void> {
  const { results } = await api.call('listApplicationDeploymentHistoryV2', { params: { applicationId } });
  await api.call('deployApplication', { params: { applicationId }, body: {} });
  await until(async () => {
    const [last, ...former] = (await api.call('listApplicationDeploymentHistoryV2', { params: { applicationId } })).results;
    return former.length === results.length && last?.status_details.status === 'SUCCESS' ? true : undefined;
  });
}

interface Made {
  readonly applicationId: string;
  readonly customDomainId: string;
  readonly domain: string;
}

async function add(applicationId: string, domain = unique(), more: object = {}): Promise<Made> {
  const { id } = await api.call('createApplicationCustomDomain', { params: { applicationId }, body: { domain, ...more } });
  return { applicationId, customDomainId: id, domain };
}

const read = ({ applicationId, customDomainId }: Made) =>
  api.call('getCustomDomainStatus', { params: { applicationId, customDomainId } });
const isServed = async (made: Made) => {
  const status = await read(made);
  return status.certificate_status === 'SERVED' ? status : undefined;
};
/**
 * Returns the status once the certificate exists. The certificate is not presented before the service answers under the
 * domain.
 */
const isMade = async (made: Made) => {
  const status = await read(made);
  return status.certificate_valid_until === null ? undefined : status;
};
const shown = (domain: string) => server.fake.routes.certificates?.find(({ host }) => host === domain);

const dueNow = statement('test_certificate_due', 'update certificate set due_at = clock_timestamp() where host = $1');
const directoryOf = statement<{ directory: string }>(
  'test_certificate_directory',
  'select directory from certificate where host = $1',
);
const spoil = statement('test_certificate_spoil', `update certificate set sealed = '\\x00' where host = $1`);
const otherDirectory = statement(
  'test_certificate_other_directory',
  `update certificate set directory = 'https://acme.example.org' where host = $1`,
);

describe('without a public authority', () => {
  test('a domain has a certificate of the installation by itself, which its authority signed for that name', async () => {
    const made = await add(await application());
    expect(await until(() => isMade(made))).toMatchObject({
      certificate_status: 'WAITING',
      certificate_details: expect.stringContaining('deploy the service'),
    });
    expect(shown(made.domain)).toBeUndefined();
    await deploy(made.applicationId);
    const status = await until(() => isServed(made));
    expect(status).toMatchObject({
      certificate_details: expect.stringContaining('renewed automatically'),
      certificate_next_attempt: null,
    });
    const { pem, redirect } = await until(() => shown(made.domain));
    expect(redirect).toBe(true);
    const leaf = new X509Certificate(pem);
    const authority = await api.call('getCertificateAuthority');
    const root = new X509Certificate(authority.certificate);
    expect(leaf.verify(root.publicKey)).toBe(true);
    expect(leaf.checkIssued(root)).toBe(true);
    expect(leaf.checkHost(made.domain)).toBe(made.domain);
    expect(leaf.ca).toBe(false);
    expect(authority).toMatchObject({ sha256_fingerprint: root.fingerprint256, name: expect.stringContaining('Davit') });
    expect(status.certificate_valid_until).toBe(leaf.validToDate.toISOString());
    const { results } = await api.call('listApplicationLinks', { params: { applicationId: made.applicationId } });
    expect(results.map(({ url }) => url)).toContain(`https://${made.domain}:4443`);
  });

  test('a wildcard has one too', async () => {
    const domain = `*.${unique()}`;
    const made = await add(await application(), domain);
    await until(() => isMade(made));
    await deploy(made.applicationId);
    await until(() => isServed(made));
    const { pem } = await until(() => shown(domain));
    expect(new X509Certificate(pem).checkHost(domain.replace('*', 'one'))).toBeDefined();
  });

  test('none is made where none is asked for; asking later is enough, without a deployment', async () => {
    const made = await add(await application(), unique(), { generate_certificate: false, use_cdn: true });
    await deploy(made.applicationId);
    expect(await read(made)).toMatchObject({ certificate_status: 'NOT_SERVED', certificate_valid_until: null });
    const ids = { params: { applicationId: made.applicationId, customDomainId: made.customDomainId } };
    await api.call('editCustomDomain', { ...ids, body: { generate_certificate: true } });
    // A proxy in front of the gateway may send requests over HTTP only.
    expect((await until(() => shown(made.domain))).redirect).toBe(false);
    await api.call('editCustomDomain', { ...ids, body: { generate_certificate: false } });
    await until(() => (shown(made.domain) === undefined ? true : undefined));
  });

  test('a service that wants HTTP too, and one of gRPC, are not redirected', async () => {
    const plain = await add(await application());
    const body = { 'network.ingress.force_ssl_redirect': false };
    await api.call('editAdvancedSettings', { params: { applicationId: plain.applicationId }, body });
    const grpc = await add(await application([{ internal_port: 80, publicly_accessible: true, protocol: 'GRPC' }]));
    for (const made of [plain, grpc]) {
      await deploy(made.applicationId);
      expect((await until(() => shown(made.domain))).redirect).toBe(false);
    }
  });

  test('a certificate is renewed when it is due, and by another authority when the operator changes that', async () => {
    const made = await add(await application());
    await deploy(made.applicationId);
    const first = await until(() => shown(made.domain)?.pem);
    const another = () => until(() => (shown(made.domain)?.pem === first ? undefined : shown(made.domain)?.pem));
    await server.database.database.run(dueNow, [made.domain]);
    await another();
    await server.database.database.run(otherDirectory, [made.domain]);
    await until(async () => {
      const { directory } = await server.database.database.one(directoryOf, [made.domain]);
      return directory === '' ? true : undefined;
    });
    const { events } = await api.call('getOrganizationEvents', {
      params: { organizationId },
      query: { targetId: made.applicationId, pageSize: 50 },
    });
    const reported = events.filter(
      ({ sub_target_type, origin }) => sub_target_type === 'CUSTOM_DOMAIN' && origin === 'SERVICE_INTERNAL',
    );
    expect(reported.map(({ change }) => JSON.parse(change))).toMatchObject([
      { certificate: 'RENEWED', domain: made.domain },
      { certificate: 'RENEWED' },
      { certificate: 'ISSUED' },
    ]);
  });

  test('a deleted domain keeps its certificate until the next deployment, as it is answered until then', async () => {
    const made = await add(await application());
    await deploy(made.applicationId);
    await until(() => shown(made.domain));
    await api.call('deleteCustomDomain', { params: { applicationId: made.applicationId, customDomainId: made.customDomainId } });
    await server.database.database.run(dueNow, [made.domain]);
    expect(shown(made.domain)).toBeDefined();
    await deploy(made.applicationId);
    expect(shown(made.domain)).toBeUndefined();
  });

  test('one that cannot be decrypted any more does not keep the others from being shown', async () => {
    const [made, other] = [await add(await application()), await add(await application())];
    for (const one of [made, other]) {
      await deploy(one.applicationId);
      await until(() => shown(one.domain));
    }
    await server.database.database.run(spoil, [made.domain]);
    await until(() => (shown(made.domain) === undefined ? true : undefined));
    expect(shown(other.domain)).toBeDefined();
    await server.database.database.run(dueNow, [made.domain]);
    await until(() => shown(made.domain));
  });

  test('two processes make one certificate', async () => {
    const second = newBackground();
    await second.start();
    const made = await Promise.all(Array.from({ length: 6 }, async () => add(await application())));
    await Promise.all(made.map((one) => until(() => isMade(one))));
    await second.stop();
    const { events } = await api.call('getOrganizationEvents', { params: { organizationId }, query: { pageSize: 100 } });
    for (const { domain } of made) {
      expect(events.filter(({ change }) => change.includes(domain) && change.includes('ISSUED'))).toHaveLength(1);
    }
  });
});

test('a certificate is renewed after about two thirds of its life, not all of a day at once', () => {
  const [from, to] = [new Date(0), new Date(90 * 86_400_000)];
  expect(renewalOf(from, to, 0)).toEqual(new Date(60 * 86_400_000));
  expect(renewalOf(from, to, 1)).toEqual(new Date(56.25 * 86_400_000));
});
