import { makeTestEnvironment, startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Scrape } from './testing.ts';

let server: RunningServer;
beforeAll(async () => {
  server = await startRunningServer({ DAVIT_METRICS_SECONDS: '1' });
});
afterAll(() => server.close());

/** Creates an organization whose environment has ten deployed services. */
async function deployTen(): Promise<void> {
  const { environmentId, api } = await makeTestEnvironment(server);
  const git_repository = { url: 'https://git.example.org/acme/shop.git', branch: 'main' };
  for (let count = 0; count < 10; count += 1) {
    const body = {
      name: `shop ${count}`,
      dockerfile_path: 'Dockerfile',
      git_repository,
      healthchecks: {},
      ports: [{ internal_port: 80, publicly_accessible: false }],
    };
    await api.call('createApplication', { params: { environmentId }, body });
  }
  await api.call('deployEnvironment', { params: { environmentId } });
  const state = async () => (await api.call('getEnvironmentStatus', { params: { environmentId } })).state;
  await expect.poll(state, { interval: 50 }).toBe('DEPLOYED');
}

const isOfServices = (series: string): boolean => series.startsWith('davit_service_');
// Series for heap spaces and kinds of handles appear and disappear with the activity of the process.
const isOfProcess = (series: string): boolean => /^(nodejs|process)_/.test(series);

async function platformSeries(): Promise<string[]> {
  const { series } = await Scrape.of(server.baseUrl);
  return [...series.keys()].filter((one) => !isOfServices(one) && !isOfProcess(one)).sort();
}

test('two hundred services of twenty organizations add no series to those of the platform', async () => {
  await deployTen();
  // Cached values of the database are refreshed a moment later.
  await expect.poll(platformSeries, { interval: 500 }).toContain('davit_deployments_running');
  const before = await platformSeries();
  for (let count = 0; count < 19; count += 1) await deployTen();
  const ofServices = async () =>
    new Set([...(await Scrape.of(server.baseUrl)).series.keys()].filter((one) => one.startsWith('davit_service_instances{')))
      .size;
  await expect.poll(ofServices).toBe(200);
  const after = await platformSeries();
  // Steps may be running in one scrape and not in the other, and requests may fail or not.
  const lasting = (list: readonly string[]): string[] =>
    list.filter((one) => !/^davit_step(s_running|_oldest_running)/.test(one));
  expect(lasting(after)).toEqual(lasting(before));
  expect(after.filter((one) => !one.startsWith('davit_request_duration_seconds')).length).toBeLessThan(400);
}, 60_000);
