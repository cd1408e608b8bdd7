import type { TestProjectInlineConfiguration } from 'vitest/config';

// Projects of different numbers of workers run one after the other, in the order of their `groupOrder`.
// Kinds of tests, by file name: `*.test.ts` needs nothing; `*.db.test.ts` needs PostgreSQL (the embedded one is started);
// `*.slow.db.test.ts` does too, and is no part of `./test quick`; `*.engine.test.ts` needs a real container engine. `./test` runs
// all of these.
// `*.kubernetes.test.ts` needs a cluster: `npm run test:kubernetes`, two files at a time, then those that want it for themselves; without a
// cluster they are skipped.
// `*.crash.test.ts` is the whole crash matrix: `npm run test:crash`.
// `*.nightly.test.ts` needs PostgreSQL too and takes its time: `npm run test:nightly`.
const exclude = ['**/node_modules/**', '.davit/**'];
// The condition that `expect.poll` waits for may be something that happens each second, on a machine that does much else.
const expect = { poll: { timeout: 20_000 } };
// Of the tests on a cluster those that load it, measure what it uses, time what Davit does, or make what there is once in a cluster.
const wantAll = [
  'e2e/installation.kubernetes.test.ts',
  'e2e/kubernetes-application.kubernetes.test.ts',
  'e2e/kubernetes-interrupted.kubernetes.test.ts',
  'e2e/scaling.kubernetes.test.ts',
  'packages/drivers/src/kubernetes/powers/scaling.kubernetes.test.ts',
];
const onCluster = {
  expect,
  testTimeout: 180_000,
  hookTimeout: 180_000,
  globalSetup: ['packages/testkit/src/global-database.ts', 'packages/testkit/src/global-engines.ts'],
};
const onDatabase = {
  expect,
  testTimeout: 30_000,
  hookTimeout: 60_000,
  globalSetup: ['packages/testkit/src/global-database.ts'],
};
// The modules of the server and the engine take two seconds to load: once for each worker, not for each file.
const sharedModules = { isolate: false, restoreMocks: true, unstubEnvs: true, unstubGlobals: true };
// Set where another engine of the same run has them. (Vitest does not apply `--exclude` to projects.)
const leftOut = process.env.DAVIT_TEST_LEAVE_OUT?.split(',') ?? [];
// Those that need PostgreSQL and many seconds: real processes that are killed, or a time that passes.
const slow = '**/*.slow.db.test.ts';

export const projects: TestProjectInlineConfiguration[] = [
  {
    test: {
      ...sharedModules,
      name: 'unit',
      expect,
      include: ['packages/*/src/**/*.test.ts', 'tools/**/*.test.ts', 'bench/**/*.test.ts'],
      exclude: [...exclude, '**/*.db.test.ts', '**/*.engine.test.ts', '**/*.kubernetes.test.ts', '**/*.nightly.test.ts'],
      // Properties take a second; on a machine that does much else, many.
      testTimeout: 30_000,
      // Some wait for programs that they start.
      maxWorkers: 3,
    },
  },
  {
    test: {
      ...onDatabase,
      ...sharedModules,
      name: 'db',
      include: ['packages/*/src/**/*.db.test.ts'],
      exclude: [...exclude, slow],
      // They wait for PostgreSQL most of the time.
      maxWorkers: 3,
      sequence: { groupOrder: 1 },
    },
  },
  {
    test: {
      ...onDatabase,
      name: 'slow',
      include: [`packages/*/src/${slow}`, `e2e/${slow}`],
      exclude,
      testTimeout: 60_000,
      maxWorkers: 2,
      sequence: { groupOrder: 2 },
    },
  },
  {
    test: {
      name: 'nightly',
      expect,
      include: ['packages/*/src/**/*.nightly.test.ts'],
      exclude,
      testTimeout: 1_800_000,
      hookTimeout: 60_000,
      globalSetup: ['packages/testkit/src/global-database.ts'],
    },
  },
  {
    test: {
      ...onCluster,
      name: 'kubernetes',
      include: ['packages/*/src/**/*.kubernetes.test.ts', 'e2e/**/*.kubernetes.test.ts'],
      exclude: [...exclude, ...wantAll],
      // They wait for the cluster most of the time.
      maxWorkers: 2,
      sequence: { groupOrder: 4 },
    },
  },
  {
    test: {
      ...onCluster,
      name: 'kubernetes-alone',
      include: wantAll,
      exclude,
      fileParallelism: false,
      sequence: { groupOrder: 5 },
    },
  },
  {
    test: {
      name: 'crash',
      expect,
      include: ['e2e/**/*.crash.test.ts'],
      exclude,
      testTimeout: 180_000,
      hookTimeout: 180_000,
      fileParallelism: false,
      sequence: { groupOrder: 6 },
      globalSetup: ['packages/testkit/src/global-database.ts', 'packages/testkit/src/global-engines.ts'],
    },
  },
  {
    test: {
      name: 'engine',
      expect,
      include: ['packages/*/src/**/*.engine.test.ts', 'e2e/**/*.engine.test.ts'],
      exclude: [...exclude, ...leftOut],
      testTimeout: 180_000,
      hookTimeout: 180_000,
      fileParallelism: false,
      sequence: { groupOrder: 3 },
      globalSetup: ['packages/testkit/src/global-database.ts', 'packages/testkit/src/global-engines.ts'],
    },
  },
];
