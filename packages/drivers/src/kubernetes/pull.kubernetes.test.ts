import { randomUUID } from 'node:crypto';
import { Sensitive } from '@davit/base';
import { hasRegistry, startTestRegistry, type TestRegistry } from '@davit/testkit/registry';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Workload } from '../workload.ts';
import type { KubernetesDriver } from './index.ts';
import { openTestDriver, testCluster } from './testing/cluster.ts';
import { scriptWorkload } from './testing/workloads.ts';

/* Images of a registry that requires credentials. The registry is on 127.0.0.1, so the nodes must be this machine. */

const cluster = testCluster();
const missing = cluster.missing ?? (hasRegistry ? null : 'there is no docker-registry');
const installation = `pull-${randomUUID()}`;
const environment = randomUUID();
const context = { signal: new AbortController().signal, log: () => undefined };

describe.skipIf(missing !== null)(`pulling on Kubernetes${missing === null ? '' : ` (${missing})`}`, () => {
  let registry: TestRegistry;
  let driver: KubernetesDriver;
  beforeAll(async () => {
    registry = await startTestRegistry();
    await registry.push('shop', '1');
    driver = await openTestDriver(cluster, installation);
  });
  afterAll(async () => {
    await driver.removeEnvironment(environment, context);
    driver.close();
    await registry.close();
  });

  const withPassword = (password: string): Workload => {
    const image = `${registry.address}/shop:1`;
    const credentials = { username: registry.username, password: new Sensitive(password) };
    return scriptWorkload({ installation, environment, image }, 'exec sleep 100', {
      registry: { host: registry.address, credentials },
    });
  };

  test('the right password pulls', async () => {
    const shop = withPassword(registry.password);
    await driver.start(shop, context);
    expect(await driver.observe({ rollout: shop.rollout }, context.signal)).toMatchObject([{ state: 'RUNNING' }]);
  });

  test('a wrong password is told with the second refusal, not after a minute of them', async () => {
    const began = performance.now();
    const error: unknown = await driver.start(withPassword('not-it'), context).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'REGISTRY_ACCESS_DENIED', retryable: false });
    expect(JSON.stringify(error)).not.toContain('not-it');
    expect(performance.now() - began).toBeLessThan(45_000);
  });
});
