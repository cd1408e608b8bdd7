import type { Import } from './imports.ts';

/*
 * Import rules. Each rule is tested with a planted violation in import-rules.test.ts. An import from a workspace's
 * index counts as an import of the files that define the imported names: `engine` may import the driver interface from
 * `@davit/drivers`, but not the docker driver from the same index.
 */

/** A rule about single imports. */
export interface Rule {
  readonly name: string;
  /** Whether the rule applies to imports of this file. */
  readonly applies: (file: string) => boolean;
  /** Whether the rule allows this target, which is a path, `node:…` or `npm:…`. */
  readonly allows: (target: string, use: Import) => boolean;
  readonly because: string;
}

const inPackage = (name: string): RegExp => new RegExp(`^packages/${name}/src/`);
/**
 * Whether the file is a test or loaded by tests only. Such files may import anything; no other file may import them.
 */
export const isTest = (file: string): boolean => /\.test\.ts$|\/testing\.ts$|\/(testing|conformance)\//.test(file);
const isForeign = (target: string): boolean => target.startsWith('npm:') || target.startsWith('node:');
const isStore = (file: string): boolean => /\/(store|[\w-]+-store)\.ts$/.test(file);

/**
 * Each room with the files of other rooms that it may import. Imports of its own files, of packages and of Node are
 * covered by other rules.
 */
const layers: readonly { readonly files: RegExp; readonly name: string; readonly mayImport: readonly RegExp[] }[] = [
  { name: 'base', files: inPackage('base'), mayImport: [] },
  { name: 'base-node', files: inPackage('base-node'), mayImport: [inPackage('base')] },
  { name: 'contract', files: inPackage('contract'), mayImport: [] },
  { name: 'client', files: inPackage('client'), mayImport: [inPackage('contract')] },
  { name: 'console', files: inPackage('console'), mayImport: ['client', 'contract'].map(inPackage) },
  { name: 'cli', files: inPackage('cli'), mayImport: ['client', 'contract'].map(inPackage) },
  { name: 'db', files: inPackage('db'), mayImport: [inPackage('base')] },
  { name: 'drivers', files: inPackage('drivers'), mayImport: ['base', 'base-node'].map(inPackage) },
  {
    name: 'engine',
    files: inPackage('engine'),
    mayImport: [
      inPackage('base'),
      inPackage('base-node'),
      inPackage('db'),
      /^packages\/drivers\/src\/(call-context|driver|driver-proxy|errors|exit-code|gateway|helm-arguments|helm-driver|helm-setting-names|image-builder|init-words|route-claims|scaling|schedules|source-driver|stored-images|terraform-driver|terraform-state|workload)\.ts$/,
    ],
  },
  {
    name: 'server/main',
    files: /^packages\/server\/src\/main\//,
    mayImport: ['base', 'base-node', 'db', 'contract', 'engine', 'drivers'].map(inPackage),
  },
  {
    name: 'server',
    files: inPackage('server'),
    mayImport: [...['base', 'base-node', 'db', 'contract'].map(inPackage), /^packages\/engine\/src\/port\.ts$/],
  },
];

const layerRules: Rule[] = layers.map(({ name, files: folder, mayImport }) => ({
  name: `layer-${name}`,
  applies: (file) => folder.test(file) && !isTest(file) && layers.find((layer) => layer.files.test(file))?.name === name,
  allows: (target) => {
    const own = name === 'server/main' ? inPackage('server') : folder;
    return isForeign(target) || own.test(target) || mayImport.some((allowed) => allowed.test(target));
  },
  because: `that room is above ${name} or beside it`,
}));

const drivers = 'fake|docker|kubernetes|helm|terraform|builder|gateway';
const driverOf = (file: string): string | undefined => new RegExp(`^packages/drivers/src/(${drivers})/`).exec(file)?.[1];
const kindsFolder = 'packages/engine/src/kinds/';
/** Returns the kind of service whose folder a file is in; undefined if it is in none. */
const kindOf = (file: string): string | undefined => new RegExp(`^${kindsFolder}([^/]+)/`).exec(file)?.[1];
/**
 * Files that import node:http themselves: the one client, servers, the probes of instances (which count each failure
 * of a connection as a result), and git's proxy.
 */
const sendsItself = (file: string): boolean =>
  inPackage('base-node').test(file) ||
  [
    'packages/drivers/src/docker/probes/http.ts',
    'packages/drivers/src/source/git-proxy.ts',
    'packages/drivers/src/terraform/state-server.ts',
    'packages/server/src/main/health.ts',
    // acme-client has its own requests; this file gives it an agent.
    'packages/server/src/resources/certificate/acme-authority.ts',
  ].includes(file);
// The folder `shared/` contains code that resources share and is itself no resource.
const resourceOf = (file: string): string | undefined =>
  /^packages\/server\/src\/resources\/(?!shared\/)([^/]+)\//.exec(file)?.[1];

/** Types that hold everything, by the file that declares them. */
const wholes: Readonly<Record<string, string>> = {
  'packages/server/src/deps.ts': 'Deps',
  'packages/server/src/configuration.ts': 'Configuration',
};

/** The rules about single imports. `import-check.ts` contains the rules about chains of imports. */
export const importRules: readonly Rule[] = [
  ...layerRules,
  {
    name: 'runs-anywhere',
    applies: (file) => ['base', 'contract', 'client'].some((name) => inPackage(name).test(file)) && !isTest(file),
    allows: (target) => !target.startsWith('node:'),
    because: 'base, contract and client also run in a browser',
  },
  {
    name: 'contract-is-typebox-only',
    applies: (file) => inPackage('contract').test(file) && !isTest(file),
    allows: (target) => !target.startsWith('npm:') || target === 'npm:typebox',
    because: 'the contract is data about the API and nothing else',
  },
  {
    name: 'base-imports-nothing',
    applies: (file) => inPackage('base').test(file) && !isTest(file),
    allows: (target) => !target.startsWith('npm:'),
    because: 'base has no dependencies',
  },
  {
    name: 'one-http-client',
    applies: (file) => /^packages\/(?!testkit\/)/.test(file) && !isTest(file) && !sendsItself(file),
    // Servers import `createServer` from the same module, so files that are servers are in `sendsItself`, too.
    allows: (target, use) => use.isTypeOnly || !/^(node:https?|npm:(undici|axios|got|node-fetch))$/.test(target),
    because: 'requests go through send of @davit/base-node, which alone decides on sockets, addresses, limits and failures',
  },
  {
    name: 'drivers-apart',
    applies: (file) => driverOf(file) !== undefined && !isTest(file),
    allows: (target, { from }) => driverOf(target) === undefined || driverOf(target) === driverOf(from),
    because: 'drivers do not know each other; what two need is in drivers/src/shared',
  },
  {
    name: 'http-names-no-resource',
    applies: (file) => (file.startsWith('packages/server/src/http/') || file === 'packages/server/src/deps.ts') && !isTest(file),
    allows: (target) => !target.startsWith('packages/server/src/resources/'),
    because: 'http and deps.ts declare the interfaces that they need; resources implement them',
  },
  {
    name: 'kinds-apart',
    applies: (file) =>
      inPackage('engine').test(file) && kindOf(file) === undefined && !file.endsWith('/engine.ts') && !isTest(file),
    allows: (target, { from }) => kindOf(target) === undefined || from === `${kindsFolder}index.ts`,
    because: 'the engine asks a kind of service through kinds/kind.ts; only engine.ts gives parts of a kind to the port',
  },
  {
    name: 'routes-without-store',
    applies: (file) => file.endsWith('/routes.ts'),
    allows: (target) => !isStore(target) && !inPackage('db').test(target) && target !== 'npm:pg',
    because: 'routes decide nothing and read nothing: they call the rules',
  },
  {
    name: 'store-is-sql-only',
    applies: (file) => resourceOf(file) !== undefined && isStore(file),
    allows: (target, use) => use.isTypeOnly || inPackage('db').test(target) || inPackage('base').test(target),
    because: 'a store imports db and base only (types of others aside)',
  },
  {
    name: 'resource-by-its-index',
    applies: (file) => resourceOf(file) !== undefined && !isTest(file),
    allows: (target, { from }) =>
      resourceOf(target) === undefined ||
      resourceOf(target) === resourceOf(from) ||
      /\/resources\/[^/]+\/index\.ts$/.test(target),
    because: 'another resource is reached through its index.ts',
  },
  {
    name: 'needs-not-deps',
    applies: (file) => resourceOf(file) !== undefined && !isTest(file),
    allows: (target, { names }) => wholes[target] === undefined || !names.some((name) => name === '*' || name === wholes[target]),
    because: 'a resource names what it needs: Needs of deps.ts, Settings of configuration.ts',
  },
  {
    name: 'rules-without-fastify',
    applies: (file) => resourceOf(file) !== undefined && !isTest(file) && !file.endsWith('/routes.ts'),
    allows: (target) => !/^npm:(@fastify\/|fastify$)/.test(target),
    because: 'rules know no HTTP; only routes.ts and server/http do',
  },
  {
    name: 'tests-are-not-shipped',
    applies: (file) => /^packages\/(?!testkit\/)/.test(file) && !isTest(file),
    allows: (target) => !inPackage('testkit').test(target) && !isTest(target) && target !== 'npm:vitest',
    because: 'only tests use the testkit and test files',
  },
  {
    name: 'up-uses-the-api',
    applies: (file) => /^tools\/up[^/]*\.ts$/.test(file) && !isTest(file),
    allows: (target) => !['server', 'engine', 'db', 'drivers', 'testkit'].some((name) => inPackage(name).test(target)),
    because: './up shows what any client can do, through the public API only',
  },
];
