import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { makeTestEnvironment, startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test } from 'vitest';

let server: RunningServer;
let api: Client;
let environmentId: string;
let organizationId: string;

beforeAll(async () => {
  server = await startRunningServer({ DAVIT_METRICS_SECONDS: '1' });
  ({ organizationId, environmentId, api } = await makeTestEnvironment(server));
});
afterAll(() => server.close());

async function newApplication(): Promise<string> {
  const git_repository = { url: 'https://git.example.org/acme/shop.git', branch: 'main' };
  const body = {
    name: `shop ${randomUUID()}`,
    dockerfile_path: 'Dockerfile',
    git_repository,
    ports: [{ internal_port: 80, publicly_accessible: true }],
  };
  return (await api.call('createApplication', { params: { environmentId }, body })).id;
}

test('a service that never ran has no metrics', async () => {
  const params = { applicationId: await newApplication() };
  expect(await api.call('getApplicationMetrics', { params })).toEqual({
    service_id: params.applicationId,
    step_seconds: 60,
    results: [],
    scaling: [],
  });
  const day = await api.call('getApplicationMetrics', { params, query: { minutes: 1440 } });
  expect(day.step_seconds).toBe(300);
  const month = await api.call('getApplicationMetrics', { params, query: { minutes: 43_200 } });
  expect(month.step_seconds).toBe(3600);
  const tooLong = api.call('getApplicationMetrics', { params, query: { minutes: 43_201 } });
  await expect(tooLong).rejects.toMatchObject({ status: 400, errors: [{ path: 'minutes' }] });
});

test('what a service uses is told by its record and at /metrics, there by ids and without a name', async () => {
  const applicationId = await newApplication();
  const params = { applicationId };
  const { ports } = await api.call('getApplication', { params });
  await api.call('deployApplication', { params });
  const route = ports?.[0]?.id ?? '';
  let requests = 0;
  await expect
    .poll(
      async () => {
        for (const { id, service } of server.fake.instances)
          if (service === applicationId) server.fake.use(id, { cpuMillicores: 250, memoryMiB: 48 });
        requests += 10;
        const latency = [0, requests, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        server.fake.traffic.set(route, {
          id: route,
          requests,
          responses: [0, requests, 0, 0, 0],
          receivedBytes: 1,
          sentBytes: 2,
          latency,
        });
        const { results } = await api.call('getApplicationMetrics', { params });
        const last = results.at(-1);
        return last !== undefined && last.requests > 0 && last.cpu !== null && last.maximum_memory >= 48;
      },
      { timeout: 20_000 },
    )
    .toBe(true);
  const last = (await api.call('getApplicationMetrics', { params })).results.at(-1);
  expect(last).toMatchObject({ maximum_instances: 1, volumes: null, latency_ms: { p50: 7.5 } });
  expect(last?.latency_buckets.at(-1)).toEqual({ up_to_ms: null, count: 0 });
  expect(last?.responses['2xx']).toBe(last?.requests);
  const text = await (await fetch(`${server.baseUrl}/metrics`)).text();
  const labels = `organization_id="${organizationId}",project_id="[^"]+",environment_id="${environmentId}",service_id="${applicationId}"`;
  expect(text).toMatch(new RegExp(`^davit_service_instances{${labels}} 1$`, 'm'));
  expect(text).toMatch(new RegExp(`^davit_service_responses_total{${labels},status="2xx"} [1-9]`, 'm'));
  expect(text).toMatch(new RegExp(`^davit_service_latency_seconds_bucket{${labels},le="0.01"} [1-9]`, 'm'));
  expect(text).not.toContain('shop');
});
