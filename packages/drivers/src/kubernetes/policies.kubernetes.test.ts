import { randomUUID } from 'node:crypto';
import type { Pod, Service } from 'kubernetes-types/core/v1.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeApi, find, openApi, type Api } from './client/api.ts';
import { list } from './client/follow.ts';
import { readKubeconfig } from './client/kubeconfig.ts';
import { pathOf } from './client/objects.ts';
import type { KubernetesDriver } from './index.ts';
import { label } from './names/labels.ts';
import { namespaceName } from './names/names.ts';
import { openTestDriver, ranOnce, testCluster } from './testing/cluster.ts';
import { scriptWorkload } from './testing/workloads.ts';

/*
 * Which pods reach which. Clusters do not report whether they enforce network policies, so the owner of a cluster that
 * does must say so.
 */

const cluster = testCluster();
const missing =
  cluster.missing ??
  (process.env['DAVIT_TEST_KUBERNETES_POLICIES'] === 'true' ? null : 'DAVIT_TEST_KUBERNETES_POLICIES is not true');
const installation = `policies-${randomUUID()}`;
const [here, elsewhere] = [randomUUID(), randomUUID()];
const { signal } = new AbortController();
const context = { signal, log: () => undefined };
const { image } = cluster;

describe.skipIf(missing !== null)(`network policies on Kubernetes${missing === null ? '' : ` (${missing})`}`, () => {
  let api: Api;
  let driver: KubernetesDriver;
  const web = scriptWorkload(
    { installation, environment: here, image },
    "mkdir -p /www; echo served >/www/index.html; trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait",
    { ports: [{ id: 'web', internalPort: 8080, protocol: 'HTTP' }], hostnames: ['shop'] },
  );
  /** Addresses of the Service and of the pod. */
  let addresses: readonly string[];

  beforeAll(async () => {
    api = openApi(readKubeconfig(cluster.kubeconfig));
    driver = await openTestDriver(cluster, installation);
    await driver.start(web, context);
    await driver.awaitReady(web, context);
    const namespace = namespaceName(installation, here);
    const service = await find<Service>(api, pathOf('Service', { namespace, name: 'shop' }), signal);
    const query = { labelSelector: `${label.rollout}=${web.rollout}` };
    const { items } = await list<Pod>(api, { path: pathOf('Pod', { namespace }), query }, signal);
    addresses = [service?.spec?.clusterIP ?? '', items[0]?.status?.podIP ?? ''];
  });
  afterAll(async () => {
    for (const environment of [here, elsewhere]) await driver?.removeEnvironment(environment, context);
    driver?.close();
    closeApi(api);
  });

  /**
   * Returns what a pod of an environment receives with its last request. A cluster takes a while to admit a new pod,
   * and a while to shut one out, so the pod repeats the request until it gets the wanted result.
   */
  async function received(environment: string, wanted: 'served' | 'nothing'): Promise<string[]> {
    const ask = (address: string): string =>
      `last=; for i in $(seq 20); do last=$(timeout 3 wget -q -O - http://${address}:8080/ 2>/dev/null || echo nothing); ` +
      `[ "$last" = ${wanted} ] && break; sleep 1; done; echo "$last"`;
    const job = scriptWorkload({ installation, environment, image }, addresses.map(ask).join('; '), { runsOnce: true });
    const { output } = await ranOnce(driver, job);
    await driver.retire({ service: job.owner.service }, 0, context);
    return output.split('\n');
  }

  test('a service is reached from its environment, and from no other', async () => {
    expect(await received(here, 'served')).toEqual(['served', 'served']);
    expect(await received(elsewhere, 'nothing')).toEqual(['nothing', 'nothing']);
  });

  test('a namespace of the settings reaches it, as an ingress controller must, from the next deployment on', async () => {
    const sources = { namespaces: [namespaceName(installation, elsewhere)], networks: [] };
    const open = await openTestDriver(cluster, installation, { sources });
    try {
      await open.start(web, context);
      expect(await received(elsewhere, 'served')).toEqual(['served', 'served']);
    } finally {
      open.close();
    }
    await driver.start(web, context);
    expect(await received(elsewhere, 'nothing')).toEqual(['nothing', 'nothing']);
  });

  test('its instances reach what they want, names included', async () => {
    const job = scriptWorkload({ installation, environment: here, image }, 'timeout 5 wget -q -O - http://shop:8080/', {
      runsOnce: true,
    });
    expect((await ranOnce(driver, job)).output).toBe('served');
  });
});
