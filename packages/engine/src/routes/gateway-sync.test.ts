import { createFakeCluster, DriverError, RoutesLeftOutError, type Gateway, type Instance, type RouteTable } from '@davit/drivers';
import { testCertificate } from '@davit/testkit/certificate';
import { expect, test } from 'vitest';
import type { ReleasePort } from '../model.ts';
import { config } from '../testing/config.ts';
import { GatewaySync } from './gateway-sync.ts';

const instance = (id: string): Instance => ({
  id,
  name: id,
  environment: 'e',
  service: 's',
  release: 'r',
  rollout: 'x',
  index: 0,
  state: 'RUNNING',
  startedAt: null,
  exit: null,
  endpoints: [{ internalPort: 3000, host: '10.0.0.1', port: 3000 }],
});
const never = new AbortController().signal;
const [port] = config().ports;
const withPort = (overrides: Partial<ReleasePort>) => config({ ports: port === undefined ? [] : [{ ...port, ...overrides }] });
const hosts = (fake: ReturnType<typeof createFakeCluster>): readonly string[] => fake.routes.http.flatMap((route) => route.hosts);

test('a step’s routes wait until all that should be served is known', async () => {
  const fake = createFakeCluster();
  const sync = new GatewaySync(fake.gateway);
  const set = sync.set('a', config(), [instance('one')], never);
  await expect(sync.set('b', config(), [], AbortSignal.timeout(10))).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(hosts(fake)).toEqual([]);
  await sync.replaceAll([], sync.version);
  await set;
  expect(hosts(fake)).toEqual(['shop.localhost']);
});

test('a replacement that was worked out before a step’s change is dropped', async () => {
  const fake = createFakeCluster();
  const sync = new GatewaySync(fake.gateway);
  await sync.replaceAll([], sync.version);
  const { version } = sync;
  await sync.set('a', config(), [instance('one')], never);
  expect(await sync.replaceAll([], version)).toBe(false);
  expect(hosts(fake)).toEqual(['shop.localhost']);
});

test('what steps have set for a service that is being deployed stands', async () => {
  const fake = createFakeCluster();
  const sync = new GatewaySync(fake.gateway);
  await sync.replaceAll([], sync.version);
  await sync.set('a', config(), [instance('new')], never);
  await sync.replaceAll([{ id: 'a', config: config(), instances: [instance('old')], settled: false }], sync.version);
  expect(fake.routes.http[0]?.backends.map((backend) => backend.id)).toEqual(['new']);
});

test('a service that the gateway would refuse does not keep the others from being served', async () => {
  const fake = createFakeCluster();
  const sync = new GatewaySync(fake.gateway);
  const good = { id: 'a', config: withPort({ id: 'one' }), instances: [instance('i')], settled: true };
  const bad = { id: 'b', config: withPort({ id: 'two', hosts: ['not a host'] }), instances: [], settled: true };
  await sync.replaceAll([good, bad], sync.version);
  expect(hosts(fake)).toEqual(['shop.localhost']);
  await expect(sync.set('b', bad.config, [], never)).rejects.toMatchObject({ code: 'GATEWAY_FAILED' });
  expect(hosts(fake)).toEqual(['shop.localhost']);
});

test('only ports that are public reach the gateway', async () => {
  const fake = createFakeCluster();
  const sync = new GatewaySync(fake.gateway);
  await sync.replaceAll(
    [{ id: 'a', config: withPort({ public: false }), instances: [instance('i')], settled: true }],
    sync.version,
  );
  expect(fake.routes.http).toEqual([]);
});

test('nothing is served before it is known what there is to know of domains, as certificates would be taken away', async () => {
  const fake = createFakeCluster();
  const sync = new GatewaySync(fake.gateway, true);
  const shop = { id: 'a', config: withPort({ customHosts: ['shop.example.org'] }), instances: [instance('i')], settled: true };
  await sync.replaceAll([shop], sync.version);
  expect(hosts(fake)).toEqual([]);
  await expect(sync.set('a', config(), [], AbortSignal.timeout(10))).rejects.toMatchObject({ name: 'TimeoutError' });
  const { pem } = await testCertificate('shop.example.org');
  await sync.setDomains({ certificates: [{ host: 'shop.example.org', pem, redirect: true }], challenges: [] });
  await sync.replaceAll([shop], sync.version);
  expect(fake.routes).toMatchObject({ certificates: [{ host: 'shop.example.org', redirect: true }] });
});

test('certificates are shown for hosts that somebody answers, and a bad one does not keep the others away', async () => {
  const fake = createFakeCluster();
  const sync = new GatewaySync(fake.gateway);
  const customHosts = ['shop.example.org', 'bad.example.org'];
  await sync.replaceAll(
    [{ id: 'a', config: withPort({ customHosts }), instances: [instance('i')], settled: true }],
    sync.version,
  );
  const { pem } = await testCertificate('shop.example.org');
  const shown = (host: string, text: string) => ({ host, pem: text, redirect: true });
  const certificates = [shown('bad.example.org', 'x'), shown('other.example.org', pem), shown('shop.example.org', pem)];
  const challenges = [{ host: 'new.example.org', token: 't', answer: 't.x' }];
  await sync.setDomains({ certificates, challenges });
  expect(fake.routes).toMatchObject({ certificates: [{ host: 'shop.example.org' }], challenges });
});

test('a certificate of Davit itself is shown without a service, and a wildcard leads only hosts to HTTPS that want it', async () => {
  const fake = createFakeCluster();
  const sync = new GatewaySync(fake.gateway);
  const wanting = withPort({ hosts: ['a.apps.example.org', 'x.a.apps.example.org'] });
  const plain = { ...withPort({ id: 'q', hosts: ['b.apps.example.org'] }), options: { plainHttp: true as const } };
  await sync.replaceAll(
    [
      { id: 'a', config: wanting, instances: [instance('i')], settled: true },
      { id: 'b', config: plain, instances: [instance('j')], settled: true },
    ],
    sync.version,
  );
  const { pem } = await testCertificate('*.apps.example.org');
  const own = (host: string) => ({ host, pem, redirect: true, isOwn: true as const });
  const certificates = [own('davit.example.org'), own('*.apps.example.org')];
  await sync.setDomains({ certificates, challenges: [] });
  expect(fake.routes).toMatchObject({
    certificates: [
      { host: 'davit.example.org', redirect: true },
      { host: '*.apps.example.org', redirect: false },
    ],
    redirects: ['a.apps.example.org'],
  });
});

test('a TCP port with TLS has the certificate of its own host, which is not led to HTTPS', async () => {
  const fake = createFakeCluster();
  const sync = new GatewaySync(fake.gateway);
  const host = 'z1-postgresql.apps.example.org';
  const tcp = { protocol: 'TCP' as const, externalPort: 15_432, acceptsTls: true as const, hosts: [host] };
  const { pem } = await testCertificate(host);
  await sync.setDomains({ certificates: [{ host, pem, redirect: true }], challenges: [] });
  await sync.replaceAll([{ id: 'a', config: withPort(tcp), instances: [instance('i')], settled: true }], sync.version);
  expect(fake.routes).toMatchObject({ http: [], tcp: [{ acceptsTls: true }], certificates: [{ host, redirect: false }] });
  await sync.replaceAll([], sync.version);
  expect(fake.routes.certificates ?? []).toEqual([]);
});

test('the certificate of Davit itself does not wait until the routes of services are known', async () => {
  const applied: unknown[] = [];
  const fake = createFakeCluster();
  const applyDomains = (domains: unknown) => Promise.resolve(void applied.push(domains));
  const sync = new GatewaySync({ ...fake.gateway, check: () => undefined, applyDomains }, true);
  const { pem } = await testCertificate('davit.example.org');
  const own = { host: 'davit.example.org', pem, redirect: true };
  const other = { host: 'shop.example.org', pem, redirect: true };
  await sync.setDomains({ certificates: [{ ...own, isOwn: true }, other], challenges: [] });
  expect(applied).toEqual([{ certificates: [own], challenges: [] }]);
  expect(fake.routes).toMatchObject({ http: [] });
});

test('a change that did not reach the gateway reaches it at the next look', async () => {
  const fake = createFakeCluster();
  const sync = new GatewaySync(fake.gateway);
  await sync.replaceAll([{ id: 'a', config: config(), instances: [instance('i')], settled: true }], sync.version);
  fake.script = { before: () => Promise.reject(new Error('it is away')) };
  await expect(sync.remove('a')).rejects.toThrow('it is away');
  fake.script = {};
  expect(fake.routes.http).toHaveLength(1);
  await sync.replaceAll([], sync.version);
  expect(fake.routes.http).toEqual([]);
});

/** Returns a gateway that refuses the routes with these ids when it applies a table, and serves all others. */
function choosy(refused: ReadonlySet<string>) {
  const served: { table: RouteTable } = { table: { http: [], tcp: [] } };
  const gateway: Gateway = {
    ...createFakeCluster().gateway,
    apply: (table) => {
      served.table = { ...table, http: table.http.filter(({ id }) => !refused.has(id)) };
      const left = table.http.filter(({ id }) => refused.has(id));
      if (left.length === 0) return Promise.resolve();
      const failure = (id: string) => new DriverError({ cause: 'GATEWAY_FAILED', message: `refused ${id}` });
      return Promise.reject(new RoutesLeftOutError(new Map(left.map(({ id }) => [id, failure(id)]))));
    },
  };
  const shown = () => served.table.http.map(({ id, hosts }) => `${id} ${hosts.join(' ')}`).toSorted();
  return { gateway, shown };
}

test('a route that the gateway refuses fails its own service only, whose former routes stay', async () => {
  const refused = new Set(['bad']);
  const { gateway, shown } = choosy(refused);
  const sync = new GatewaySync(gateway);
  await sync.replaceAll([], sync.version);
  await sync.set('a', withPort({ id: 'former', hosts: ['a.localhost'] }), [instance('one')], never);
  const bad = withPort({ id: 'bad', hosts: ['a.localhost'] });
  await expect(sync.set('a', bad, [instance('two')], never)).rejects.toMatchObject({
    code: 'GATEWAY_FAILED',
    message: 'refused bad',
  });
  expect(shown()).toEqual(['former a.localhost']);
  expect(sync.serves(['one'])).toBe(true);
  expect(sync.serves(['two'])).toBe(false);
  await sync.set('b', withPort({ id: 'other', hosts: ['b.localhost'] }), [instance('three')], never);
  expect(shown()).toEqual(['former a.localhost', 'other b.localhost']);
});

test('a first route that the gateway refuses leaves nothing behind', async () => {
  const { gateway, shown } = choosy(new Set(['bad']));
  const sync = new GatewaySync(gateway);
  await sync.replaceAll([], sync.version);
  await expect(sync.set('a', withPort({ id: 'bad' }), [instance('one')], never)).rejects.toThrow('refused bad');
  expect(shown()).toEqual([]);
  expect(sync.routesOf('a')).toEqual([]);
  await sync.set('b', withPort({ id: 'good' }), [instance('two')], never);
  await sync.remove('b');
});

test('routes that should be served and that the gateway refuses are reported, and disturb nobody else', async () => {
  const refused = new Set(['bad']);
  const { gateway, shown } = choosy(refused);
  const lines: string[] = [];
  const sync = new GatewaySync(gateway, false, (line) => lines.push(line));
  const bad = { id: 'a', config: withPort({ id: 'bad', hosts: ['a.localhost'] }), instances: [instance('i')], settled: true };
  const good = { id: 'b', config: withPort({ id: 'good', hosts: ['b.localhost'] }), instances: [instance('j')], settled: true };
  await sync.replaceAll([bad, good], sync.version);
  expect(shown()).toEqual(['good b.localhost']);
  expect(lines).toEqual([expect.stringContaining('does not serve the route bad: refused bad')]);
  expect(sync.routesOf('a')).toEqual([]);
  await sync.set('c', withPort({ id: 'third', hosts: ['c.localhost'] }), [instance('k')], never);
  await sync.setDomains({ certificates: [], challenges: [{ host: 'x.example.org', token: 't', answer: 't.x' }] });
  await sync.remove('c');
  expect(shown()).toEqual(['good b.localhost']);
});

test('a change that the gateway could not apply at all is not kept', async () => {
  const fake = createFakeCluster();
  const sync = new GatewaySync(fake.gateway);
  await sync.replaceAll([], sync.version);
  await sync.set('a', config(), [instance('old')], never);
  fake.script = { before: () => Promise.reject(new Error('it is away')) };
  await expect(sync.set('a', config(), [instance('new')], never)).rejects.toThrow('it is away');
  fake.script = {};
  await sync.replaceAll([{ id: 'a', config: config(), instances: [], settled: false }], sync.version);
  expect(fake.routes.http[0]?.backends.map(({ id }) => id)).toEqual(['old']);
});

test('a look of the keeper between the first routes of a service and their record does not remove them', async () => {
  const fake = createFakeCluster();
  const sync = new GatewaySync(fake.gateway);
  await sync.replaceAll([], sync.version);
  let version = -1;
  await sync.setAndWrite('a', { config: config(), instances: [instance('one')] }, never, async () => {
    version = sync.version;
    // The keeper does not know the service yet.
    await sync.replaceAll([], version);
  });
  expect(hosts(fake)).toEqual(['shop.localhost']);
  // The state that the keeper read before the service was stored is dropped afterwards too.
  expect(await sync.replaceAll([], version)).toBe(false);
  expect(hosts(fake)).toEqual(['shop.localhost']);
});

test('routes whose record could not be written go with the next look', async () => {
  const fake = createFakeCluster();
  const sync = new GatewaySync(fake.gateway);
  await sync.replaceAll([], sync.version);
  const lost = () => Promise.reject(new Error('the lease is lost'));
  await expect(sync.setAndWrite('a', { config: config(), instances: [instance('one')] }, never, lost)).rejects.toThrow('lease');
  await sync.replaceAll([], sync.version);
  expect(hosts(fake)).toEqual([]);
});
