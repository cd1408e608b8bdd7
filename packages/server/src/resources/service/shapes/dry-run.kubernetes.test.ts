import { randomUUID } from 'node:crypto';
import type { PodTemplateSpec } from 'kubernetes-types/core/v1.js';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ApiRefusal,
  call,
  closeApi,
  openApi,
  type Api,
  type KubernetesObject,
} from '../../../../../drivers/src/kubernetes/client/api.ts';
import { readKubeconfig } from '../../../../../drivers/src/kubernetes/client/kubeconfig.ts';
import { pathOf, pathTo, remove } from '../../../../../drivers/src/kubernetes/client/objects.ts';
import { toNamespace } from '../../../../../drivers/src/kubernetes/manifests/environment.ts';
import { namespaceName } from '../../../../../drivers/src/kubernetes/names/names.ts';
import { testCluster } from '../../../../../drivers/src/kubernetes/testing/cluster.ts';
import { isServed } from '../../../../../drivers/src/kubernetes/testing/scale-target.ts';
import { cluster as defaults } from '../../../../../drivers/src/kubernetes/testing/workloads.ts';
import { extremes, kubernetesObjectsOf } from './testing/kubernetes-objects.ts';
import { anyService, type TestService } from './testing.ts';

/*
 * A real API server must accept the objects of every service that the API accepts. The objects are sent as Davit sends
 * them, but as a dry run: the API server validates and admits them, and stores nothing.
 */

const cluster = testCluster();
const signal = new AbortController().signal;
const owner = {
  installation: `dry-run-${randomUUID()}`,
  organization: randomUUID(),
  project: randomUUID(),
  environment: randomUUID(),
  service: randomUUID(),
};
const place = { driver: randomUUID(), owner, image: `registry.example.org/team/web@sha256:${'0'.repeat(64)}` };
const namespace = namespaceName(owner.installation, owner.environment);

describe.skipIf(cluster.missing !== null)(
  `a Kubernetes cluster accepts${cluster.missing === null ? '' : ` (${cluster.missing})`}`,
  () => {
    let api: Api;
    let hasRoutes: boolean;

    beforeAll(async () => {
      api = openApi(readKubeconfig(cluster.kubeconfig));
      hasRoutes = await isServed(api, '/apis/gateway.networking.k8s.io/v1');
      await call(api, { method: 'POST', path: pathOf('Namespace'), body: toNamespace(owner, defaults.settings), signal });
      // Pods are refused until the cluster has made this account, which takes it a moment.
      const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } };
      const path = pathOf('ServiceAccount', { namespace });
      await call(api, { method: 'POST', path, body: account, signal, accept: [409] });
    });
    afterAll(async () => {
      if (api === undefined) return;
      await remove(api, pathOf('Namespace', { name: namespace }), signal);
      closeApi(api);
    });

    /** Returns why the API server refuses an object, or nothing. */
    async function refusalOf(object: KubernetesObject): Promise<readonly string[]> {
      const query = { dryRun: 'All', fieldManager: 'davit', force: 'true', fieldValidation: 'Strict' };
      const contentType = 'application/apply-patch+yaml';
      try {
        await call(api, { method: 'PATCH', path: pathTo(object), query, body: object, contentType, signal });
        return [];
      } catch (error) {
        if (error instanceof ApiRefusal) return [`${object.kind} ${error.status}: ${error.words}`];
        throw error;
      }
    }

    /** Returns what Davit or the API server refuses. Empty if nothing. */
    async function refusals(service: TestService): Promise<readonly string[]> {
      const objects = kubernetesObjectsOf(service, place);
      if (typeof objects === 'string') return [objects];
      const served = objects.filter(({ kind }) => kind !== 'HTTPRoute' || hasRoutes);
      const found = await Promise.all([...served, ...served.flatMap(podOf)].map(refusalOf));
      return found.flat();
    }

    test.each(extremes)('a service with %s', async (_name, service) => {
      expect(await refusals(service)).toEqual([]);
    });

    test('services of random values', async () => {
      const property = fc.asyncProperty(anyService, async (service) => {
        const found = await refusals(service);
        // Services that Davit refuses with a hint do not count.
        fc.pre(found[0]?.startsWith('API: ') !== true && found[0]?.startsWith('START_FAILED: ') !== true);
        expect(found).toEqual([]);
      });
      // A found fault is reported before the test times out, although it may not be the smallest one yet.
      await fc.assert(property, { numRuns: 80, interruptAfterTimeLimit: 120_000, markInterruptAsFailure: true });
    });

    test('no name in capitals, so the dry run is a real one', async () => {
      const metadata = { name: 'Web', namespace };
      expect(await refusalOf({ apiVersion: 'v1', kind: 'Secret', metadata })).toEqual([expect.stringContaining('RFC 1123')]);
    });
  },
);

interface WithTemplate extends KubernetesObject {
  readonly spec?: { readonly template?: PodTemplateSpec };
}

/** Returns the pod that a controller would make. Pod Security refuses pods, and only warns of their controllers. */
function podOf({ metadata, spec }: WithTemplate): KubernetesObject[] {
  if (spec?.template === undefined) return [];
  const { template } = spec;
  const pod = { name: metadata?.name ?? '', namespace, ...template.metadata };
  return [{ apiVersion: 'v1', kind: 'Pod', ...template, metadata: pod }];
}
