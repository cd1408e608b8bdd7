import { DatabaseUnavailable } from '@davit/db';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Sites, type Site } from '../testing/sites.ts';
import { collectAll } from '../housekeeping/images.ts';
import { createTestEngine, service, settings, type TestEngine } from '../testing/test-engine.ts';
import type { DeploymentRequest, RequestedService } from '../index.ts';

/* Images are built for clusters that pull by themselves. */

const registryId = crypto.randomUUID();
/** A record of the same registry, with a user that can only read. */
const pullId = crypto.randomUUID();
let fixture: TestEngine;
let site: Site;
beforeEach(async () => {
  const sites = new Sites(false, true);
  site = sites.add('east');
  site.imageRegistry = { id: registryId, pullId, folder: 'team/davit' };
  fixture = await createTestEngine({}, sites);
  fixture.registries.set(registryId, { username: 'pusher', password: 'open-sesame' });
  fixture.registries.set(pullId, { username: 'reader', password: 'open-barley' });
});
afterEach(() => fixture.close());

async function ends(services: readonly RequestedService[], request: Partial<DeploymentRequest> = {}): Promise<string> {
  return fixture.ends(await fixture.deploy(services, { environment: site.environment, ...request }));
}

async function failureOf(one: RequestedService): Promise<unknown> {
  expect(await ends([one])).toBe('FAILED');
  return (await fixture.view(one.serviceId)).failure;
}

const running = () => site.fake.instances.map(({ id }) => site.fake.workloads.get(id));
const kept = /^registry\.example\/team\/davit\/[0-9a-f-]{36}@sha256:[0-9a-f]{64}$/;

test('it is built on this machine, pushed, and run by its digest with the credentials of who can only read', async () => {
  const one = service();
  expect(await ends([one])).toBe('SUCCEEDED');
  expect(fixture.fake.builds).toHaveLength(1);
  const [pushed] = fixture.fake.pushes;
  expect(pushed?.reference).toBe(`registry.example/team/davit/${one.serviceId}:${pushed?.image.split(':')[1]}`);
  expect(pushed?.credentials?.password.reveal()).toBe('open-sesame');
  const [workload] = running();
  expect(workload?.image).toMatch(kept);
  expect(workload?.registry).toMatchObject({ host: 'registry.example', credentials: { username: 'reader' } });
  // The contents of a namespace can be read in it.
  expect(JSON.stringify(workload)).not.toContain('pusher');
});

test('what the registry has is not built again, what the engine has is pushed only, and what neither has is built', async () => {
  const one = service();
  expect(await ends([one])).toBe('SUCCEEDED');
  const [pushed] = fixture.fake.pushes;
  // Davit cannot query this registry: the engine pushes what is missing there.
  expect(await ends([one])).toBe('SUCCEEDED');
  expect([fixture.fake.builds.length, fixture.fake.pushes.length]).toEqual([1, 2]);
  fixture.digests.set(pushed?.reference ?? '', `sha256:${'a'.repeat(64)}`);
  expect(await ends([one])).toBe('SUCCEEDED');
  expect([fixture.fake.builds.length, fixture.fake.pushes.length]).toEqual([1, 2]);
  expect(running().map((workload) => workload?.image.split('@')[1])).toEqual([`sha256:${'a'.repeat(64)}`]);
  fixture.digests.clear();
  fixture.fake.images.clear();
  expect(await ends([one])).toBe('SUCCEEDED');
  expect([fixture.fake.builds.length, fixture.fake.pushes.length]).toEqual([2, 3]);
});

test('what the registry has is not fetched to be built again because the database was away for a moment', async () => {
  const one = service();
  expect(await ends([one])).toBe('SUCCEEDED');
  fixture.digests.set(fixture.fake.pushes[0]?.reference ?? '', `sha256:${'a'.repeat(64)}`);
  vi.spyOn(fixture.input.hooks, 'imageDigest').mockRejectedValueOnce(new DatabaseUnavailable(undefined));
  expect(await ends([one])).toBe('SUCCEEDED');
  expect(fixture.fake.calls.filter(({ method }) => method === 'checkout')).toHaveLength(1);
});

test('without a registry, or with one that is gone, an application says what to do', async () => {
  fixture.registries.clear();
  expect(await failureOf(service())).toMatchObject({
    code: 'BUILD_UNAVAILABLE',
    hint: expect.stringContaining('image_registry'),
  });
});

test('a release that was deployed elsewhere gets an image of this cluster, also when it is rolled back to', async () => {
  const one = service();
  const historyOf = () => fixture.engine.port.serviceHistory(fixture.database.database, one.serviceId, { page: 1, pageSize: 10 });
  const here = { environment: { ...site.environment, clusterId: crypto.randomUUID(), driver: 'fake' } };
  expect(await ends([one], here)).toBe('SUCCEEDED');
  const [first] = await historyOf();
  const releaseId = first?.releaseId ?? '';
  expect(await ends([{ ...one, release: { releaseId } }])).toBe('SUCCEEDED');
  expect(running().map((workload) => workload?.image)).toEqual([expect.stringMatching(kept)]);
  // Restart and revival take the image from the release.
  const { release: _none, ...asIs } = one;
  expect(await ends([asIs], { action: 'RESTART' })).toBe('SUCCEEDED');
  expect(running().map((workload) => workload?.image)).toEqual([expect.stringMatching(kept)]);
  expect(await ends([{ ...one, release: { releaseId } }], here)).toBe('SUCCEEDED');
  const [back] = fixture.fake.instances;
  expect(fixture.fake.workloads.get(back?.id ?? '')?.image).toMatch(/^sha256:/);
  // The image is built once more: what the service left on this machine's engine was removed with its move.
  expect(fixture.fake.builds).toHaveLength(2);
});

test('what was built stays on the engine for the newest release, so that builds are short, until the disk is short', async () => {
  const one = service();
  const { database } = fixture.database;
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const limits = { ...settings, minFreeMiB: 1_024, keptReleases: 3 };
  const parts = { database, drivers: { fake: fixture.fake }, settings: limits, log };
  const call = { signal: new AbortController().signal, log: () => undefined };
  for (const commit of ['a', 'b']) {
    fixture.fake.branches.set('main', commit.repeat(40));
    expect(await ends([one])).toBe('SUCCEEDED');
  }
  expect(fixture.fake.images.size).toBe(2);
  await collectAll(parts, 'fake', call);
  expect([...fixture.fake.images.keys()]).toEqual([fixture.fake.pushes[1]?.image]);
  fixture.fake.space = { folder: '/var/lib/engine', freeBytes: 1.5 * 1024 ** 3, totalBytes: 100 * 1024 ** 3 };
  await collectAll(parts, 'fake', call);
  expect(fixture.fake.images.size).toBe(0);
});
