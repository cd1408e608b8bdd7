import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { statement } from '@davit/db';
import { TestDns } from '@davit/testkit/dns';
import { makeTestEnvironment, startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { AuthorityFailure, type Authority } from './authority.ts';
import { CertificateIssuer } from './issuer.ts';
import { localAuthority, makeLocalAuthority } from './local-authority.ts';

/*
 * Certificates of addresses when the operator changes the authority, or when an earlier version runs beside this one.
 * The authorities here count as public, so limits and checks of DNS apply, and sign with the installation's key.
 */

const domain = 'apps.example.net';

let server: RunningServer;
let dns: TestDns;
let api: Client;
let environmentId: string;

beforeAll(async () => {
  dns = await TestDns.start();
  server = await startRunningServer({
    DAVIT_GATEWAY_DOMAIN: domain,
    DAVIT_GATEWAY_HTTPS_PORT: '4443',
    DAVIT_ADDRESS_CERTIFICATES: 'each',
    DAVIT_ADDRESS_CERTIFICATES_PER_WEEK: '2',
    DAVIT_ACME_DIRECTORY: 'https://acme.example.org/directory',
    DAVIT_DNS_SERVERS: dns.server,
  });
  await makeLocalAuthority(server.database.database, server.api.deps.vault, 'test');
  ({ environmentId, api } = await makeTestEnvironment(server));
  for (let many = 0; many < 3; many += 1) await makeAddress();
});
afterAll(async () => {
  await server.close();
  await dns.close();
});
beforeEach(async () => {
  await server.database.database.run(forgetIssues);
  await server.database.database.run(giveUp);
  await server.database.database.run(forget);
});

const forgetIssues = statement('test_authorities_forget_issues', 'delete from address_certificate_issue');
const giveUp = statement('test_authorities_give_up', `update certificate set purpose = 'DOMAIN'`);
const forget = statement('test_authorities_forget', 'delete from certificate');
const weekLater = statement(
  'test_authorities_week_later',
  `with i as (delete from address_certificate_issue) update certificate set due_at = clock_timestamp() where sealed is null`,
);
interface Row {
  readonly directory: string | null;
  readonly source: string | null;
  readonly seconds: number;
}
const certificates = statement<Row>(
  'test_authorities_certificates',
  `select directory, failure->>'source' as source,
          extract(epoch from due_at - clock_timestamp())::double precision as seconds from certificate order by directory, host`,
);
const read = () => server.database.database.many(certificates);

/** Deploys a service with one address. */
async function makeAddress(): Promise<void> {
  const body = {
    name: `a ${randomUUID()}`,
    dockerfile_path: 'Dockerfile',
    git_repository: { url: 'https://git.example.org/acme/shop.git', branch: 'main' },
    ports: [{ internal_port: 80, publicly_accessible: true }],
  };
  const { id: applicationId } = await api.call('createApplication', { params: { environmentId }, body });
  const params = { applicationId };
  await api.call('deployApplication', { params, body: {} });
  await eventually(async () => {
    const { results } = await api.call('listApplicationDeploymentHistoryV2', { params });
    expect(results[0]?.status_details.status).toBe('SUCCESS');
  });
  const { results } = await api.call('listApplicationLinks', { params });
  for (const { url } of results) dns.records.set(new URL(url).hostname, { a: ['127.0.0.1'] });
}

const eventually = (look: () => Promise<void>) => vi.waitFor(look, { timeout: 30_000, interval: 20 });

interface TestAuthority extends Authority {
  readonly asked: string[];
}

/** `refusal`: the authority issues nothing, and fails with it. */
function authority(name: string, refusal?: AuthorityFailure): TestAuthority {
  const own = localAuthority(server.database.database, server.api.deps.vault);
  const asked: string[] = [];
  return {
    asked,
    directory: `https://${name}.example.org/directory`,
    isPublic: true,
    issue: async (request) => {
      asked.push(request.host);
      await request.keep({ url: `https://${name}.example.org/order`, key: 'key' });
      if (refusal !== undefined) throw refusal;
      expect(request.former?.url ?? name).toContain(name);
      return own.issue(request);
    },
  };
}

/** Runs an issuer with an authority until `look` succeeds, as a process of the installation does. */
async function withAuthority(one: Authority, look: () => Promise<void>, deps = server.api.deps): Promise<void> {
  const log = { info: () => undefined, warn: () => undefined };
  const { connectionString } = server.database;
  const issuer = new CertificateIssuer({ deps, connectionString, authority: one, log });
  await issuer.start();
  try {
    await eventually(look);
  } finally {
    await issuer.stop();
  }
}

const issuedBy = async (one: Authority): Promise<number> =>
  (await read()).filter(({ directory }) => directory === one.directory).length;
const limited = async (): Promise<Row[]> => (await read()).filter(({ source }) => source === 'LIMIT');

test('each authority has a weekly limit of its own, and changing the authority does not pass it', async () => {
  const [staging, real] = [authority('staging'), authority('real')];
  await withAuthority(staging, async () => {
    expect(await issuedBy(staging)).toBe(2);
    expect(await limited()).toHaveLength(1);
  });
  await server.database.database.run(weekLater);
  await withAuthority(staging, async () => expect(await issuedBy(staging)).toBe(3));
  await withAuthority(real, async () => {
    expect(await issuedBy(real)).toBe(2);
    expect(await limited()).toHaveLength(1);
  });
  // The address that waits keeps the certificate of the former authority.
  expect(await issuedBy(staging)).toBe(1);
  expect(real.asked).toHaveLength(2);
  // The operator may raise the limit, so nothing waits for the whole week.
  for (const { seconds } of await limited()) expect(seconds).toBeLessThanOrEqual(3600);
});

test('a wait that one authority demands does not hold for another one', async () => {
  const refusal = new AuthorityFailure('AUTHORITY', 'Too many certificates.', { retryAfterSeconds: 86_400 });
  const [full, other] = [authority('full', refusal), authority('other')];
  await withAuthority(full, async () => {
    const refused = (await read()).filter(({ source }) => source === 'AUTHORITY');
    expect(refused).toHaveLength(2);
    for (const { seconds } of refused) expect(seconds).toBeGreaterThan(80_000);
  });
  await withAuthority(other, async () => expect(await issuedBy(other)).toBe(2));
});

test('an authority that already issued a certificate is not asked again when the operator returns to it', async () => {
  const [first, broken] = [authority('first'), authority('broken', new AuthorityFailure('AUTHORITY', 'No.'))];
  await withAuthority(first, async () => expect(await issuedBy(first)).toBe(2));
  await withAuthority(broken, async () => {
    expect((await read()).filter(({ source }) => source === 'AUTHORITY')).toHaveLength(2);
    expect(await limited()).toHaveLength(1);
  });
  const before = first.asked.length;
  await withAuthority(first, async () => {
    expect((await read()).map(({ source }) => source)).toEqual([null, null, 'LIMIT']);
  });
  expect(first.asked).toHaveLength(before);
  const issued = (await read()).filter(({ directory }) => directory !== null);
  for (const { seconds } of issued) expect(seconds).toBeGreaterThan(86_400);
});

/** As processes run it that do not know certificates without a custom domain (migration 0052). */
const removeUnwantedFormerly = statement(
  'test_authorities_remove_unwanted_formerly',
  `delete from certificate c
    where not exists (select from custom_domain d where d.host = c.host and d.generate_certificate and d.proven_at is not null)
      and (c.sealed is null
           or not exists (select from service_runtime t join release r on r.id = t.release_id
                           where t.desired = 'RUNNING'
                             and jsonb_path_exists(r.config, '$.ports[*].customHosts[*] ? (@ == $host)', jsonb_build_object('host', c.host))))`,
);

test('a worker of an earlier version that leads again deletes no certificate; this version still does', async () => {
  const one = authority('one');
  await withAuthority(one, async () => expect(await issuedBy(one)).toBe(2));
  await server.database.database.run(removeUnwantedFormerly);
  expect(await issuedBy(one)).toBe(2);
  const { addressCertificates, ...config } = server.api.deps.config;
  expect(addressCertificates).toBe('each');
  const without = { ...server.api.deps, config: { ...config, addressCertificates: 'none' as const } };
  await withAuthority(one, async () => expect(await read()).toEqual([]), without);
});
