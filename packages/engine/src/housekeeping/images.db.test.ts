import { afterEach, beforeEach, expect, test } from 'vitest';
import { LogArchive } from '../log-archive/archive.ts';
import { config } from '../testing/config.ts';
import { createTestEngine, eventually, formerGone, service, settings, type TestEngine } from '../testing/test-engine.ts';
import type { ImageParts } from './built-images.ts';
import { collectAll, readDisk } from './images.ts';
import { Housekeeper } from './housekeeper.ts';

const gibibyte = 1024 ** 3;
const digest = `sha256:${'d'.repeat(64)}`;
let fixture: TestEngine;
let parts: ImageParts;
const reported: string[] = [];
const call = { signal: new AbortController().signal, log: (): void => undefined };

beforeEach(async () => {
  fixture = await createTestEngine({ minFreeMiB: 1024, keptReleases: 3 });
  const tell = (_details: object, message: string): void => void reported.push(message);
  const log = { info: tell, warn: tell, error: tell };
  const { database } = fixture.database;
  parts = { database, drivers: { fake: fixture.fake }, settings: { ...settings, minFreeMiB: 1024, keptReleases: 3 }, log };
});
afterEach(async () => {
  reported.length = 0;
  await fixture.close();
});

/** Returns the configuration of a container with this tag. */
const cache = (tag: string) =>
  config({ ports: [], source: { type: 'IMAGE', image: 'registry.example/cache', tag, registryId: null } });

let deployed = 0;
async function deploy(one: ReturnType<typeof service>, expected = 'DEPLOYED'): Promise<void> {
  const id = await fixture.deploy([one]);
  await eventually(async () => {
    const view = await fixture.engine.port.deployment(fixture.database.database, id);
    if (view?.status === 'FAILED' && expected === 'DEPLOYED') throw new Error(JSON.stringify(view.services));
    return view?.state === expected && view.status !== 'RUNNING' ? view : undefined;
  }, expected);
  await formerGone(fixture.fake);
  deployed += 1;
}

const tags = (): string[] =>
  [...fixture.fake.images.keys()].map((name) => name.replace('registry.example/cache:', '')).toSorted();
/** Ages all pulls, so that the grace period of fresh pulls is over. */
const age = () =>
  fixture.database.database.run({ name: 'age_pulls', text: `UPDATE pulled_image SET pulled_at = now() - interval '1 day'` });

test('pulled images go when no kept release needs them, and what others brought stays', async () => {
  fixture.fake.images.set('foreign:1', { id: `sha256:${'f'.repeat(64)}`, sizeBytes: 1 });
  // This image existed before Davit needed it.
  await fixture.fake.builder.pull({ reference: 'registry.example/cache:2', credentials: null }, call);
  const one = service();
  for (const tag of ['1', '2', '3', '4', '5', '6']) {
    await deploy({ ...one, release: { config: cache(tag), commitId: null } });
  }
  await collectAll(parts, 'fake', call);
  // The images were just pulled, so a deployment may be about to need them.
  expect(tags()).toEqual(['1', '2', '3', '4', '5', '6', 'foreign:1']);
  await age();
  await collectAll(parts, 'fake', call);
  expect(tags()).toEqual(['2', '4', '5', '6', 'foreign:1']);
  const uses = (await readDisk(parts, 'fake', call.signal))?.images ?? [];
  expect(Object.fromEntries(uses.map(({ image, use }) => [image.names[0], use]))).toEqual({
    'foreign:1': 'FOREIGN',
    'registry.example/cache:2': 'FOREIGN',
    'registry.example/cache:4': 'ROLLBACK',
    'registry.example/cache:5': 'ROLLBACK',
    'registry.example/cache:6': 'RUNS',
  });
});

test('two services of one image keep it until neither needs it', async () => {
  const [one, two] = [service(), service()];
  for (const each of [one, two]) await deploy({ ...each, release: { config: cache('1'), commitId: null } });
  for (const tag of ['2', '3', '4']) await deploy({ ...one, release: { config: cache(tag), commitId: null } });
  await age();
  await collectAll(parts, 'fake', call);
  expect(tags()).toContain('1');
  for (const tag of ['2', '3', '4']) await deploy({ ...two, release: { config: cache(tag), commitId: null } });
  await age();
  await collectAll(parts, 'fake', call);
  expect(tags()).toEqual(['2', '3', '4']);
});

test('a rollback to a release whose pulled image was collected pulls the same digest, not what the tag means now', async () => {
  const one = service();
  for (const tag of ['1', '2', '3', '4', '5']) await deploy({ ...one, release: { config: cache(tag), commitId: null } });
  await age();
  await collectAll(parts, 'fake', call);
  const history = await fixture.engine.port.serviceHistory(fixture.database.database, one.serviceId, { page: 1, pageSize: 10 });
  await deploy({ ...one, release: { releaseId: history.at(-1)?.releaseId ?? '' } });
  const pulls = fixture.fake.calls.filter(({ method }) => method === 'pull').map(({ detail }) => detail);
  expect(pulls.at(-1)).toMatch(/^registry\.example\/cache@sha256:[0-9a-f]{64}$/);
});

test('an image that somebody removed from the engine is pulled again by its digest where it is needed', async () => {
  const one = service({ config: cache('1') });
  await deploy(one);
  fixture.fake.images.clear();
  const [former] = fixture.fake.instances;
  await deploy({ ...one, release: { config: { ...cache('1'), arguments: ['x'] }, commitId: null } });
  fixture.fake.images.clear();
  // The fake returns different image ids for a digest and for its tag. Only the request for the digest is checked here.
  await fixture.fake.cluster.retire({ service: one.serviceId }, 1, call);
  await eventually(async () => {
    const pulls = fixture.fake.calls.filter(({ method, detail }) => method === 'pull' && detail.includes('@sha256:'));
    return Promise.resolve(pulls.length > 0 || undefined);
  }, 'a pull by the keeper');
  expect(former).toBeDefined();
});

test('near the limit of the disk pulled images of old releases go first, then built ones, and what runs stays', async () => {
  const [pulled, built] = [service(), service()];
  for (const tag of ['1', '2', '3']) await deploy({ ...pulled, release: { config: cache(tag), commitId: null } });
  for (const commit of ['a', 'b', 'c']) {
    fixture.fake.branches.set('main', commit.repeat(40));
    await deploy(built);
  }
  await age();
  const names = (): number[] => {
    const all = [...fixture.fake.images.keys()];
    return [all.filter((name) => name.startsWith('registry')).length, all.filter((name) => name.startsWith('davit/')).length];
  };
  const space = (freeBytes: number) => ({ folder: '/var/lib/engine', freeBytes, totalBytes: 100 * gibibyte });
  fixture.fake.space = space(50 * gibibyte);
  await collectAll(parts, 'fake', call);
  expect(names()).toEqual([3, 3]);
  // Each removal frees half a GiB.
  fixture.fake.script = {
    after: ({ method }) => {
      if (method === 'release') fixture.fake.space = space((fixture.fake.space?.freeBytes ?? 0) + gibibyte / 2);
    },
  };
  fixture.fake.space = space(1.5 * gibibyte);
  await collectAll(parts, 'fake', call);
  expect(names()).toEqual([1, 3]);
  fixture.fake.space = space(1.5 * gibibyte);
  await collectAll(parts, 'fake', call);
  expect(names()).toEqual([1, 2]);
  expect(fixture.fake.instances).toHaveLength(2);
  expect(reported).toContain('removed an image');
});

test('below the limit nothing is built or pulled, and what runs goes on', async () => {
  const one = service();
  await deploy(one);
  fixture.fake.space = { folder: '/var/lib/engine', freeBytes: 100 * 1024 ** 2, totalBytes: gibibyte };
  for (const [next, state] of [
    [service(), 'BUILD_ERROR'],
    [service({ config: cache('1') }), 'DEPLOYMENT_ERROR'],
  ] as const) {
    await deploy(next, state);
    const { failure } = await fixture.view(next.serviceId);
    expect(failure).toMatchObject({ code: 'DISK_FULL', message: expect.stringContaining('100 MiB are free at /var/lib/engine') });
  }
  expect(fixture.fake.instances).toHaveLength(1);
  // An image that exists needs no disk space.
  await deploy(one);
});

test('what a build left that no release knows is removed, but not during a deployment of its service', async () => {
  const one = service();
  await deploy(one);
  const left = `davit/${one.serviceId}:left`;
  fixture.fake.images.set(left, { id: digest, sizeBytes: 1 });
  let isHanging = true;
  fixture.fake.script = {
    before: async ({ method }, signal) => {
      if (method === 'build' && isHanging) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  };
  fixture.fake.branches.set('main', 'b'.repeat(40));
  await fixture.deploy([one]);
  await fixture.reaches(one.serviceId, 'BUILDING');
  await collectAll(parts, 'fake', call);
  expect(fixture.fake.images.has(left)).toBe(true);
  await fixture.engine.port.cancel(fixture.environmentId, false);
  await fixture.reaches(one.serviceId, 'CANCELED');
  isHanging = false;
  await eventually(async () => {
    await collectAll(parts, 'fake', call);
    return fixture.fake.images.has(left) ? undefined : true;
  }, 'the removal');
  expect(fixture.fake.images.size).toBe(1);
});

test('of several housekeepers one works at a time', async () => {
  const lists = () => fixture.fake.calls.filter(({ method }) => method === 'list').length;
  const before = lists();
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  fixture.fake.script = { before: ({ method }) => (method === 'list' ? held : undefined) };
  const { connectionString, database } = fixture.database;
  const complete = { ...parts, connectionString, archive: new LogArchive({ database, log: parts.log }) };
  const first = new Housekeeper(complete).look();
  await eventually(() => Promise.resolve(lists() > before || undefined), 'the first one');
  await new Housekeeper(complete).look();
  expect(lists()).toBe(before + 1);
  release();
  await first;
});

test('runners of processes that are gone are forgotten, that of this one is not', async () => {
  const { database, connectionString } = fixture.database;
  const runners = { name: 'test_runners', text: `SELECT count(*) AS count FROM runner` };
  const lost = `INSERT INTO runner (id, seen_at) SELECT gen_random_uuid(), now() - interval '2 days' FROM generate_series(1, 3)`;
  await database.run({ name: 'test_lost_runners', text: lost });
  await new Housekeeper({ ...parts, connectionString, archive: new LogArchive({ database, log: parts.log }) }).look();
  expect(await database.many(runners)).toEqual([{ count: 1 }]);
});

test('the build cache is held to its budget, and to a tenth of it while the disk is nearly full', async () => {
  const limited = { ...parts, settings: { ...parts.settings, buildCacheMiB: 1024 } };
  const reduce = async (freeBytes: number): Promise<number> => {
    fixture.fake.space = { folder: '/var/lib/engine', freeBytes, totalBytes: 100 * gibibyte };
    fixture.fake.cacheBytes = 5 * gibibyte;
    await collectAll(limited, 'fake', call);
    return fixture.fake.cacheBytes;
  };
  expect(await reduce(50 * gibibyte)).toBe(gibibyte);
  expect(await reduce(1.5 * gibibyte)).toBe(Math.floor(gibibyte / 10));
  expect(reported).toContain('reduced the build cache');
});
