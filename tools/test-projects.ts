import type { TestProjectInlineConfiguration } from 'vitest/config';

// Projects with different numbers of workers run one after the other, in the order of their `groupOrder`. The file name
// determines the kind of a test. `./test` runs these kinds:
// - `*.test.ts` needs nothing.
// - `*.db.test.ts` needs PostgreSQL (the embedded one is started).
// - `*.slow.db.test.ts` needs PostgreSQL too, and is not part of `./test quick`.
// - `*.engine.test.ts` needs a real container engine.
// Other commands run these kinds:
// - `*.kubernetes.test.ts` needs a cluster: `npm run test:kubernetes`. Two files run at a time, then the files that
//   need the cluster for themselves. Without a cluster they are skipped.
// - `*.crash.test.ts` is the whole crash matrix: `npm run test:crash`.
// - `*.nightly.test.ts` needs PostgreSQL too, some a container engine, and takes long: `npm run test:nightly`.
const exclude = ['**/node_modules/**', '.davit/**'];
// `expect.poll` may wait for an event that happens once a second, on a machine under heavy load.
const expect = { poll: { timeout: 20_000 } };
// Tests that need the whole cluster: they load it, measure its usage, time Davit's work, or create objects that exist
// only once per cluster.
const wantAll = [
  'e2e/faults.kubernetes.test.ts',
  'e2e/installation.kubernetes.test.ts',
  'e2e/kubernetes-application.kubernetes.test.ts',
  'e2e/kubernetes-interrupted.kubernetes.test.ts',
  'e2e/scaling.kubernetes.test.ts',
  'packages/drivers/src/kubernetes/capabilities/scaling.kubernetes.test.ts',
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
// The modules of the server and the engine take two seconds to load. They are loaded once for each worker, not for each
// file.
const sharedModules = { isolate: false, restoreMocks: true, unstubEnvs: true, unstubGlobals: true };
// Files that another engine of the same run covers. (Vitest does not apply `--exclude` to projects.)
const leftOut = process.env.DAVIT_TEST_LEAVE_OUT?.split(',') ?? [];
// Tests that need PostgreSQL and many seconds: they kill real processes or wait for time to elapse.
const slow = '**/*.slow.db.test.ts';

export const projects: TestProjectInlineConfiguration[] = [
  {
    test: {
      ...sharedModules,
      name: 'unit',
      expect,
      include: ['packages/*/src/**/*.test.ts', 'tools/**/*.test.ts', 'bench/**/*.test.ts'],
      exclude: [...exclude, '**/*.db.test.ts', '**/*.engine.test.ts', '**/*.kubernetes.test.ts', '**/*.nightly.test.ts'],
      // Property tests take a second, or many seconds on a machine under heavy load.
      testTimeout: 30_000,
      // Some tests wait for programs that they start.
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
      // These tests wait for PostgreSQL most of the time.
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
      include: ['packages/*/src/**/*.nightly.test.ts', 'e2e/**/*.nightly.test.ts'],
      exclude,
      testTimeout: 1_800_000,
      hookTimeout: 60_000,
      globalSetup: ['packages/testkit/src/global-database.ts', 'packages/testkit/src/global-engines.ts'],
    },
  },
  {
    test: {
      ...onCluster,
      name: 'kubernetes',
      include: ['packages/*/src/**/*.kubernetes.test.ts', 'e2e/**/*.kubernetes.test.ts'],
      exclude: [...exclude, ...wantAll],
      // These tests wait for the cluster most of the time.
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
