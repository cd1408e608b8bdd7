import path from 'node:path';
import { expect, test } from 'vitest';
import { findViolations } from './import-check.ts';
import { importRules } from './import-rules.ts';
import type { Workspace } from './imports.ts';

const workspace = (room: string, dependencies: string[], exports: Record<string, string> = {}): Workspace => ({
  name: `@davit/${room}`,
  folder: `packages/${room}`,
  exports: { '.': './src/index.ts', ...exports },
  dependencies,
});

const workspaces = [
  workspace('base', ['left-pad']),
  workspace('base-node', ['@davit/base', '@davit/db']),
  workspace('contract', ['typebox', 'fastify', '@davit/base']),
  workspace('client', ['@davit/contract', '@davit/base']),
  workspace('console', ['@davit/client', '@davit/contract', '@davit/db']),
  workspace('cli', ['@davit/client', '@davit/db']),
  workspace('db', ['pg', '@davit/base', '@davit/drivers']),
  workspace('drivers', ['tar-fs', '@davit/base', '@davit/db']),
  workspace('engine', ['@davit/base', '@davit/db', '@davit/drivers'], { './port': './src/port.ts' }),
  workspace('server', [
    'fastify',
    '@davit/base',
    '@davit/contract',
    '@davit/db',
    '@davit/drivers',
    '@davit/engine',
    '@davit/client',
  ]),
  workspace('testkit', ['vitest', '@davit/server'], { './*': './src/*.ts' }),
];
const rootDependencies = ['vitest'];

// A small checkout without violations.
const sound: Readonly<Record<string, string>> = {
  'packages/base/src/index.ts': `export const clock = 1;`,
  'packages/base/src/base.test.ts': `import { test } from 'vitest'; import 'node:fs';`,
  'packages/contract/src/index.ts': `import { Type } from 'typebox'; export const project = Type;`,
  'packages/client/src/index.ts': `import { project } from '@davit/contract'; export const client = project;`,
  'packages/console/src/index.ts': `import { client } from '@davit/client'; export { client };`,
  'packages/cli/src/index.ts': `import { client } from '@davit/client'; import 'node:fs'; export { client };`,
  'packages/db/src/index.ts': `import { clock } from '@davit/base'; import pg from 'pg'; export { clock, pg };`,
  'packages/drivers/src/index.ts': `export * from './driver.ts'; export { createDocker } from './docker/index.ts';`,
  'packages/drivers/src/driver.ts': `export interface Driver {} export const powers = [];`,
  'packages/drivers/src/errors.ts': `export class DriverError {}`,
  'packages/drivers/src/docker/index.ts': `import type { Driver } from '../driver.ts'; import { wait } from '../shared/wait.ts'; import './names.ts'; export const createDocker = wait;`,
  'packages/drivers/src/docker/names.ts': `export const names = 1;`,
  'packages/drivers/src/gateway/index.ts': `export const gateway = 1;`,
  'packages/drivers/src/shared/wait.ts': `export const wait = 1;`,
  'packages/engine/src/index.ts': `import { powers } from '@davit/drivers'; import '@davit/db'; export { powers };`,
  'packages/engine/src/port.ts': `export interface EnginePort {}`,
  'packages/engine/src/states.ts': `import { hash } from './hash.ts'; export const states = hash;`,
  'packages/engine/src/hash.ts': `import { createHash } from 'node:crypto'; export const hash = createHash;`,
  'packages/engine/src/plan/plan.ts': `import { states } from '../states.ts'; import type { Row } from '@davit/db'; export const plan = states;`,
  'packages/engine/src/run/run.ts': `import { plan } from '../plan/plan.ts'; export const run = [plan, Date.now()];`,
  'packages/server/src/main/serve.ts': `import { createDocker } from '@davit/drivers'; import { powers } from '@davit/engine'; import '../http/server.ts'; export default [createDocker, powers];`,
  'packages/server/src/http/server.ts': `import fastify from 'fastify'; import type { EnginePort } from '@davit/engine/port'; export { fastify };`,
  'packages/server/src/deps.ts': `export interface Deps {} export type Needs = Deps;`,
  'packages/server/src/configuration.ts': `export interface Configuration {} export type Settings = Configuration;`,
  'packages/server/src/resources/project/deps.ts': `import type { Needs } from '../../deps.ts'; export type ProjectDeps = Needs;`,
  'packages/server/src/resources/project/routes.ts': `import fastify from 'fastify'; import { project } from './project.ts'; export default [fastify, project];`,
  'packages/server/src/resources/project/project.ts': `import { store } from './store.ts'; import { service } from '../service/index.ts'; export const project = [store, service];`,
  'packages/server/src/resources/project/store.ts': `import { pg } from '@davit/db'; import type { Name } from './names.ts'; export const store = pg;`,
  'packages/server/src/resources/project/names.ts': `export type Name = string;`,
  'packages/server/src/resources/service/index.ts': `import { deep } from './kinds/application/deep.ts'; export const service = deep;`,
  'packages/server/src/resources/service/kinds/application/deep.ts': `import { naming } from '../../../shared/naming.ts'; export const deep = naming;`,
  'packages/server/src/resources/shared/naming.ts': `export const naming = 1;`,
  'packages/testkit/src/index.ts': `import 'vitest'; import 'node:fs'; import '@davit/server'; export const kit = 1;`,
  'packages/server/src/index.ts': `export const server = 1;`,
  'packages/server/src/server.test.ts': `import { kit } from '@davit/testkit/index'; import { test } from 'vitest';`,
  'tools/up.ts': `import { client } from '@davit/client'; import 'node:fs';`,
};

function rulesBrokenBy(planted: Readonly<Record<string, string>>): string[] {
  const sources = new Map(Object.entries({ ...sound, ...planted }));
  return [...new Set(findViolations(sources, workspaces, rootDependencies).map(({ rule }) => rule))];
}

const project = 'packages/server/src/resources/project';
const planted: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'layer-base': { 'packages/base/src/a.ts': `import '../../db/src/index.ts';` },
  'layer-base-node': { 'packages/base-node/src/a.ts': `import '@davit/db';` },
  'layer-contract': { 'packages/contract/src/a.ts': `import '@davit/base';` },
  'layer-client': { 'packages/client/src/a.ts': `import '@davit/base';` },
  'layer-console': { 'packages/console/src/a.ts': `import '@davit/db';` },
  'layer-cli': { 'packages/cli/src/a.ts': `import '@davit/db';` },
  'layer-db': { 'packages/db/src/a.ts': `import '@davit/drivers';` },
  'layer-drivers': { 'packages/drivers/src/a.ts': `import type { Database } from '@davit/db';` },
  'layer-engine': { 'packages/engine/src/run/a.ts': `import { createDocker } from '@davit/drivers';` },
  'layer-server/main': { 'packages/server/src/main/a.ts': `import { kit } from '@davit/client';` },
  'layer-server': { 'packages/server/src/http/a.ts': `import { powers } from '@davit/engine';` },
  'runs-anywhere': { 'packages/client/src/a.ts': `import { readFile } from 'fs';` },
  'contract-is-typebox-only': { 'packages/contract/src/a.ts': `import fastify from 'fastify';` },
  'base-imports-nothing': { 'packages/base/src/a.ts': `import pad from 'left-pad';` },
  'one-http-client': { 'packages/server/src/a.ts': `import { request } from 'node:http';` },
  'drivers-apart': { 'packages/drivers/src/docker/a.ts': `import { gateway } from '../gateway/index.ts';` },
  'http-names-no-resource': { 'packages/server/src/http/a.ts': `import type { service } from '../resources/service/index.ts';` },
  'routes-without-store': { [`${project}/routes.ts`]: `import { store } from './store.ts';` },
  'store-is-sql-only': { [`${project}/store.ts`]: `import { naming } from '../shared/naming.ts'; export const store = naming;` },
  'resource-by-its-index': { [`${project}/a.ts`]: `import { deep } from '../service/kinds/application/deep.ts';` },
  'needs-not-deps': { [`${project}/a.ts`]: `import type { Deps, Needs } from '../../deps.ts';` },
  'rules-without-fastify': { [`${project}/a.ts`]: `import type { FastifyRequest } from 'fastify';` },
  'tests-are-not-shipped': { 'packages/engine/src/a.ts': `import './b.test.ts';`, 'packages/engine/src/b.test.ts': '' },
  'up-uses-the-api': { 'tools/up-steps.ts': `import '@davit/server';` },
  declared: { 'packages/engine/src/a.ts': `import pg from 'pg';` },
  'no-cycles': {
    'packages/engine/src/a.ts': `import { b } from './b.ts'; export const a = b;`,
    'packages/engine/src/b.ts': `export { a as b } from './a.ts';`,
  },
  'no-folder-cycles': {
    'packages/engine/src/run/a.ts': `import { b } from '../keeper/b.ts'; export const a = b;`,
    'packages/engine/src/keeper/b.ts': `import { c } from './c.ts'; export const b = c;`,
    'packages/engine/src/keeper/c.ts': `import { d } from '../run/d.ts'; export const c = d;`,
    'packages/engine/src/run/d.ts': `export const d = 1;`,
  },
  'kinds-apart': {
    'packages/engine/src/keeper/a.ts': `import { keepChart } from '../kinds/chart/keep.ts'; export const keep = keepChart;`,
    'packages/engine/src/kinds/chart/keep.ts': `export const keepChart = 1;`,
  },
  kinds: {
    'packages/engine/src/run/a.ts': `export const isChart = (task: { serviceType: string }) => task.serviceType === 'HELM';`,
    'packages/engine/src/kinds/chart/kind.ts': `export const isChart = (task: { serviceType: string }) => task.serviceType === 'HELM';`,
  },
  loops: {
    'packages/engine/src/run/a.ts': `export const start = (look: () => void) => setInterval(look, 1_000);`,
    'packages/base/src/loop.ts': `export const start = (look: () => void) => setInterval(look, 1_000);`,
    'packages/engine/src/run/a.test.ts': `export const start = (look: () => void) => setInterval(look, 1_000);`,
  },
  'pure-planning': { 'packages/engine/src/hash.ts': `export const hash = () => Date.now();` },
  resolves: { 'packages/engine/src/a.ts': `import './gone.ts';` },
};

test('a checkout that keeps the rules has no violations', () => {
  expect(findViolations(new Map(Object.entries(sound)), workspaces, rootDependencies)).toEqual([]);
});

test.each(Object.keys(planted))('a violation of %s is caught, and nothing else is', (rule) => {
  expect(rulesBrokenBy(planted[rule] ?? {})).toEqual([rule]);
});

test('each rule has a planted violation', () => {
  expect(Object.keys(planted).sort()).toEqual(
    [
      ...importRules.map(({ name }) => name),
      'declared',
      'kinds',
      'loops',
      'no-cycles',
      'no-folder-cycles',
      'pure-planning',
      'resolves',
    ].sort(),
  );
});

test.each([
  ['a clock', `export const hash = new Date();`],
  ['chance', `export const hash = Math.random();`],
  ['the disk', `import 'node:fs'; export const hash = 1;`],
  ['a package', `import 'pg'; export const hash = 1;`],
  ['SQL', `import '@davit/db'; export const hash = 1;`],
])('planning that sees %s through a file it calls is caught', (_, text) => {
  expect(rulesBrokenBy({ 'packages/engine/src/hash.ts': text })).toContain('pure-planning');
});

test.each([
  [`export const isJob = (kinds: Kinds, config: Config) => kinds.of(config).name === 'A';`],
  [`export const isJob = (kind: Kind) => kind.name !== other;`],
  [`export const isJob = (name: string) => name === 'CHART';`],
  [`export const keepers: Record<Kind['name'], Keep> = {};`],
  [`export const isJob = (config: Config) => config.job !== undefined;`],
  [`switch (source.type) { case 'HELM': }`],
])('the engine may not ask for the kind of a service by %s', (text) => {
  expect(rulesBrokenBy({ 'packages/engine/src/keeper/a.ts': text })).toEqual(['kinds']);
  expect(rulesBrokenBy({ 'packages/engine/src/kinds/seventh/kind.ts': text })).toEqual([]);
});

test('an import is caught in each of its forms', () => {
  const forms = [
    `import { gateway } from '../gateway/index.ts';`,
    `import * as all from '../gateway/index.ts';`,
    `import '../gateway/index.ts';`,
    `import type { gateway } from '../gateway/index.ts';`,
    `export let later: import('../gateway/index.ts').gateway;`,
    `export { gateway } from '../gateway/index.ts';`,
    `export * from '../gateway/index.ts';`,
    `const later = await import('../gateway/index.ts');`,
  ];
  for (const form of forms) expect(rulesBrokenBy({ 'packages/drivers/src/docker/a.ts': form })).toEqual(['drivers-apart']);
});

test('a namespace import of an index counts as all that it passes on', () => {
  expect(rulesBrokenBy({ 'packages/engine/src/a.ts': `import * as drivers from '@davit/drivers';` })).toEqual(['layer-engine']);
});

test.each(['./b.ts', '../plan/b.ts'])('files that need the types of each other are a cycle: %s', (specifier) => {
  const planted = {
    'packages/engine/src/run/a.ts': `import type { B } from '${specifier}'; export interface A { b: B }`,
    [`packages/engine/src/run/${specifier}`
      .replace('run/./', 'run/')
      .replace('run/../', '')]: `import type { A } from '../run/a.ts'; export interface B { a: A }`,
  };
  expect(rulesBrokenBy(planted)).toEqual(['no-cycles']);
});

test.each([
  ['a kind and the parts that its steps work with', 'engine/src/shared/parts.ts', 'engine/src/kinds/kind.ts'],
  ['the steps of a kind and their plan', 'engine/src/kinds/chart/plan.ts', 'engine/src/kinds/chart/kind.ts'],
  ['a resource and its store', 'server/src/resources/project/names.ts', 'server/src/resources/project/store.ts'],
  ['two pages of the console', 'console/src/pages/a.tsx', 'console/src/pages/b.tsx'],
])('types of %s that need each other are a cycle, also through a third file', (_, one, other) => {
  const third = `${one.replace(/[^/]+$/, '')}third.ts`;
  const specifier = (from: string, to: string): string => {
    const relative = path.posix.relative(path.posix.dirname(from), to);
    return relative.startsWith('.') ? relative : `./${relative}`;
  };
  const planted = {
    [`packages/${one}`]: `import type { B } from '${specifier(one, other)}'; export type Name = B;`,
    [`packages/${other}`]: `import type { C } from '${specifier(other, third)}'; export type B = C;`,
    [`packages/${third}`]: `export type C = import('${specifier(third, one)}').Name;`,
  };
  expect(rulesBrokenBy(planted)).toEqual(['no-cycles']);
});

test('resources that need the types of each other are a cycle', () => {
  const planted = {
    [`${project}/index.ts`]: `export type { Name } from './names.ts';`,
    'packages/server/src/resources/service/kinds/a.ts': `import type { Name } from '../../project/index.ts'; export type A = Name;`,
  };
  expect(rulesBrokenBy(planted)).toEqual(['no-folder-cycles']);
});

test('a resource that takes all settings of the operator is caught', () => {
  const text = `import type { Configuration } from '../../configuration.ts';`;
  expect(rulesBrokenBy({ [`${project}/a.ts`]: text })).toEqual(['needs-not-deps']);
});

test('deps.ts names no resource', () => {
  const text = `import type { service } from './resources/service/index.ts';`;
  // No resource uses deps.ts here: otherwise the import would close a cycle, too.
  const planted = { 'packages/server/src/deps.ts': text, [`${project}/deps.ts`]: `export type ProjectDeps = string;` };
  expect(rulesBrokenBy(planted)).toEqual(['http-names-no-resource']);
});

test('a violation names file and line', () => {
  const sources = new Map([...Object.entries(sound), ['packages/engine/src/a.ts', `\n\nimport pg from 'pg';`]] as const);
  expect(findViolations(sources, workspaces, rootDependencies)).toEqual([
    expect.objectContaining({ file: 'packages/engine/src/a.ts', line: 3, message: expect.stringContaining('does not declare') }),
  ]);
});
