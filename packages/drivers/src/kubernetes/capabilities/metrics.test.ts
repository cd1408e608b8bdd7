import { afterEach, expect, test } from 'vitest';
import { label } from '../names/labels.ts';
import { startTestApi, type TestApi } from '../testing/api-server.ts';
import { clusterMetrics } from './metrics.ts';

/* The usage of instances, on a cluster whose metrics server appears and disappears. */

const signal = new AbortController().signal;
let testApi: TestApi;
afterEach(() => testApi.close());

const measured = {
  metadata: { namespace: 'davit-1', labels: { [label.instance]: 'shop-1-0', [label.service]: 'shop' } },
  timestamp: '2026-01-01T00:00:00Z',
  containers: [{ name: 'main', usage: { cpu: '250m', memory: '64Mi' } }],
};

test('a cluster without a metrics server tells nothing, one that is away fails, and one that comes is asked', async () => {
  let status = 404;
  testApi = await startTestApi((_, response) => {
    response.writeHead(status, { 'retry-after': '0' });
    response.end(JSON.stringify(status === 200 ? { metadata: {}, items: [measured] } : { message: 'no' }));
  });
  const metrics = clusterMetrics({ api: testApi.api, installation: 'i' });
  expect(await metrics.usage(signal)).toEqual([]);
  status = 503;
  await expect(metrics.usage(signal)).rejects.toMatchObject({ code: 'ENGINE_FAILED', retryable: true });
  status = 403;
  await expect(metrics.usage(signal)).rejects.toMatchObject({ code: 'CLUSTER_ACCESS_DENIED' });
  status = 200;
  expect(await metrics.usage(signal)).toMatchObject([{ id: 'davit-1/shop-1-0', service: 'shop', memoryBytes: 64 * 1024 * 1024 }]);
});
