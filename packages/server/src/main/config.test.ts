import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { readConfiguration } from './config.ts';

test('without variables everything has its default', () => {
  expect(readConfiguration({})).toMatchObject({ host: '127.0.0.1', port: 4440, databaseUrl: null, rateLimit: 6000, role: 'all' });
});

test('a database server that others use as well gets fewer connections than the embedded one', () => {
  expect(readConfiguration({}).databaseConnections).toBe(32);
  expect(readConfiguration({ DATABASE_URL: 'postgresql://davit@db.example.org/davit' }).databaseConnections).toBe(20);
});

test('all that is wrong is told at once, without showing secrets', () => {
  const wrong = {
    DAVIT_PORT: '99999',
    DAVIT_ROLE: 'boss',
    DAVIT_ALLOW_LOCAL_REPOSITORIES: 'yes',
    DAVIT_BOOTSTRAP_TOKEN: 'short',
    DATABASE_URL: 'mysql://user:hunter2@host/db',
    DAVIT_GATEWAY_DOMAIN: 'not a domain',
  };
  const read = (): unknown => readConfiguration(wrong);
  for (const name of Object.keys(wrong)) expect(read).toThrow(name);
  expect(read).toThrow('must be one of all, api, worker');
  expect(read).not.toThrow(/hunter2/);
});

test('an empty variable is as good as none, and an unknown one is told', () => {
  const configuration = readConfiguration({ DAVIT_PORT: '', DAVIT_PROT: '1', OTHER: 'x' });
  expect(configuration.port).toBe(4440);
  expect(configuration.unknownVariables).toEqual(['DAVIT_PROT']);
});

test('public registries can be replaced by mirrors, one by one', () => {
  const { vendorRegistries } = readConfiguration({ DAVIT_VENDOR_REGISTRIES: 'HUBA_CR=https://mirror.example.org:5000 , ' });
  const mirror = 'https://mirror.example.org:5000';
  expect(vendorRegistries.HUBA_CR).toEqual({ url: mirror, api: mirror, namespace: 'library' });
  expect(vendorRegistries.HOSTA_CR).toEqual({ url: 'https://ghcr.io' });
  for (const wrong of ['HUBA_CR', 'HUBA_CR=http://a.example.org', 'GENERIC_CR=https://a.example.org', 'HUBA_CR=https://a/b']) {
    expect(() => readConfiguration({ DAVIT_VENDOR_REGISTRIES: wrong })).toThrow('DAVIT_VENDOR_REGISTRIES');
  }
});

test('HTTPS has a port of its own, and an authority that is reached safely', () => {
  expect(readConfiguration({})).toMatchObject({ gatewayHttpsPort: null, acme: null, proveDomains: false });
  const directory = 'https://acme.example.org/directory';
  const read = readConfiguration({ DAVIT_GATEWAY_HTTPS_PORT: '443', DAVIT_ACME_DIRECTORY: directory });
  expect(read).toMatchObject({ gatewayHttpsPort: 443, acme: { directory, email: null, rootsFile: null, binding: null } });
  for (const [name, wrong] of [
    ['DAVIT_GATEWAY_HTTPS_PORT', { DAVIT_GATEWAY_HTTPS_PORT: '4480' }],
    ['DAVIT_GATEWAY_HTTPS_PORT', { DAVIT_GATEWAY_HTTPS_PORT: 'x' }],
    ['DAVIT_ACME_DIRECTORY', { DAVIT_ACME_DIRECTORY: 'http://acme.example.org/directory' }],
    ['DAVIT_ACME_EMAIL', { DAVIT_ACME_EMAIL: 'nobody' }],
    ['DAVIT_ACME_HMAC_KEY', { DAVIT_ACME_DIRECTORY: directory, DAVIT_ACME_KEY_ID: 'k' }],
  ] as const) {
    expect(() => readConfiguration(wrong)).toThrow(name);
  }
});

test('certificates through DNS need a way to change DNS', () => {
  const acme = { DAVIT_ACME_DIRECTORY: 'https://acme.example.org/directory', DAVIT_GATEWAY_DOMAIN: 'apps.example.org' };
  const update = { DAVIT_DNS_UPDATE_SERVER: '[2001:db8::53]:5353', DAVIT_DNS_UPDATE_KEY: 'hmac-sha512:Davit.:c2VjcmV0' };
  expect(readConfiguration(acme)).toMatchObject({ addressCertificates: 'none', dnsChallenge: null });
  const read = readConfiguration({ ...acme, ...update });
  expect(read).toMatchObject({
    addressCertificates: 'wildcard',
    dnsChallenge: {
      by: { server: { host: '2001:db8::53', port: 5353 }, zone: null, key: { name: 'davit', algorithm: 'hmac-sha512' } },
    },
  });
  const program = { DAVIT_DNS_PROGRAM: '/opt/dns', DAVIT_DNS_WAIT_SECONDS: '60' };
  expect(readConfiguration(program).dnsChallenge).toEqual({ by: { program: '/opt/dns' }, waitSeconds: 60 });
  for (const [name, wrong] of [
    ['DAVIT_DNS_UPDATE_SERVER', { DAVIT_DNS_UPDATE_SERVER: 'ns.example.org' }],
    ['DAVIT_DNS_UPDATE_SERVER', { DAVIT_DNS_UPDATE_ZONE: 'example.org' }],
    ['DAVIT_DNS_UPDATE_KEY', { ...update, DAVIT_DNS_UPDATE_KEY: 'hmac-md5:davit:c2VjcmV0' }],
    ['DAVIT_DNS_PROGRAM', { ...update, ...program }],
    ['DAVIT_ADDRESS_CERTIFICATES', { ...acme, DAVIT_ADDRESS_CERTIFICATES: 'wildcard' }],
    ['DAVIT_ADDRESS_CERTIFICATES', { ...acme, DAVIT_GATEWAY_DOMAIN: 'localhost', DAVIT_ADDRESS_CERTIFICATES: 'each' }],
    ['DAVIT_GATEWAY_API', { DAVIT_GATEWAY_API: '10.0.0.5' }],
  ] as const) {
    expect(() => readConfiguration(wrong)).toThrow(name);
  }
});

test('domains must be proven where people sign in, unless the operator says otherwise', () => {
  const people = { DAVIT_OIDC_ISSUER: 'https://id.example.org', DAVIT_OIDC_AUDIENCE: 'davit' };
  expect(readConfiguration(people).proveDomains).toBe(true);
  expect(readConfiguration({ ...people, DAVIT_PROVE_DOMAINS: 'false' }).proveDomains).toBe(false);
  expect(readConfiguration({ DAVIT_PROVE_DOMAINS: 'true' }).proveDomains).toBe(true);
});

test('a client id and a secret belong to the issuer in the same place, and a client id is an audience', () => {
  const issuers = { DAVIT_OIDC_ISSUER: 'https://a.example.org,https://b.example.org', DAVIT_OIDC_CLIENT_ID: 'one,two' };
  const read = readConfiguration({ ...issuers, DAVIT_OIDC_CLIENT_SECRET: '- secret', DAVIT_OIDC_AUDIENCE: 'davit,one' });
  expect(read.oidcAudiences).toEqual(['davit', 'one', 'two']);
  expect(read.oidcClients.map((one) => [one.issuer, one.clientId, one.clientSecret?.reveal() ?? null])).toEqual([
    ['https://a.example.org', 'one', null],
    ['https://b.example.org', 'two', 'secret'],
  ]);
  expect(readConfiguration(issuers).oidcClients.map(({ clientSecret }) => clientSecret)).toEqual([null, null]);
  expect(() => readConfiguration({ ...issuers, DAVIT_OIDC_CLIENT_ID: 'one' })).toThrow('one client id for each issuer');
  expect(() => readConfiguration({ ...issuers, DAVIT_OIDC_CLIENT_SECRET: 'secret' })).toThrow('one secret for each client id');
});

test('docs/operate.md has each variable, and no other', async () => {
  const source = await readFile(new URL('config.ts', import.meta.url), 'utf8');
  const document = await readFile(new URL('../../../../docs/operate.md', import.meta.url), 'utf8');
  const read = [...source.matchAll(/reader\.\w+\(\s*((?:'[A-Z_]+'(?:,\s*)?)+)/g)].flatMap(([, names = '']) =>
    [...names.matchAll(/'([A-Z_]+)'/g)].flatMap(([, name = '']) => (/^(DAVIT|DATABASE|DOCKER)_/.test(name) ? [name] : [])),
  );
  const documented = [...document.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name);
  expect(new Set(documented)).toEqual(new Set(read));
  expect(documented).toHaveLength(read.length);
});
