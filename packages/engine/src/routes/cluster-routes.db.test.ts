import { randomUUID } from 'node:crypto';
import { DatabaseUnavailable, statement } from '@davit/db';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { EngineSettings, RequestedService } from '../index.ts';
import { config } from '../testing/config.ts';
import { Sites, type Site } from '../testing/sites.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';

/* Tests clusters that pull images and route requests by themselves, as Kubernetes does. */

let fixture: TestEngine;
afterEach(() => fixture.close());

async function open(settings: Partial<EngineSettings> = {}): Promise<Site> {
  const sites = new Sites(false, true);
  const site = sites.add('east');
  const name = `${image.image}:${image.tag}`;
  site.fake.images.set(name, { id: name, sizeBytes: 0 });
  fixture = await createTestEngine(settings, sites);
  return site;
}

const logOf = statement<{ message: string }>(
  'test_front_door_messages',
  'select message from deployment_log where deployment_id = $1 order by id',
);
const ended = (id: string): Promise<string> => fixture.ends(id);

const image = { type: 'IMAGE', image: 'registry.example:5000/team/shop', tag: '1', registryId: null } as const;
const shop = (changes: Parameters<typeof config>[0] = {}): RequestedService =>
  service({ config: config({ source: image, ...changes }) });
const asIs = ({ release: _none, ...rest }: RequestedService): RequestedService => rest;

test('the cluster leads requests to the rollout that serves, from the deployment to the stop', async () => {
  const site = await open();
  const one = shop();
  const first = await fixture.deploy([one], { environment: site.environment });
  expect(await ended(first)).toBe('SUCCEEDED');
  const led = site.led.get(one.serviceId);
  expect(led).toMatchObject({
    owner: { installation: 'test', environment: site.environment.environmentId, service: one.serviceId },
    routes: [{ id: 'port', hosts: ['shop.localhost'], pathPrefix: '/', internalPort: 3000 }],
  });
  expect(led?.rollout).toBe(site.fake.instances[0]?.rollout);
  const messages = (await fixture.database.database.many(logOf, [first])).map(({ message }) => message);
  expect(messages).toContain('The cluster sends requests for shop.localhost to the new instances.');
  expect(messages).toContain('Nobody is let in.');
  expect(messages.join()).not.toContain('gateway');
  // A restart creates a new rollout.
  expect(await ended(await fixture.deploy([asIs(one)], { environment: site.environment, action: 'RESTART' }))).toBe('SUCCEEDED');
  expect(site.led.get(one.serviceId)?.rollout).not.toBe(led?.rollout);
  expect(await ended(await fixture.deploy([asIs(one)], { environment: site.environment, action: 'STOP' }))).toBe('SUCCEEDED');
  expect(site.led.has(one.serviceId)).toBe(false);
});

test('a deployment that fails leaves requests with the release before it', async () => {
  const site = await open();
  const one = shop();
  expect(await ended(await fixture.deploy([one], { environment: site.environment }))).toBe('SUCCEEDED');
  const before = site.led.get(one.serviceId);
  site.onCall = ({ method }) => {
    if (method === 'awaitReady') throw new Error('it does not work');
  };
  const next = { ...shop({ cpuMillicores: 250 }), serviceId: one.serviceId };
  expect(await ended(await fixture.deploy([next], { environment: site.environment }))).toBe('FAILED');
  expect(site.led.get(one.serviceId)?.rollout).toBe(before?.rollout);
});

test('a release that restricts who is served fails before anything is touched, as the cluster would serve everybody', async () => {
  const site = await open();
  const one = shop();
  expect(await ended(await fixture.deploy([one], { environment: site.environment }))).toBe('SUCCEEDED');
  const before = site.fake.instances;
  const gateway = { http: { allowedSources: ['10.0.0.0/8'] } };
  // Such a release comes from a rollback or a move. A normal deployment with it is refused when it is requested.
  for (const changes of [{}, { volumes: [{ id: randomUUID(), mountPath: '/data', sizeGiB: 1 }] }]) {
    const next = { ...shop({ options: { gateway }, ...changes }), serviceId: one.serviceId };
    const seen = site.fake.calls.length;
    expect(await ended(await fixture.deploy([next], { environment: site.environment }))).toBe('FAILED');
    expect((await fixture.view(one.serviceId)).failure).toMatchObject({
      code: 'SOURCES_UNRESTRICTED',
      message: expect.stringContaining('network.ingress.whitelist_source_range'),
      hint: expect.stringContaining('INGRESS'),
    });
    const calls = site.fake.calls.slice(seen).map(({ method }) => method);
    for (const touching of ['pull', 'start']) expect(calls).not.toContain(touching);
  }
  expect(site.fake.instances).toEqual(before);
  const everybody = shop({ options: { gateway: { http: { allowedSources: ['0.0.0.0/0', '::/0'] } } } });
  const last = { ...everybody, serviceId: one.serviceId };
  expect(await ended(await fixture.deploy([last], { environment: site.environment }))).toBe('SUCCEEDED');
});

test('a deployment takes the names of a service that is called as its release is, and no other one', async () => {
  const site = await open();
  const one = shop();
  const taken = (): (boolean | undefined)[] => [...site.fake.workloads.values()].map(({ takesNames }) => takesNames);
  expect(await ended(await fixture.deploy([one], { environment: site.environment }))).toBe('SUCCEEDED');
  expect(taken()).toEqual([true]);
  const renamed = { ...asIs(one), name: 'backend' };
  expect(await ended(await fixture.deploy([renamed], { environment: site.environment, action: 'RESTART' }))).toBe('SUCCEEDED');
  expect(taken()).toEqual([undefined]);
  expect(await ended(await fixture.deploy([asIs(one)], { environment: site.environment, action: 'RESTART' }))).toBe('SUCCEEDED');
  expect(taken()).toEqual([true]);
  // An instance that the keeper starts is not part of a deployment.
  await site.fake.cluster.retire({}, 0, { signal: new AbortController().signal, log: () => undefined });
  await fixture.restart();
  const again = await eventually(async () => [...site.fake.workloads.values()][0], 'the instance that was gone');
  expect(again.takesNames).toBeUndefined();
});

test('what somebody else took away is led again after a restart of Davit', async () => {
  const site = await open();
  const one = shop();
  expect(await ended(await fixture.deploy([one], { environment: site.environment }))).toBe('SUCCEEDED');
  const before = site.led.get(one.serviceId);
  site.led.clear();
  await fixture.restart();
  await eventually(async () => site.led.get(one.serviceId), 'the routes');
  expect(site.led.get(one.serviceId)).toEqual(before);
});

test('the cluster gets the credentials of the registry with what it starts, and again after a restart of Davit', async () => {
  const site = await open();
  const registryId = randomUUID();
  fixture.registries.set(registryId, { username: 'puller', password: 'canary' });
  const one = shop({ source: { ...image, registryId } });
  expect(await ended(await fixture.deploy([one], { environment: site.environment }))).toBe('SUCCEEDED');
  const registry = () => [...site.fake.workloads.values()][0]?.registry;
  expect(registry()).toMatchObject({ host: 'registry.example:5000', credentials: { username: 'puller' } });
  expect(registry()?.credentials.password.reveal()).toBe('canary');
  await site.fake.cluster.retire({}, 0, { signal: new AbortController().signal, log: () => undefined });
  await fixture.restart();
  await eventually(async () => registry(), 'the instance that was gone');
  expect(registry()?.credentials.password.reveal()).toBe('canary');
});

test('a cluster that runs an image of the former host of a registry gets none of the credentials of the new one', async () => {
  const site = await open();
  const registryId = randomUUID();
  fixture.registries.set(registryId, { username: 'puller', password: 'canary' });
  const one = shop({ source: { ...image, registryId } });
  expect(await ended(await fixture.deploy([one], { environment: site.environment }))).toBe('SUCCEEDED');
  fixture.registries.set(registryId, { username: 'puller', password: 'canary of the new host', hosts: ['new.example'] });
  expect(await ended(await fixture.deploy([one], { action: 'RESTART', environment: site.environment }))).toBe('SUCCEEDED');
  expect([...site.fake.workloads.values()].map(({ registry }) => registry)).toEqual([undefined]);
});

describe('an image that the cluster pulls', () => {
  const digest = (digit: string): string => `sha256:${digit.repeat(64)}`;
  const name = `${image.image}:${image.tag}`;
  const running = (site: Site): string[] => [...site.fake.workloads.values()].map((workload) => workload.image);

  test('is the one that its tag means at the deployment, and a rollback runs that one again', async () => {
    const site = await open();
    const one = shop();
    for (const digit of ['1', '2']) {
      const id = `${image.image}@${digest(digit)}`;
      site.fake.images.set(id, { id, sizeBytes: 0 });
      fixture.digests.set(name, digest(digit));
      expect(await ended(await fixture.deploy([one], { environment: site.environment }))).toBe('SUCCEEDED');
      expect(running(site)).toEqual([id]);
    }
    const history = await fixture.engine.port.serviceHistory(fixture.database.database, one.serviceId, { page: 1, pageSize: 10 });
    const releaseId = history.at(-1)?.releaseId ?? '';
    expect(await ended(await fixture.deploy([{ ...one, release: { releaseId } }], { environment: site.environment }))).toBe(
      'SUCCEEDED',
    );
    expect(running(site)).toEqual([`${image.image}@${digest('1')}`]);
  });

  test('that the registry does not have fails the deployment, and the former release serves on', async () => {
    const site = await open();
    const one = shop();
    expect(await ended(await fixture.deploy([one], { environment: site.environment }))).toBe('SUCCEEDED');
    const next = { ...shop({ source: { ...image, tag: 'nope' } }), serviceId: one.serviceId };
    fixture.digests.set(`${image.image}:nope`, null);
    expect(await ended(await fixture.deploy([next], { environment: site.environment }))).toBe('FAILED');
    expect((await fixture.view(one.serviceId)).failure).toMatchObject({ code: 'IMAGE_NOT_FOUND' });
    expect(running(site)).toEqual([name]);
  });

  test('is pinned also where the database was away for a moment', async () => {
    const site = await open();
    const id = `${image.image}@${digest('1')}`;
    site.fake.images.set(id, { id, sizeBytes: 0 });
    fixture.digests.set(name, digest('1'));
    const requested = vi.spyOn(fixture.input.hooks, 'imageDigest').mockRejectedValueOnce(new DatabaseUnavailable(undefined));
    expect(await ended(await fixture.deploy([shop()], { environment: site.environment }))).toBe('SUCCEEDED');
    expect(requested).toHaveBeenCalledTimes(2);
    expect(running(site)).toEqual([id]);
  });

  test('that Davit cannot ask about is deployed by its tag, and the log says what that means', async () => {
    const site = await open();
    const id = await fixture.deploy([shop()], { environment: site.environment });
    expect(await ended(id)).toBe('SUCCEEDED');
    const messages = (await fixture.database.database.many(logOf, [id])).map(({ message }) => message);
    expect(messages.join('\n')).toContain('nobody answers');
    expect(messages.join('\n')).toContain('a rollback runs the image that the tag then refers to');
  });
});
