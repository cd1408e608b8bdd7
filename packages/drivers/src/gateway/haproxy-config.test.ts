import { describe, expect, it } from 'vitest';
import type { Backend, RouteOptions, RouteTable } from '../gateway.ts';
import { changesTo, retiredServersLimit } from './changes.ts';
import { mapFile, settingsFingerprint, toConfiguration, type GatewaySettings } from './haproxy-config.ts';
import { serverName } from './haproxy-routes.ts';
import { refuseOwnHosts, withOwnRoutes } from './own-routes.ts';
import { checkedTable } from '../shared/route-table.ts';
import { toLines, toLoads, toProcesses, toServing, type Serving } from './runtime-api.ts';
import { storedTable, toStored } from './state.ts';

const settings: GatewaySettings = {
  folder: '/var/lib/davit/gateway',
  port: 4480,
  httpsPort: null,
  bindAddress: '0.0.0.0',
  trustedProxies: [],
  hstsSeconds: 0,
  errorPages: {},
  threads: 2,
  user: { name: 'haproxy', group: 'haproxy' },
  handoverKey: 'k'.repeat(48),
  handshakeSeconds: 30,
  hasLua: true,
};
const one: Backend = { id: 'one', host: '10.0.0.5', port: 8080 };
const two: Backend = { id: 'two', host: 'fd00::2', port: 8080 };
const table: RouteTable = {
  http: [
    {
      id: 'web',
      hosts: ['a.localhost', 'b.example.com'],
      pathPrefix: '/',
      pathRewrite: null,
      protocol: 'HTTP',
      backends: [one, two],
    },
    { id: 'api', hosts: ['a.localhost'], pathPrefix: '/api', pathRewrite: '/v2', protocol: 'GRPC', backends: [one] },
  ],
  tcp: [{ id: 'db', listenPort: 5432, backends: [one] }],
};

function only(backends: readonly Backend[], more: Partial<RouteTable['http'][number]> = {}): RouteTable {
  return { http: [{ ...table.http[0]!, backends, ...more }], tcp: [] };
}

/** Returns what a HAProxy reports that was started with the table. */
function servingOf(from: RouteTable): Serving {
  const files = toConfiguration(settings, from);
  const servers = new Map<string, Map<string, { address: string; isReady: boolean }>>();
  const proxies = new Set<string>();
  for (const part of (files['haproxy.cfg'] ?? '').split(/^(?=backend|listen)/m).slice(1)) {
    const proxy = part.split(' ', 2)[1]!;
    proxies.add(proxy);
    const lines = [...part.matchAll(/^ {2}server (\S+) (\S+)/gm)];
    servers.set(
      proxy,
      new Map(lines.map(([, name, address]) => [name!, { address: address!.replace(/[[\]]/g, ''), isReady: true }])),
    );
  }
  const map = new Map(
    (files[mapFile] ?? '')
      .split('\n')
      .filter(Boolean)
      .map((line): [string, string] => [line.split(' ')[0]!, line.split(' ')[1]!]),
  );
  return {
    pid: 1,
    fingerprint: settingsFingerprint(settings),
    isStopping: false,
    proxies,
    map,
    certificates: new Set(),
    servers,
  };
}

describe('the configuration', () => {
  it('holds everything of a table and nothing else', () => {
    const files = toConfiguration(settings, table);

    expect(files[mapFile]).toMatchInlineSnapshot(`
      "a.localhost/ http_web_111ed9db
      b.example.com/ http_web_111ed9db
      a.localhost/api/ http_api_cc990ede
      "
    `);
    expect(files['haproxy.cfg']).toMatchSnapshot();
  });

  it('keeps root where there is nobody else to become', () => {
    expect(toConfiguration({ ...settings, user: null }, table)['haproxy.cfg']).not.toMatch(/^ {2}(user|group|chroot)/m);
  });
});

it('leads the hosts below a wildcard to HTTPS that are named, and sends HSTS only for hosts that are', () => {
  const wide = { ...table, redirects: ['a.localhost'] };
  expect(toConfiguration(settings, wide)[mapFile]).toContain('https:a.localhost/ redirect');
  const text = (hstsSeconds: number) =>
    toConfiguration({ ...settings, httpsPort: 4443, hstsSeconds }, table)['haproxy.cfg'] ?? '';
  expect(text(0)).not.toContain('Strict-Transport-Security');
  expect(text(300)).toMatch(/set-header Strict-Transport-Security max-age=300 if \{ var\(txn\.hsts\) -m found \}/);
});

it('keeps the hosts of Davit itself from all other routes, whatever their path', () => {
  const own = [{ ...table.http[0]!, id: 'davit-api', hosts: ['davit.example.org'] }];
  expect(withOwnRoutes(table, own).http.map(({ id }) => id)).toEqual(['davit-api', 'web', 'api']);
  expect(withOwnRoutes(table, own).redirects).toEqual(['davit.example.org']);
  expect(() => refuseOwnHosts(table, own)).not.toThrow();
  const taken = only([one], { hosts: ['x.test', 'davit.example.org'], pathPrefix: '/console' });
  expect(() => refuseOwnHosts(taken, own)).toThrow('Route web has the host davit.example.org, at which Davit itself answers');
});

describe('the values of a route', () => {
  const poison = ['a b', 'a\nb', 'a;b', 'a"b', "a'b", 'a#b', 'a$b', 'a\\b', 'a{b', 'a,b', '', 'ä', 'a\u0000b'];

  it.each(poison)('never holds %j in an id, host or path', (text) => {
    for (const change of [{ id: text }, { hosts: [text] }, { pathPrefix: text }, { pathRewrite: text }]) {
      expect(() => checkedTable(only([], change), 4480)).toThrow('that the gateway accepts');
    }
    expect(() => checkedTable(only([{ ...one, id: text }]), 4480)).toThrow('that the gateway accepts');
    expect(() => checkedTable(only([{ ...one, host: text }]), 4480)).toThrow('that the gateway accepts');
  });

  it.each(['/a b', '/a\nb', '/a;b', '/a"b', "/a'b", '/a#b', '/a$b', '/a\\b', '/a{b', '/%[src]', '/%2', '/ä', 'a', ''])(
    'takes no %j for a path',
    (path) => {
      expect(() => checkedTable(only([], { pathPrefix: path }), 4480)).toThrow('is not a path prefix');
      expect(() => checkedTable(only([], { pathRewrite: path }), 4480)).toThrow('is not a path that');
    },
  );

  it.each(['localhost', '10.0.0', 'fe80::1%eth0', '[::1]', '10.0.0.5:80'])('takes no %s for an address', (host) => {
    expect(() => checkedTable(only([{ ...one, host }]), 4480)).toThrow('is not the IP address of a backend');
  });

  it.each([0, -1, 65_536, 1.5, NaN])('takes no %d for a port', (port) => {
    expect(() => checkedTable(only([{ ...one, port }]), 4480)).toThrow('is not the port of a backend');
    expect(() => checkedTable({ http: [], tcp: [{ id: 't', listenPort: port, backends: [] }] }, 4480)).toThrow('is not a port');
  });

  it.each(['A.localhost', 'a..b', '-a', 'a.localhost:80', 'a/b', '*', 'a.*', '*a.b', '*.*.a'])(
    'takes no %s for a host',
    (host) => {
      expect(() => checkedTable(only([], { hosts: [host] }), 4480)).toThrow('is not a lower-case host name');
    },
  );

  it('refuses two claims to one id, one address or one port, and the port of the gateway', () => {
    const [web] = table.http;
    const tcp = table.tcp[0]!;
    expect(() => checkedTable({ http: [web!, web!], tcp: [] }, 4480)).toThrow('both claim the id web');
    const again = { ...web!, id: 'again', pathPrefix: '/x/' };
    expect(() => checkedTable({ http: [{ ...again, id: 'x', pathPrefix: '/x' }, again], tcp: [] }, 4480)).toThrow(
      'a.localhost/x',
    );
    expect(() => checkedTable({ http: [], tcp: [tcp, { ...tcp, id: 'other' }] }, 4480)).toThrow('both claim the port 5432');
    expect(() => checkedTable(table, 5432)).toThrow("one of the gateway's own");
  });
});

describe('the way from one table to another', () => {
  const changes = (from: RouteTable, to: RouteTable) => changesTo(to, servingOf(from), settingsFingerprint(settings));

  it('is nothing when HAProxy serves the table already', () => {
    expect(changes(table, table)).toEqual({ reload: null, commands: [], certificates: { added: [], removed: [] } });
  });

  it('adds servers, then changes hosts, then takes servers out', () => {
    expect(changes(only([one]), only([two], { hosts: ['a.localhost', 'new.localhost'] })).commands).toMatchInlineSnapshot(`
      [
        "add server http_web_111ed9db/two:fd00::2:8080 [fd00::2]:8080",
        "set server http_web_111ed9db/two:fd00::2:8080 state ready",
        "add map hosts.map new.localhost/ http_web_111ed9db",
        "del map hosts.map b.example.com/",
        "set server http_web_111ed9db/one:10.0.0.5:8080 state maint",
      ]
    `);
  });

  it('is another server when an instance has another address or an address another instance', () => {
    expect(serverName(one)).not.toBe(serverName({ ...one, host: '10.0.0.6' }));
    expect(changes(only([one]), only([{ ...one, id: 'heir' }])).commands).toMatchInlineSnapshot(`
      [
        "add server http_web_111ed9db/heir:10.0.0.5:8080 10.0.0.5:8080",
        "set server http_web_111ed9db/heir:10.0.0.5:8080 state ready",
        "set server http_web_111ed9db/one:10.0.0.5:8080 state maint",
      ]
    `);
  });

  it('makes a server ready again that was taken out before', () => {
    const serving = servingOf(only([one, two]));
    const taken = new Map(
      [...serving.servers].map(([proxy, servers]) => [
        proxy,
        new Map([...servers].map(([name, server]) => [name, { ...server, isReady: name !== serverName(two) }])),
      ]),
    );
    const { commands } = changesTo(only([one, two]), { ...serving, servers: taken }, settingsFingerprint(settings));
    expect(commands).toEqual([expect.stringMatching(/^set server http_web_\w+\/two:fd00::2:8080 state ready$/)]);
  });

  it('needs no reload for a route that goes, and one for each thing that HAProxy cannot change', () => {
    expect(changes({ ...table, tcp: [] }, only([one, two])).reload).toBeNull();
    expect(changes(only([one]), { ...table, tcp: [] }).reload).toMatch(/^http_api_\w+ is new$/);
    expect(changes(only([one]), only([one], { protocol: 'GRPC' })).reload).toMatch(/is new$/);
    expect(changes(only([one]), only([one], { pathRewrite: '/x' })).reload).toMatch(/is new$/);
    expect(changes(table, { ...table, tcp: [] }).reload).toBe('tcp_5432_db is gone');
    expect(changesTo(table, servingOf(table), 'davit-gateway-other').reload).toBe('settings changed');
  });

  it('reloads when somebody moved a server, and when many were taken out', () => {
    const serving = servingOf(only([one]));
    const [proxy, servers] = [...serving.servers].find(([name]) => name.startsWith('http_web'))!;
    const withServers = (more: [string, { address: string; isReady: boolean }][]): Serving => ({
      ...serving,
      servers: new Map([...serving.servers, [proxy, new Map([...servers, ...more])]]),
    });
    const moved = withServers([[serverName(one), { address: '10.0.0.9:8080', isReady: true }]]);
    expect(changesTo(only([one]), moved, serving.fingerprint).reload).toMatch(/was moved$/);
    const old = Array.from({ length: retiredServersLimit + 1 }, (_, index) => `old-${index}:10.0.1.1:80`);
    const many = withServers(old.map((name) => [name, { address: '10.0.1.1:80', isReady: false }]));
    expect(changesTo(only([one]), many, serving.fingerprint).reload).toBe(`${retiredServersLimit + 1} retired servers`);
  });

  it('answers PostgreSQL clients that ask for TLS only with HTTPS, and by a HAProxy with Lua', () => {
    const tcp = [{ ...table.tcp[0]!, acceptsTls: true as const }];
    const files = (more: Partial<GatewaySettings>): string =>
      Object.entries(toConfiguration({ ...settings, ...more }, { http: [], tcp })).join('\n');
    expect(files({ httpsPort: 4443 })).toContain('lua-load postgresql-tls.lua');
    expect(files({ httpsPort: 4443 })).toContain('\\x00\\x00\\x00\\x08\\x04\\xd2\\x16\\x2f');
    expect(files({ httpsPort: 4443, hasLua: false })).not.toContain('lua');
    expect(files({ httpsPort: null })).not.toContain('lua');
  });

  it('notices every setting of the operator', () => {
    const differing: Partial<GatewaySettings>[] = [
      { port: 1 },
      { httpsPort: 4443 },
      { httpsPort: 4443, hstsSeconds: 60 },
      { httpsPort: 4443, hasLua: false },
      { bindAddress: '::' },
      { trustedProxies: ['10.0.0.0/8'] },
      { errorPages: { notFound: 'x' } },
      { user: null },
      { handoverKey: 'other' },
      { handshakeSeconds: 10 },
    ];
    const prints = differing.map((change) => settingsFingerprint({ ...settings, ...change }));
    expect(new Set([settingsFingerprint(settings), ...prints]).size).toBe(differing.length + 1);
  });
});

describe('what HAProxy says', () => {
  it('is read from the answers to several commands', () => {
    const text = [
      'New server registered.\n\n',
      'Name: HAProxy\nPid: 42\ndescription: davit-gateway-1\nStopping: 1\n\n',
      '# name\nno-route\nhttp_web_1\n\n\n',
      '0x55 a.localhost/ http_web_1\n\n',
      '# certificates.list\ncertificates/a.pem\n\n',
      '1\n# be_id be_name srv_id\n6 http_web_1 1 one:10.0.0.5:80 10.0.0.5 2 0 1 1 34 1 0 2 0 0 0 0 - 80 - 0 0 - - 0\n',
      '6 http_web_1 2 two:10.0.0.6:80 10.0.0.6 0 1 1 1 34 1 0 2 0 0 0 0 - 80 - 0 0 - - 0\n\n',
    ].join('');
    expect(toServing(text)).toEqual({
      pid: 42,
      fingerprint: 'davit-gateway-1',
      isStopping: true,
      proxies: new Set(['no-route', 'http_web_1']),
      map: new Map([['a.localhost/', 'http_web_1']]),
      certificates: new Set(['certificates/a.pem']),
      servers: new Map([
        [
          'http_web_1',
          new Map([
            ['one:10.0.0.5:80', { address: '10.0.0.5:80', isReady: true }],
            ['two:10.0.0.6:80', { address: '10.0.0.6:80', isReady: false }],
          ]),
        ],
      ]),
    });
  });

  it('is read of the processes, former workers too, and of what is under way', () => {
    const processes =
      '#<PID> <type> <reloads> <uptime> <version>\n7 master 3 [failed: 1] 0d00h 2.6.12\n# workers\n9 worker 0 0d00h 2.6\n# old workers\n8 worker 1 0d 2.6\n';
    expect(toProcesses(processes)).toEqual({
      master: { pid: 7, reloads: 3, failedReloads: 1 },
      workers: [
        { pid: 9, reloads: 0 },
        { pid: 8, reloads: 1 },
      ],
    });
    expect(toProcesses('nonsense')).toBeNull();
    expect(toLoads('# pxname,svname\na,one:1:1,1,1,2,9,\nb,one:1:1,0,0,1,9,\nb,two:1:1,0,0,0,9,\n\n')).toEqual(
      new Map([
        ['one:1:1', 4],
        ['two:1:1', 0],
      ]),
    );
  });

  it('is asked in lines that fit its buffer, in order', () => {
    const commands = Array.from({ length: 1000 }, (_, index) => `set server http_route-${index}/one:10.0.0.5:80 state ready`);
    const lines = toLines(commands);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(16_384);
    expect(lines.join(';').split(';')).toEqual(commands);
  });
});

describe('the stored table', () => {
  it('comes back as it was, and as an empty one from what cannot be read', () => {
    const of = { gatewayPort: 4480, pems: {}, isServing: true };
    expect(storedTable(toStored(table), of)).toEqual(table);
    for (const text of ['', '{', '[]', 'null', '{"table":{"http":[{"id":"a b"}]}}']) {
      expect(storedTable(text, of)).toEqual({ http: [], tcp: [] });
    }
  });
});

describe('the options of a route', () => {
  it.each<RouteOptions>([
    { allowedSources: ['localhost'] },
    { deniedSources: ['10.0.0.0/33'] },
    { deniedSources: ['10.0.0.0/8 }'] },
    { bodyLimitMebibytes: 0.5 },
    { readTimeoutSeconds: -1 },
    { headers: { 'X A': 'b' } },
    { headers: { 'X-A': 'b\nc' } },
    { headers: { 'X-A': '' } },
    { crossOrigin: { origins: ['https://a }'], methods: [], headers: [] } },
    { crossOrigin: { origins: ['*'], methods: ['GET"'], headers: [] } },
  ])('never hold %j', (options) => {
    expect(() => checkedTable(only([], { options }), 4480)).toThrow('that the gateway accepts');
  });

  it('are another proxy, and a server that comes to a sticky one needs a reload', () => {
    const sticky = (backends: readonly Backend[]) => only(backends, { options: { sticky: true } });
    const fingerprint = settingsFingerprint(settings);
    expect(changesTo(sticky([one]), servingOf(only([one])), fingerprint).reload).toMatch(/is new$/);
    expect(changesTo(sticky([one, two]), servingOf(sticky([one])), fingerprint).reload).toMatch(/a server without a cookie$/);
    expect(changesTo(sticky([one]), servingOf(sticky([one, two])), fingerprint).reload).toBeNull();
  });
});
