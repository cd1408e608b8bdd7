import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, closeApi, find, openApi, type Api } from '../client/api.ts';
import { readKubeconfig } from '../client/kubeconfig.ts';
import { pathOf } from '../client/objects.ts';
import { testCluster } from '../testing/cluster.ts';
import { clusterUpgrades } from './upgrades.ts';

/*
 * Tests the objects on a real API server with the definition of Plans. A controller that executes Plans replaces
 * Kubernetes on the nodes, and no test does that to the cluster that it was given. So the test writes what the
 * controller would write into the status.
 */

const cluster = testCluster();
const signal = new AbortController().signal;
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const name = 'plans.upgrade.cattle.io';
const version = 'v1.99.0+k3s1';
const servers = pathOf('Plan', { namespace: 'system-upgrade', name: 'davit-servers' });
let api: Api;
let hadNamespace: boolean;
let isForeign: boolean;

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name },
  spec: {
    group: 'upgrade.cattle.io',
    names: { kind: 'Plan', plural: 'plans', singular: 'plan', listKind: 'PlanList' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: anything, status: anything } } },
      },
    ],
  },
};

const isServed = async (): Promise<boolean> =>
  (await call(api, { method: 'GET', path: '/apis/upgrade.cattle.io/v1', signal, accept: [404] })).status === 200;

describe.skipIf(cluster.missing !== null)('upgrades of a cluster', () => {
  beforeAll(async () => {
    api = openApi(readKubeconfig(cluster.kubeconfig));
    isForeign = (await find(api, `${definitions}/${name}`, signal)) !== null;
    hadNamespace = (await find(api, pathOf('Namespace', { name: 'system-upgrade' }), signal)) !== null;
  });
  afterAll(async () => {
    if (!isForeign) await call(api, { method: 'DELETE', path: `${definitions}/${name}`, signal, accept: [404] });
    if (!hadNamespace)
      await call(api, { method: 'DELETE', path: pathOf('Namespace', { name: 'system-upgrade' }), signal, accept: [404] });
    closeApi(api);
  });

  test('are plans of the controller, where it is there', async ({ skip }) => {
    skip(isForeign, 'the cluster has a system-upgrade-controller of its own, which would carry out what is written here');
    const installation = randomUUID();
    const upgrades = clusterUpgrades({ api, installation }, version);
    const hindered = (words: string) => ({ next: null, hindrance: expect.stringContaining(words) });
    expect(await upgrades.state(signal)).toMatchObject(hindered('no system-upgrade-controller'));
    await define();
    expect(await upgrades.state(signal)).toMatchObject(hindered('neither K3s nor RKE2'));
    await upgrades.begin(version, signal);
    await upgrades.begin(version, signal);
    const underWay = { next: null, hindrance: null, underWay: '1.99.0+k3s1' };
    expect(await upgrades.state(signal)).toEqual({ ...underWay, failure: null });
    const status = { conditions: [{ type: 'Complete', status: 'False', reason: 'JobFailed', message: 'on node one' }] };
    const contentType = 'application/merge-patch+json';
    await call(api, { method: 'PATCH', path: `${servers}/status`, body: { status }, contentType, signal });
    expect(await upgrades.state(signal)).toEqual({ ...underWay, failure: 'davit-servers: JobFailed: on node one' });
    // Another installation of Davit does not take over these Plans.
    const others = clusterUpgrades({ api, installation: randomUUID() }, version);
    await expect(others.begin(version, signal)).rejects.toMatchObject({ code: 'ENGINE_FAILED' });
  });
});

async function define(): Promise<void> {
  await call(api, { method: 'POST', path: definitions, body: definition, signal });
  await expect.poll(isServed).toBe(true);
  if (hadNamespace) return;
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'system-upgrade' } };
  await call(api, { method: 'POST', path: pathOf('Namespace'), body, signal });
}
