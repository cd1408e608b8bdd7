import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { makeTestEnvironment, startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

let server: RunningServer;
let api: Client;
let at: { params: { environmentId: string } };
let registry_id: string;

beforeAll(async () => {
  server = await startRunningServer();
  const { organizationId, environmentId, ...ids } = await makeTestEnvironment(server);
  api = ids.api;
  at = { params: { environmentId } };
  const body = { name: 'hub', kind: 'GENERIC_CR' as const, url: 'https://registry.example.org/team', config: {} };
  registry_id = (await api.call('createContainerRegistry', { params: { organizationId }, body })).id;
});
afterAll(() => server.close());

const newest = <Entry extends { status: string }>(state: string, read: () => Promise<{ results: Entry[] }>): Promise<Entry[]> =>
  vi.waitFor(async () => {
    const { results } = await read();
    expect(results[0]?.status).toBe(state);
    return results;
  }, 10_000);

test('the history of a container tells the image and command that ran, also of a stop', async () => {
  const image = { registry_id, image_name: 'cache', tag: '7', entrypoint: '/bin/cache --port "1 2"', arguments: ['a', ''] };
  const { id } = await api.call('createContainer', { ...at, body: { name: 'cache', ...image } });
  const params = { containerId: id };
  const read = () => api.call('listContainerDeploymentHistoryV2', { params });
  await api.call('deployContainer', { params });
  await newest('DEPLOYED', read);
  await api.call('editContainer', { params, body: { tag: '8' } });
  await api.call('stopContainer', { params });
  const results = await newest('STOPPED', read);
  const ran = {
    image_name: 'registry.example.org/team/cache',
    tag: '7',
    arguments: ['a', ''],
    entrypoint: "/bin/cache --port '1 2'",
  };
  expect(results.map(({ details }) => details)).toEqual([ran, ran]);
});

test('the history of a database tells its image', async () => {
  const body = { name: 'store', type: 'REDIS', version: '7', mode: 'CONTAINER', accessibility: 'PRIVATE' } as const;
  const { id } = await api.call('createDatabase', { ...at, body });
  const params = { databaseId: id };
  await api.call('deployDatabase', { params });
  const [entry] = await newest('DEPLOYED', () => api.call('listDatabaseDeploymentHistoryV2', { params }));
  expect(entry?.details).toMatchObject({
    image_name: expect.stringContaining('redis'),
    tag: expect.stringMatching(/^7/),
    arguments: expect.any(Array),
  });
});

test('the history of a job tells its type and schedule, and its image or commit', async () => {
  const healthchecks = {};
  const source = { image: { image_name: 'seed', tag: '1', registry_id } };
  const schedule = { cronjob: { scheduled_at: '0 4 * * *', timezone: 'Europe/Berlin', arguments: ['nightly'] } };
  const cron = await api.call('createJob', { ...at, body: { name: 'nightly', healthchecks, source, schedule } });
  const params = { jobId: cron.id };
  await api.call('deployJob', { params });
  const [entry] = await newest('DEPLOYED', () => api.call('listJobDeploymentHistoryV2', { params }));
  expect(entry?.details).toEqual({
    image_name: 'registry.example.org/team/seed',
    tag: '1',
    commit: null,
    job_type: 'CRON',
    schedule: { cron_job: { scheduled_at: '0 4 * * *', timezone: 'Europe/Berlin', arguments: ['nightly'] } },
    build_pod_name: '',
  });
  const docker = { git_repository: { url: 'https://git.example.org/shop/seed.git' }, dockerfile_path: 'Dockerfile' };
  const stopping = { on_stop: { entrypoint: '/bin/drain', arguments: [] } };
  const body = { name: randomUUID(), healthchecks, source: { docker }, schedule: stopping };
  const lifecycle = { jobId: (await api.call('createJob', { ...at, body })).id };
  await api.call('deployJob', { params: lifecycle });
  const [built] = await newest('DEPLOYED', () => api.call('listJobDeploymentHistoryV2', { params: lifecycle }));
  expect(built?.details).toMatchObject({
    commit: { git_commit_id: expect.stringMatching(/^[0-9a-f]{40}$/) },
    job_type: 'LIFECYCLE',
    schedule: { on_stop: { entrypoint: '/bin/drain', arguments: [] } },
    build_pod_name: '',
  });
});
