import { statement } from '@davit/db';
import { afterEach, describe, expect, test } from 'vitest';
import { config } from '../testing/config.ts';
import { notifyClusters, Sites, type Site } from '../testing/sites.ts';
import { createTestEngine, eventually, formerGone, service, type TestEngine } from '../testing/test-engine.ts';
import type { EngineSettings, RequestedService } from '../index.ts';

let fixture: TestEngine;
let sites: Sites;
afterEach(() => fixture.close());

async function open(settings: Partial<EngineSettings> = {}, builds = true): Promise<readonly [Site, Site]> {
  sites = new Sites(builds);
  const both = [sites.add('east'), sites.add('west')] as const;
  fixture = await createTestEngine(settings, sites);
  return both;
}

const logOf = statement<{ message: string }>(
  'test_deployment_messages',
  'select message from deployment_log where deployment_id = $1 order by id',
);
const waitingOf = statement<{ waiting: boolean }>(
  'test_deployment_waiting',
  'select waiting_since is not null as waiting from deployment where id = $1',
);

const isLeading = statement(
  'test_is_leading',
  `select 1 from deployment_step s join deployment d on d.id = s.deployment_id
    where s.service_id = $1 and s.name = 'route' and s.status = 'RUNNING' and d.status = 'RUNNING'`,
);

async function messages(deploymentId: string): Promise<string[]> {
  return (await fixture.database.database.many(logOf, [deploymentId])).map(({ message }) => message);
}

function waits(deploymentId: string): Promise<true> {
  return eventually(async () => {
    const { waiting } = await fixture.database.database.one(waitingOf, [deploymentId]);
    return waiting ? true : undefined;
  }, 'the deployment that waits for its cluster');
}

const on = (site: Site, one: RequestedService): Promise<string> => fixture.deploy([one], { environment: site.environment });

/** Makes all calls of this method fail from now on. */
function failFrom(site: Site, method: string): void {
  site.onCall = (call) => {
    if (call.method === method) site.isDown = true;
  };
}

function comeBack(site: Site): void {
  site.onCall = null;
  site.isDown = false;
}

test('each environment runs on its own cluster, and is kept running there', async () => {
  const [east, west] = await open();
  const services = [service(), service(), service()] as const;
  await on(east, services[0]);
  await on(west, services[1]);
  await fixture.deploy([services[2]]);
  for (const one of services) await fixture.reaches(one.serviceId, 'DEPLOYED');
  const where = [east.fake, west.fake, fixture.fake].map(({ instances }) => instances.map((instance) => instance.service));
  expect(where).toEqual(services.map(({ serviceId }) => [serviceId]));
  expect(east.fake.routes.http.map(({ hosts }) => hosts)).toEqual([[`${services[0].serviceId}.localhost`]]);
  const [instance] = west.fake.instances;
  west.fake.kill(instance?.id ?? '', 1);
  await eventually(async () => (west.fake.instances[0]?.state === 'RUNNING' ? true : undefined), 'the revived instance');
  await fixture.deploy([services[1]], { environment: west.environment, action: 'DELETE' });
  await eventually(async () => (west.fake.instances.length === 0 ? true : undefined), 'the removed instance');
  expect(east.fake.instances).toHaveLength(1);
});

test('whether a cluster answers is asked without having it described, which takes long on large ones', async () => {
  const [east] = await open();
  const requested = (method: string): number => east.fake.calls.filter((call) => call.method === method).length;
  await eventually(async () => (requested('ping') > 0 ? true : undefined), 'the question');
  expect(requested('describe')).toBe(0);
});

test('a cluster that comes while Davit runs is worked with at once, and one that goes is let go of', async () => {
  await open();
  const north = sites.add('north');
  const one = service();
  await on(north, one);
  await fixture.reaches(one.serviceId, 'DEPLOYED');
  expect(await fixture.engine.port.describeCluster(north.id)).toMatchObject({ engine: 'fake' });
  sites.remove(north);
  await fixture.database.database.many(notifyClusters, []);
  const two = service();
  await eventually(async () => ((await fixture.engine.port.describeCluster(north.id)) === null ? true : undefined), 'its end');
  await on(north, two);
  expect((await fixture.reaches(two.serviceId, 'BUILD_ERROR')).failure).toMatchObject({ code: 'CLUSTER_NOT_CONNECTED' });
});

describe('a cluster that does not answer', () => {
  test.each(['observe', 'start', 'awaitReady', 'find', 'apply'])(
    'from %s on keeps its deployment waiting, which goes on when it is back; others do not wait',
    async (method) => {
      const [east, west] = await open();
      const one = service();
      expect(await fixture.ends(await on(east, one))).toBe('SUCCEEDED');
      failFrom(east, method);
      const again = { ...one, release: { config: { ...configOf(one), memoryMiB: 256 }, commitId: null } };
      const deploymentId = await on(east, again);
      await waits(deploymentId);
      const other = service();
      await on(west, other);
      await fixture.reaches(other.serviceId, 'DEPLOYED');
      comeBack(east);
      expect(await fixture.ends(deploymentId)).toBe('SUCCEEDED');
      const rollouts = new Set(east.fake.instances.map(({ rollout }) => rollout));
      expect(rollouts.size).toBe(1);
      const log = await messages(deploymentId);
      expect(log.filter((line) => line.includes('The deployment waits for it'))).toHaveLength(1);
      expect(log.filter((line) => line.includes('the deployment continues'))).toHaveLength(1);
    },
  );

  test('ends former instances when it is back, and no deployment waits for that', async () => {
    const [east] = await open();
    const one = service();
    expect(await fixture.ends(await on(east, one))).toBe('SUCCEEDED');
    failFrom(east, 'retire');
    const again = { ...one, release: { config: { ...configOf(one), memoryMiB: 256 }, commitId: null } };
    expect(await fixture.outcome(await on(east, again))).toBe('SUCCEEDED');
    await eventually(() => Promise.resolve(east.isDown || undefined), 'the end of the former instance to fail');
    expect(east.fake.instances).toHaveLength(2);
    comeBack(east);
    await formerGone(east.fake);
  });

  test('takes no place from deployments of other clusters', async () => {
    const [east, west] = await open({ maximumDeployments: 1, maximumBuilds: 1 });
    east.isDown = true;
    const waiting = await on(east, service());
    await waits(waiting);
    const other = service();
    await on(west, other);
    await fixture.reaches(other.serviceId, 'DEPLOYED');
    comeBack(east);
    expect(await fixture.ends(waiting)).toBe('SUCCEEDED');
  });

  test('for too long fails its deployment with its cause; what ran there serves on', async () => {
    const [east] = await open({ clusterWaitSeconds: 1 });
    const one = service();
    await on(east, one);
    await fixture.reaches(one.serviceId, 'DEPLOYED');
    const [serving] = east.fake.instances;
    failFrom(east, 'start');
    const again = { ...one, release: { config: { ...configOf(one), memoryMiB: 256 }, commitId: null } };
    await on(east, again);
    const view = await fixture.reaches(one.serviceId, 'DEPLOYMENT_ERROR');
    expect(view.failure).toMatchObject({ code: 'CLUSTER_UNREACHABLE', message: expect.stringContaining('the cluster east') });
    expect(view.failure?.hint).toContain('DAVIT_CLUSTER_WAIT_SECONDS');
    comeBack(east);
    expect(east.fake.instances).toEqual([serving]);
  });

  test('is waited for by whoever goes on after a restart', async () => {
    const [east] = await open();
    failFrom(east, 'awaitReady');
    const one = service();
    const deploymentId = await on(east, one);
    await waits(deploymentId);
    await fixture.restart();
    await waits(deploymentId);
    comeBack(east);
    expect(await fixture.ends(deploymentId)).toBe('SUCCEEDED');
    expect(east.fake.calls.filter(({ method }) => method === 'build')).toHaveLength(1);
    expect(east.fake.instances).toHaveLength(1);
  });

  test('is waited for no longer when the deployment is canceled', async () => {
    const [east] = await open();
    failFrom(east, 'awaitReady');
    const deploymentId = await on(east, service());
    await waits(deploymentId);
    await fixture.engine.port.cancel(east.environment.environmentId, false);
    expect(await fixture.ends(deploymentId)).toBe('CANCELED');
    comeBack(east);
    await eventually(async () => (east.fake.instances.length === 0 ? true : undefined), 'the end of what it had begun');
  });

  test('is waited for no longer when the deployment is canceled before requests were led to it', async () => {
    const [east] = await open();
    const one = service();
    await on(east, one);
    await fixture.reaches(one.serviceId, 'DEPLOYED');
    const [serving] = east.fake.instances;
    // The step that routes requests begins by reading the running instances. A cancel does not interrupt it.
    east.onCall = async ({ method }) => {
      if (method !== 'observe' || !(await fixture.database.database.maybe(isLeading, [one.serviceId]))) return;
      east.onCall = null;
      await fixture.engine.port.cancel(east.environment.environmentId, false);
      east.isDown = true;
    };
    const again = { ...one, release: { config: { ...configOf(one), memoryMiB: 256 }, commitId: null } };
    const deploymentId = await on(east, again);
    expect(await fixture.outcome(deploymentId)).toBe('CANCELED');
    comeBack(east);
    await eventually(async () => (east.fake.instances.length === 1 ? true : undefined), 'the end of what it had begun');
    expect(east.fake.instances[0]?.id).toBe(serving?.id);
  });

  test('ends calls that hang in a dead connection', async () => {
    const [east] = await open();
    let hangs = true;
    east.onCall = async ({ method }) => {
      if (method === 'awaitReady' && hangs) {
        east.isDown = true;
        await new Promise(() => undefined);
      }
    };
    const deploymentId = await on(east, service());
    await waits(deploymentId);
    hangs = false;
    comeBack(east);
    expect(await fixture.ends(deploymentId)).toBe('SUCCEEDED');
  });

  test('tells nothing of what runs there, and the running status is unknown until it is back', async () => {
    const [east] = await open();
    const one = service();
    await on(east, one);
    await fixture.reaches(one.serviceId, 'DEPLOYED');
    east.isDown = true;
    // A process that exits wakes the keeper.
    east.fake.kill(east.fake.instances[0]?.id ?? '', 1);
    await eventually(async () => ((await fixture.view(one.serviceId)).runningStatus === null ? true : undefined), 'not knowing');
    expect(await fixture.engine.port.checkCluster(east.id)).toMatchObject({
      facts: null,
      failure: { code: 'CLUSTER_UNREACHABLE' },
    });
  });

  test('leaves instances that are probed as they are, and probing goes on when it is back', async () => {
    const [east] = await open();
    const one = service();
    const probe = { check: { type: 'tcp', port: 3000, host: null }, initialDelaySeconds: 0, timeoutSeconds: 1 } as const;
    const readiness = { ...probe, periodSeconds: 0.01, successThreshold: 1, failureThreshold: 1 };
    await on(east, { ...one, release: { config: { ...configOf(one), readiness }, commitId: null } });
    await fixture.reaches(one.serviceId, 'DEPLOYED');
    const probes = (): number => east.fake.calls.filter(({ method }) => method === 'probe').length;
    const more = (what: string): Promise<true> => {
      const before = probes();
      return eventually(async () => (probes() > before + 5 ? true : undefined), what);
    };
    await more('probes');
    east.isDown = true;
    await more('probes of a cluster that is away');
    comeBack(east);
    await eventually(
      async () => ((await fixture.view(one.serviceId)).runningStatus === 'RUNNING' ? true : undefined),
      'the running status',
    );
    await more('probes after it is back');
    expect(east.fake.routes.http).toHaveLength(1);
  });
});

describe('credentials', () => {
  test('that a cluster refuses fail a deployment at once, and others that it takes work without a restart', async () => {
    const [east] = await open();
    const one = service();
    expect(await fixture.ends(await on(east, one))).toBe('SUCCEEDED');
    east.token = 'renewed';
    const again = { ...one, release: { config: { ...configOf(one), memoryMiB: 256 }, commitId: null } };
    await on(east, again);
    const view = await fixture.reaches(one.serviceId, 'BUILD_ERROR', 'DEPLOYMENT_ERROR');
    expect(view.failure).toMatchObject({ code: 'CLUSTER_ACCESS_DENIED' });
    expect(await fixture.engine.port.checkCluster(east.id)).toMatchObject({
      facts: null,
      failure: { code: 'CLUSTER_ACCESS_DENIED' },
    });
    sites.give(east, 'east', 'renewed');
    await fixture.database.database.many(notifyClusters, []);
    await eventually(async () => (east.connections > 1 ? true : undefined), 'the new connection');
    expect(await fixture.ends(await on(east, again))).toBe('SUCCEEDED');
    expect(east.fake.instances).toHaveLength(1);
    const [instance] = east.fake.instances;
    east.fake.kill(instance?.id ?? '', 1);
    await eventually(async () => (east.fake.instances[0]?.state === 'RUNNING' ? true : undefined), 'the revived instance');
  });

  test('that change in the middle of a call only delay what it was for', async () => {
    const [east] = await open();
    const one = service();
    let renewed = false;
    east.onCall = async ({ method }) => {
      if (method !== 'awaitReady' || renewed) return;
      renewed = true;
      sites.give(east, 'east', 'good');
      await fixture.database.database.many(notifyClusters, []);
      await new Promise(() => undefined);
    };
    const deploymentId = await on(east, one);
    expect(await fixture.ends(deploymentId)).toBe('SUCCEEDED');
    expect(east.connections).toBe(2);
    expect(east.fake.instances).toHaveLength(1);
  });
});

describe('a cluster that nothing is built for', () => {
  test('refuses what would have to be built, before anything is fetched', async () => {
    const [east] = await open({}, false);
    const one = service();
    await on(east, one);
    const view = await fixture.reaches(one.serviceId, 'BUILD_ERROR');
    expect(view.failure).toMatchObject({ code: 'BUILD_UNAVAILABLE', hint: expect.stringContaining('container registry') });
    expect(fixture.fake.calls.filter(({ method }) => method === 'resolve')).toEqual([]);
  });

  test('runs an image of a registry, which it brings by itself', async () => {
    const [east] = await open({}, false);
    const image = { type: 'IMAGE', image: 'registry.example.org/app', tag: '1', registryId: null } as const;
    east.fake.images.set('registry.example.org/app:1', { id: 'registry.example.org/app:1', sizeBytes: 0 });
    const one = service({ serviceType: 'CONTAINER', config: config({ source: image, ports: [] }) });
    await on(east, one);
    await fixture.reaches(one.serviceId, 'DEPLOYED');
    expect(east.fake.calls.filter(({ method }) => method === 'pull')).toEqual([]);
    expect([...east.fake.workloads.values()].map((workload) => workload.image)).toEqual(['registry.example.org/app:1']);
  });
});

function configOf({ release }: RequestedService) {
  if (release === undefined || !('config' in release)) throw new Error('it has no configuration');
  return release.config;
}
