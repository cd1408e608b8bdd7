import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { advancedSettings } from '@davit/contract';
import { createFakeCluster, type HttpRoute, type Instance, type RouteTable } from '@davit/drivers';
import { Ajv } from 'ajv';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toConfiguration, type GatewaySettings } from '../../../../../drivers/src/gateway/haproxy-config.ts';
import { HaproxyProcess } from '../../../../../drivers/src/gateway/haproxy-process.ts';
import { hasHaproxy } from '../../../../../drivers/src/gateway/testing.ts';
import { checkedTable } from '../../../../../drivers/src/shared/route-table.ts';
import { GatewaySync } from '../../../../../engine/src/routes/gateway-sync.ts';
import { config } from '../../../../../engine/src/testing/config.ts';
import { toDomainName } from '../../custom-domain/name.ts';
import { Problems } from '../../shared/problems.ts';
import { mergedSettings, toReleaseOptions, type AdvancedSettingsSpec } from './advanced-settings.ts';
import { toPorts } from './ports.ts';

/*
 * HAProxy must accept every value of its configuration that the API accepts: one refused value would affect the
 * services of all organizations. Each value passes the stages of a deployment: validation, release, route table,
 * configuration.
 */

const title = hasHaproxy ? 'HAProxy' : 'HAProxy (skipped: the program haproxy is missing; apt-get install haproxy)';
if (!hasHaproxy) console.warn('Nothing is tried with HAProxy, as the program haproxy is missing: apt-get install haproxy');

const folder = mkdtempSync(join(tmpdir(), 'davit-settings-'));
const haproxy = new HaproxyProcess(folder, 'haproxy');
const settings: GatewaySettings = {
  folder,
  port: 4480,
  httpsPort: null,
  bindAddress: '127.0.0.1',
  trustedProxies: Array.from({ length: 200 }, (_, index) => `10.0.${index}.0/24`),
  hstsSeconds: 31_536_000,
  errorPages: {},
  threads: 1,
  user: null,
  handoverKey: 'k'.repeat(48),
  handshakeSeconds: 30,
  hasLua: true,
};

beforeAll(() => haproxy.prepare());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Name = keyof (typeof advancedSettings)['APPLICATION'];
const schemas: Readonly<Record<Name, object>> = advancedSettings.APPLICATION;
const keyword = (name: Name, word: 'type' | 'minimum' | 'maximum' | 'maxLength'): unknown => Reflect.get(schemas[name], word);
const names = (Object.keys(schemas) as Name[]).filter((name) => name.startsWith('network.ingress.')); // oxlint-disable-line typescript/no-unsafe-type-assertion -- its own keys
const network = (name: string): Name => `network.ingress.${name}` as Name; // oxlint-disable-line typescript/no-unsafe-type-assertion -- a name of the contract, or the lookup of its schema fails

const validators = new Map(
  Object.entries(schemas).map(([name, schema]) => [name, new Ajv({ strict: false }).compile(schema)] as const),
);

/** Returns the settings of a request, or null if the API refuses one of them. */
function accepted(request: Readonly<Record<string, unknown>>): AdvancedSettingsSpec | null {
  for (const [name, value] of Object.entries(request)) if (validators.get(name)?.(value) !== true) return null;
  const problems = new Problems();
  const defaults = Object.fromEntries(Object.keys(schemas).map((name) => [name, null]));
  const spec = mergedSettings(request, {}, { defaults, most: {}, problems });
  return problems.found.length === 0 ? spec : null;
}

interface Published {
  readonly settings?: AdvancedSettingsSpec;
  readonly protocol?: 'HTTP' | 'GRPC';
  readonly path?: string;
  readonly rewrite?: string;
  readonly hosts?: readonly string[];
}

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

/** Returns the route of a release, as the engine creates it. */
async function routeOf({ settings: spec = {}, protocol = 'HTTP', path, rewrite, hosts = [] }: Published): Promise<HttpRoute> {
  const problems = new Problems();
  const request = {
    internal_port: 3000,
    publicly_accessible: true,
    protocol,
    public_path: path ?? null,
    public_path_rewrite: rewrite ?? null,
  };
  toPorts([request], [], { problems, reserved: new Map() });
  if (problems.found.length > 0) throw new Error('the port is refused');
  const [port] = config().ports;
  if (port === undefined) throw new Error('no port');
  const ports = [{ ...port, protocol, pathPrefix: path ?? '/', pathRewrite: rewrite ?? null, customHosts: [...hosts] }];
  let table: RouteTable = { http: [], tcp: [] };
  const sync = new GatewaySync({
    ...createFakeCluster().gateway,
    apply: (next) => {
      table = next;
      return Promise.resolve();
    },
  });
  const release = config({ ports, ...toReleaseOptions(spec) });
  await sync.replaceAll([{ id: 's', config: release, instances: [instance('one')], settled: true }], sync.version);
  const [route] = table.http;
  if (route === undefined) throw new Error('the form of the route is refused, which the API accepted');
  return route;
}

/**
 * Puts all routes into one table, each with its own host. Returns HAProxy's error, or null if HAProxy accepts the
 * table.
 */
async function refusal(published: readonly Published[]): Promise<string | null> {
  const routes = await Promise.all(published.map(routeOf));
  const http = routes.map((route, index) => ({
    ...route,
    id: `r${index}`,
    hosts: [`h${index}.localhost`, ...route.hosts.slice(1)],
  }));
  return haproxy.check(toConfiguration(settings, checkedTable({ http, tcp: [] }, settings.port)));
}

/** Returns a list of as many words as fit. */
function longList(name: string, word: (index: number) => string): string {
  const maxLength = Number(keyword(network(name), 'maxLength'));
  let text = word(0);
  for (let index = 1; text.length + word(index).length < maxLength; index += 1) text += `,${word(index)}`;
  return text;
}

const extremes: readonly (readonly [string, string])[] = [
  ['whitelist_source_range', longList('whitelist_source_range', (index) => `1.${index % 9}.1.1`)],
  ['whitelist_source_range', longList('whitelist_source_range', () => 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128')],
  ['whitelist_source_range', '::/0,0.0.0.0/0,::ffff:10.0.0.1/096,10.1.2.3/08'],
  ['denylist_source_range', longList('denylist_source_range', () => '::')],
  ['denylist_source_range', ''],
  ['cors_allow_origin', longList('cors_allow_origin', (index) => `http://${index}`)],
  ['cors_allow_origin', `https://${'a'.repeat(253)}:99999,*`],
  ['cors_allow_methods', longList('cors_allow_methods', () => 'A')],
  ['cors_allow_methods', '-'],
  ['cors_allow_headers', longList('cors_allow_headers', () => 'a')],
  ['cors_allow_headers', '-f,.,_,if,unless'],
  ['extra_headers', '{}'],
  ['extra_headers', ''],
  [
    'extra_headers',
    JSON.stringify(Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`X-${index}`, 'a'.repeat(150)]))),
  ],
  [
    'extra_headers',
    JSON.stringify({ [`X-${'a'.repeat(126)}`]: '%'.repeat(4096), if: '"', __proto__1: "'", '-m': '$(x) ${x} `x`' }),
  ],
  ['extra_headers', String.raw`{"A": "\\ \" # ' %[src] $HOME", "__proto__": "x", "if": "if", "unless": "\\"}`],
];

describe.skipIf(!hasHaproxy)(`${title} takes`, () => {
  test.each(extremes.map(([name, value], index) => ({ name, value, index })))(
    '$name at its extremes ($index)',
    async ({ name, value }) => {
      const spec = accepted({ [network(name)]: value, [network('enable_cors')]: true });
      expect(spec).not.toBeNull();
      for (const protocol of ['HTTP', 'GRPC'] as const) expect(await refusal([{ settings: spec ?? {}, protocol }])).toBeNull();
    },
  );

  test.each(names.filter((name) => 'minimum' in schemas[name]))('the least and the most of %s', async (name) => {
    const [minimum, maximum] = [keyword(name, 'minimum'), keyword(name, 'maximum')];
    const ends = [minimum, maximum].map((value) => ({ settings: accepted({ [name]: value }) ?? {} }));
    expect(ends.map((one) => Object.values(one.settings))).toEqual([[minimum], [maximum]]);
    const both = (['HTTP', 'GRPC'] as const).flatMap((protocol) => ends.map((one) => ({ ...one, protocol })));
    expect(await refusal(both)).toBeNull();
  });

  test('all settings at their longest, in one service', async () => {
    const spec = accepted({
      ...Object.fromEntries(
        extremes.toSorted(([, a], [, b]) => a.length - b.length).map(([name, value]) => [network(name), value]),
      ),
      [network('enable_cors')]: true,
      [network('enable_sticky_session')]: true,
      [network('proxy_body_size_mb')]: 1_048_576,
    });
    expect(spec).not.toBeNull();
    expect(await refusal([{ settings: spec ?? {} }])).toBeNull();
  });

  test('whatever settings the API accepts', { timeout: 120_000 }, async () => {
    const printable = fc.string({
      unit: fc.constantFrom(...Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index))),
    });
    const token = fc.stringMatching(/^[A-Za-z0-9_.-]{1,20}$/);
    const lists = (word: fc.Arbitrary<string>) =>
      fc.array(word, { maxLength: 200 }).chain((words) => fc.constantFrom(',', ', ', ' ,, ').map((comma) => words.join(comma)));
    const address = fc.oneof(fc.ipV4(), fc.ipV4Extended(), fc.ipV6());
    const range = fc.oneof(
      address,
      fc
        .tuple(address, fc.oneof(fc.integer({ min: 0, max: 129 }).map(String), fc.stringMatching(/^\d{1,3}$/)))
        .map((parts) => parts.join('/')),
    );
    const origin = fc.oneof(
      fc.constant('*'),
      fc.webUrl({ withFragments: false }).map((url) => new URL(url).origin),
      token.map((one) => `https://${one}`),
    );
    const text = fc.oneof(fc.string(), printable);
    const values: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
      whitelist_source_range: fc.oneof(lists(range), text),
      denylist_source_range: fc.oneof(lists(range), text),
      cors_allow_origin: fc.oneof(lists(origin), text),
      cors_allow_methods: fc.oneof(lists(token), text),
      cors_allow_headers: fc.oneof(lists(token), text),
      extra_headers: fc.oneof(
        fc.dictionary(fc.oneof(token, printable), fc.oneof(printable, fc.string())).map((one) => JSON.stringify(one)),
        text,
      ),
    };
    const request = fc.record(
      Object.fromEntries(
        names.map((name) => {
          const own = values[name.slice('network.ingress.'.length)];
          const [min, max] = [Number(keyword(name, 'minimum') ?? 0), Number(keyword(name, 'maximum') ?? 0)];
          return [name, own ?? (keyword(name, 'type') === 'boolean' ? fc.boolean() : fc.integer({ min, max }))];
        }),
      ),
      { requiredKeys: [] },
    );
    // Each value is accepted or refused separately; all accepted values are set together.
    const kept = request.map((one) =>
      Object.fromEntries(Object.entries(one).filter(([name, value]) => accepted({ [name]: value }) !== null)),
    );
    const published = fc.record({
      settings: kept.map((one) => accepted(one) ?? {}),
      protocol: fc.constantFrom('HTTP' as const, 'GRPC' as const),
    });
    let set = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(published, { minLength: 20, maxLength: 40 }), async (services) => {
        set += services.reduce((sum, one) => sum + Object.keys(one.settings).length, 0);
        expect(await refusal(services)).toBeNull();
      }),
      { numRuns: 8, endOnFailure: true },
    );
    // Proves that the API accepted values.
    expect(set).toBeGreaterThan(300);
  });

  test('whatever paths and domains the API accepts', { timeout: 120_000 }, async () => {
    const paths = fc.oneof(
      fc.stringMatching(/^\/(?:[A-Za-z0-9._~!&*+=:@/-]|%[0-9A-Fa-f]{2}){0,60}$/),
      fc.webPath(),
      fc.string().map((text) => `/${text}`),
      fc.constantFrom('/', `/${'a'.repeat(999)}`, `/${'%41'.repeat(333)}`, '/%25[src]', '/{if}', '/a/', '/&!*+=:@~'),
    );
    const isAccepted = (member: 'path' | 'rewrite') => async (value: string) =>
      routeOf({ [member]: value }).then(
        () => true,
        (error: unknown) => {
          if (error instanceof Error && error.message === 'the port is refused') return false;
          throw error;
        },
      );
    const domains = fc.oneof(
      fc.domain(),
      fc.domain().map((one) => `*.${one}`),
      fc.string().map((text) => `${text}.example`),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(paths, paths, domains), { minLength: 20, maxLength: 40 }), async (ports) => {
        const published: Published[] = [];
        const seen = new Set<string>();
        for (const [path, rewrite, domain] of ports) {
          const name = toDomainName(domain, []);
          const host = 'fault' in name || seen.has(name.host) ? [] : [name.host];
          for (const one of host) seen.add(one);
          published.push({
            hosts: host,
            ...((await isAccepted('path')(path)) && { path }),
            ...((await isAccepted('rewrite')(rewrite)) && { rewrite }),
          });
        }
        expect(await refusal(published)).toBeNull();
      }),
      { numRuns: 8, endOnFailure: true },
    );
  });
});
