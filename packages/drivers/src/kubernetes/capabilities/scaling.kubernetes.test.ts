import { randomUUID } from 'node:crypto';
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ScaledService, ScalingTrigger, WantedInstances } from '../../scaling.ts';
import type { Workload } from '../../workload.ts';
import { call, closeApi, find, openApi, type Api, type KubernetesObject } from '../client/api.ts';
import { readKubeconfig } from '../client/kubeconfig.ts';
import { pathOf } from '../client/objects.ts';
import type { KubernetesDriver } from '../index.ts';
import type { ScaleTarget } from '../manifests/scale-target.ts';
import { namespaceName, serviceObjectName } from '../names/names.ts';
import { openTestDriver, testCluster } from '../testing/cluster.ts';
import { defineScaleTargets, isServed, noteScaleTargets, writeScale } from '../testing/scale-target.ts';
import { sampleWorkload, scriptWorkload } from '../testing/workloads.ts';

/*
 * The objects that decide on the number of instances, on a real cluster with its own controller of
 * HorizontalPodAutoscalers.
 */

const cluster = testCluster();
const installation = `scaling-${randomUUID()}`;
const environment = randomUUID();
const signal = new AbortController().signal;
const context = { signal, log: () => undefined };
const serving = "mkdir -p /www; echo fine >/www/index.html; trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait";

interface Scale {
  readonly spec: { readonly replicas: number };
  readonly status: { readonly replicas: number; readonly selector: string };
}

describe.skipIf(cluster.missing !== null)(`scaling${cluster.missing === null ? '' : ` (${cluster.missing})`}`, () => {
  let driver: KubernetesDriver;
  let api: Api;
  let forget: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    api = openApi(readKubeconfig(cluster.kubeconfig));
    forget = await noteScaleTargets(api);
    await defineScaleTargets(api);
    driver = await openTestDriver(cluster, installation);
  });
  afterAll(async () => {
    await driver?.removeEnvironment(environment, context);
    driver?.close();
    await forget?.();
    closeApi(api);
  });

  const workload = (script: string): Workload =>
    scriptWorkload({ installation, environment, image: cluster.image }, script, {
      environment: sampleWorkload().environment,
      ports: [{ id: 'web', internalPort: 8080, protocol: 'HTTP' }],
    });
  const scaledOf = ({ owner, rollout, name, environment: variables }: Workload): ScaledService => ({
    owner,
    rollout,
    name,
    instances: 1,
    min: 1,
    max: 3,
    scaleDownSeconds: 300,
    by: { type: 'USE', cpuPercent: 60, memoryPercent: 80 },
    variables: variables.map((entry) => entry.name),
    mark: 'first',
  });
  const path = (kind: string, { owner }: Pick<Workload, 'owner'>, suffix = ''): string =>
    pathOf(kind, { namespace: namespaceName(installation, environment), name: `${serviceObjectName(owner)}${suffix}` });
  const has = async (kind: string, one: Pick<Workload, 'owner'>, suffix = ''): Promise<boolean> =>
    (await call(api, { method: 'GET', path: path(kind, one, suffix), signal, accept: [404] })).status === 200;
  const wanted = async ({ owner }: Pick<Workload, 'owner'>): Promise<WantedInstances | undefined> =>
    (await driver.scaling.wanted(signal)).find(({ service }) => service === owner.service);

  test('the number is the object’s: given once, then written by others, told when it changes, and reported back', async () => {
    const web = workload(serving);
    await driver.start(web, context);
    await driver.scaling.apply(scaledOf(web), signal);
    expect(await wanted(web)).toEqual({ service: web.owner.service, instances: 1, running: 1, mark: 'first' });
    const watching = new AbortController();
    let changes = 0;
    const watched = driver.scaling.watch(() => (changes += 1), watching.signal);
    // Changes before the watch has begun are not reported, so the number is written again until one is.
    const reported = async (): Promise<number> => {
      for (const number of [3, 2]) await writeScale(api, path('ScaleTarget', web), number);
      return changes;
    };
    await expect.poll(reported, { interval: 500 }).toBeGreaterThan(0);
    expect((await wanted(web))?.instances).toBe(2);
    watching.abort();
    await watched;
    // A new version of the settings does not change the number.
    await driver.scaling.apply({ ...scaledOf(web), max: 5, instances: 1, mark: 'second' }, signal);
    await driver.scaling.report(web.owner, 2, signal);
    expect(await wanted(web)).toMatchObject({ instances: 2, running: 2, mark: 'second' });
    const scale = await find<Scale>(api, `${path('ScaleTarget', web)}/scale`, signal);
    expect(scale).toMatchObject({ spec: { replicas: 2 }, status: { replicas: 2 } });
    expect(scale?.status.selector).toContain(`davit.rollout=${web.rollout}`);
    const autoscaler = await find<HorizontalPodAutoscaler>(api, path('HorizontalPodAutoscaler', web), signal);
    expect(autoscaler?.spec).toMatchObject({ minReplicas: 1, maxReplicas: 5, scaleTargetRef: { kind: 'ScaleTarget' } });
    // Events have set the number to 0. Scaling by use would leave it there, because an autoscaler is switched off at 0.
    await writeScale(api, path('ScaleTarget', web), 0);
    await driver.scaling.apply({ ...scaledOf(web), instances: 0, mark: 'third' }, signal);
    expect(await wanted(web)).toMatchObject({ instances: 1, mark: 'third' });
    // The deciders are also removed if another client removed the ScaleTarget.
    await call(api, { method: 'DELETE', path: path('ScaleTarget', web), signal });
    await driver.scaling.remove(web.owner, signal);
    await driver.scaling.remove(web.owner, signal);
    expect([await has('ScaleTarget', web), await has('HorizontalPodAutoscaler', web)]).toEqual([false, false]);
    await driver.scaling.report(web.owner, 2, signal);
  });

  test('the cluster’s own controller finds the pods, and raises the number of what uses too much', async (test) => {
    if ((await driver.scaling.missing('USE', signal)).length > 0) test.skip('the cluster has no metrics server');
    const busy = workload(`(while :; do :; done) & ${serving}`);
    await driver.start(busy, context);
    await driver.awaitReady(busy, context);
    await driver.scaling.apply(scaledOf(busy), signal);
    await expect.poll(async () => (await wanted(busy))?.instances, { timeout: 150_000, interval: 1_000 }).toBeGreaterThan(1);
    const isActive = async (): Promise<string | undefined> => {
      const found = await find<HorizontalPodAutoscaler>(api, path('HorizontalPodAutoscaler', busy), signal);
      return found?.status?.conditions?.find(({ type }) => type === 'ScalingActive')?.status;
    };
    // The condition is false while a metrics server is slow to respond.
    await expect.poll(isActive, { timeout: 60_000, interval: 1_000 }).toBe('True');
    // Nothing decides on a service that is retired as a whole.
    await driver.retire({ service: busy.owner.service }, 1, context);
    expect([await has('ScaleTarget', busy), await has('HorizontalPodAutoscaler', busy)]).toEqual([false, false]);
  }, 180_000);

  test('with KEDA events decide, with variables and Secrets by their names; never both', async (test) => {
    const hasKeda = await isServed(api, '/apis/keda.sh/v1alpha1');
    expect(await driver.scaling.missing('EVENTS', signal)).toEqual(hasKeda ? [] : ['KEDA (keda.sh/v1alpha1)']);
    if (!hasKeda) test.skip('the cluster has no KEDA');
    const web = workload(serving);
    await driver.start(web, context);
    await driver.scaling.apply(scaledOf(web), signal);
    const triggers: readonly ScalingTrigger[] = [
      { type: 'cron', metadata: { timezone: 'Etc/UTC', start: '0 6 * * *', end: '0 20 * * *', desiredReplicas: '3' } },
      {
        type: 'rabbitmq',
        metadata: { queueName: 'orders', mode: 'QueueLength', value: '5' },
        metricType: 'AverageValue',
        authentication: { name: 'broker', env: [{ parameter: 'host', name: 'A' }] },
      },
    ];
    const by = { type: 'EVENTS' as const, pollingSeconds: 30, cooldownSeconds: 300, triggers };
    await driver.scaling.apply({ ...scaledOf(web), min: 0, by, mark: 'events' }, signal);
    expect(await has('HorizontalPodAutoscaler', web)).toBe(false);
    expect(await has('TriggerAuthentication', web, '-1')).toBe(true);
    const found = await find<KubernetesObject & { readonly spec: object }>(api, path('ScaledObject', web), signal);
    expect(found?.spec).toMatchObject({
      minReplicaCount: 0,
      maxReplicaCount: 3,
      triggers: [{ type: 'cron' }, { type: 'rabbitmq' }],
    });
    const target = await find<ScaleTarget>(api, path('ScaleTarget', web), signal);
    // KEDA reads the variables of a process from this container.
    const [container] = target?.spec.template.spec.containers ?? [];
    expect(container?.env.map(({ name }) => name)).toEqual(web.environment.map(({ name }) => name));
    for (const { valueFrom } of container?.env ?? []) {
      const { name = '', key = '' } = valueFrom?.secretKeyRef ?? {};
      const namespace = namespaceName(installation, environment);
      const secret = await find<{ readonly data: object }>(api, pathOf('Secret', { namespace, name }), signal);
      expect(secret?.data).toHaveProperty([key]);
    }
    // Works like KEDA, which creates its own autoscaler with all labels of the ScaledObject.
    const ofKeda = path('HorizontalPodAutoscaler', web, '-of-keda');
    const ownerReferences = [
      {
        apiVersion: 'keda.sh/v1alpha1',
        kind: 'ScaledObject',
        name: serviceObjectName(web.owner),
        uid: found?.metadata?.uid ?? '',
      },
    ];
    const { labels } = found?.metadata ?? {};
    const autoscaler = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: `${serviceObjectName(web.owner)}-of-keda`, labels, ownerReferences },
      spec: {
        maxReplicas: 3,
        scaleTargetRef: { apiVersion: 'davit.dev/v1', kind: 'ScaleTarget', name: serviceObjectName(web.owner) },
      },
    };
    await call(api, { method: 'POST', path: ofKeda.slice(0, ofKeda.lastIndexOf('/')), body: autoscaler, signal });
    await driver.scaling.apply({ ...scaledOf(web), min: 0, by, mark: 'events' }, signal);
    expect(await has('HorizontalPodAutoscaler', web, '-of-keda')).toBe(true);
    // The service is scaled to zero and up again. The objects that it needs still exist.
    await driver.retire({ service: web.owner.service, rollout: web.rollout, fromIndex: 0 }, 1, context);
    expect(await driver.observe({ service: web.owner.service }, signal)).toEqual([]);
    const namespace = namespaceName(installation, environment);
    const name = container?.env[0]?.valueFrom?.secretKeyRef?.name ?? '';
    expect(await find(api, pathOf('Secret', { namespace, name }), signal)).not.toBeNull();
    await driver.start(web, context);
    expect(await driver.awaitReady(web, context)).toHaveLength(1);
    // First there are fewer triggers than before, then scaling by use again.
    await driver.scaling.apply({ ...scaledOf(web), by: { ...by, triggers: triggers.slice(0, 1) } }, signal);
    expect(await has('TriggerAuthentication', web, '-1')).toBe(false);
    await driver.scaling.apply(scaledOf(web), signal);
    expect(await has('HorizontalPodAutoscaler', web)).toBe(true);
    // KEDA releases the ScaledObject in its own time.
    await expect.poll(() => has('ScaledObject', web)).toBe(false);
    await driver.removeService(environment, web.owner.service, context);
    expect([await has('ScaleTarget', web), await has('HorizontalPodAutoscaler', web)]).toEqual([false, false]);
  });

  test('an object of that name that somebody else made is left alone', async () => {
    const web = workload(serving);
    await driver.start(web, context);
    const target = path('ScaleTarget', web);
    const body = {
      apiVersion: 'davit.dev/v1',
      kind: 'ScaleTarget',
      metadata: { name: serviceObjectName(web.owner) },
      spec: { replicas: 7 },
    };
    await call(api, { method: 'POST', path: target.slice(0, target.lastIndexOf('/')), body, signal });
    await expect(driver.scaling.apply(scaledOf(web), signal)).rejects.toMatchObject({ code: 'ENGINE_FAILED' });
    expect((await find<ScaleTarget>(api, target, signal))?.spec.replicas).toBe(7);
  });
});
