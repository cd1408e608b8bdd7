import { DriverError, type ClusterBuildRequest } from '@davit/drivers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Sites, type Site } from '../testing/sites.ts';
import { createTestEngine, service, type TestEngine } from '../testing/test-engine.ts';
import type { RequestedService } from '../index.ts';

/* Images are built inside the cluster that runs them. */

const registryId = crypto.randomUUID();
const digest = `sha256:${'b'.repeat(64)}`;
let fixture: TestEngine;
let site: Site;
let builds: ClusterBuildRequest[];
let onBuild: () => Promise<void>;
beforeEach(async () => {
  builds = [];
  onBuild = () => Promise.resolve();
  const sites = new Sites(false, true);
  site = sites.add('east');
  site.imageRegistry = { id: registryId, pullId: registryId, folder: 'team/davit' };
  site.clusterBuilder = {
    limits: { cpuMillicores: 123, memoryMiB: 77 },
    declaredArguments: () => Promise.resolve([]),
    build: async (request) => {
      builds.push(request);
      await onBuild();
      return { digest };
    },
  };
  fixture = await createTestEngine({}, sites);
  fixture.registries.set(registryId, { username: 'pusher', password: 'open-sesame' });
});
afterEach(() => fixture.close());

async function ends(services: readonly RequestedService[]): Promise<string> {
  return fixture.ends(await fixture.deploy(services, { environment: site.environment }));
}

const images = () => site.fake.instances.map(({ id }) => site.fake.workloads.get(id)?.image);

test('the cluster builds and pushes with the credentials of its registry; nothing is built on this machine', async () => {
  const one = service();
  expect(await ends([one])).toBe('SUCCEEDED');
  const name = `registry.example/team/davit/${one.serviceId}`;
  expect(images()).toEqual([`${name}@${digest}`]);
  const [requested] = builds;
  expect(requested?.reference.startsWith(`${name}:`)).toBe(true);
  expect(requested?.registry).toMatchObject({ host: 'registry.example', isPlain: true, folder: 'registry.example/team/davit' });
  expect(requested?.registry.credentials?.password.reveal()).toBe('open-sesame');
  expect([requested?.cpuMillicores, requested?.memoryMiB]).toEqual([123, 77]);
  expect([fixture.fake.builds.length, fixture.fake.pushes.length]).toEqual([0, 0]);
});

test('what the registry has is not built again', async () => {
  const one = service();
  expect(await ends([one])).toBe('SUCCEEDED');
  fixture.digests.set(builds[0]?.reference ?? '', `sha256:${'a'.repeat(64)}`);
  expect(await ends([one])).toBe('SUCCEEDED');
  expect(builds).toHaveLength(1);
  expect(images()[0]?.split('@')[1]).toBe(`sha256:${'a'.repeat(64)}`);
});

test('a cluster that goes away in the middle of a build is waited for, and the image is built again', async () => {
  onBuild = () => {
    if (builds.length > 1) return Promise.resolve();
    return Promise.reject(new DriverError({ cause: 'ENGINE_UNREACHABLE', message: 'a command was cut off', retryable: true }));
  };
  expect(await ends([service()])).toBe('SUCCEEDED');
  expect(builds).toHaveLength(2);
});

test('without a registry, or with one that is gone, an application says what to do', async () => {
  fixture.registries.clear();
  const one = service();
  expect(await ends([one])).toBe('FAILED');
  const failure = { code: 'BUILD_UNAVAILABLE', hint: expect.stringContaining('image_registry') };
  expect((await fixture.view(one.serviceId)).failure).toMatchObject(failure);
  expect(builds).toEqual([]);
});
