import { setTimeout } from 'node:timers/promises';
import type { Client } from '@davit/client';
import { createFakeCluster, DriverError, type FakeCluster } from '@davit/drivers';
import { createEngine, type Engine } from '@davit/engine';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';

let server: TestServer;
let client: Client;
let engine: Engine | undefined;
let fake: FakeCluster;
let environmentId: string;
let registryId: string;
let projectId: string;

beforeAll(async () => {
  fake = createFakeCluster();
  server = await startTestServer({
    engine: (parts) => (engine = createEngine({ ...parts, drivers: { docker: fake } })),
  });
  client = server.client();
  const params = { organizationId: (await server.organization()).id };
  const registry = { name: 'images', kind: 'GENERIC_CR', url: 'https://registry.example.org', config: {} } as const;
  registryId = (await client.call('createContainerRegistry', { params, body: registry })).id;
  projectId = (await client.call('createProject', { params, body: { name: 'shop' } })).id;
  environmentId = await environment('live');
});
afterAll(async () => {
  await engine?.stop();
  await server.close();
});

async function environment(name: string): Promise<string> {
  return (await client.call('createEnvironment', { params: { projectId }, body: { name } })).id;
}

async function job(name: string, at = environmentId): Promise<string> {
  const source = { image: { image_name: 'team/migrate', tag: '1', registry_id: registryId } };
  const body = { name, healthchecks: {}, source, schedule: { on_start: {} } };
  return (await client.call('createJob', { params: { environmentId: at }, body })).id;
}

async function eventually<Thing>(look: () => Thing | undefined | Promise<Thing | undefined>): Promise<Thing> {
  const until = Date.now() + 20_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > until) throw new Error('waited in vain');
    await setTimeout(20);
  }
}

test('failed runs are cleaned by job, by environment or all at once, and asked for again there is nothing', async () => {
  await engine?.start();
  const ids = [await job('first'), await job('second'), await job('third')];
  const [first = '', second = '', third = ''] = ids;
  fake.script = {
    before: ({ method }) => {
      if (method === 'retire') throw new DriverError({ cause: 'ENGINE_FAILED', message: 'not now' });
    },
  };
  for (const jobId of ids) {
    await client.call('deployJob', { params: { jobId } });
    const run = await eventually(() => fake.instances.find(({ service, state }) => service === jobId && state === 'RUNNING'));
    fake.kill(run.id, 1);
    await eventually(async () => {
      const { state } = await client.call('getJobStatus', { params: { jobId } });
      return state === 'DEPLOYMENT_ERROR' ? true : undefined;
    });
  }
  await engine?.stop();
  fake.script = {};
  const nameOf = (id: string) => fake.instances.filter(({ service }) => service === id).map(({ name }) => name);
  const names = ids.map(nameOf);
  expect(names.map(({ length }) => length)).toEqual([1, 1, 1]);
  expect(await client.call('cleanFailedJob', { params: { jobId: first } })).toEqual({ clean_kubernetes_jobs: names[0] });
  const params = { environmentId };
  const one = await client.call('cleanFailedJobs', { params, body: { job_ids: [second.toUpperCase(), first] } });
  expect(one).toEqual({ clean_job_ids: [second], clean_kubernetes_jobs: names[1] });
  expect(await client.call('cleanFailedJobs', { params })).toEqual({ clean_job_ids: [third], clean_kubernetes_jobs: names[2] });
  expect(await client.call('cleanFailedJobs', { params })).toEqual({ clean_job_ids: [], clean_kubernetes_jobs: [] });
  expect((await client.call('getJobStatus', { params: { jobId: first } })).state).toBe('DEPLOYMENT_ERROR');
});

test('a job of another environment, and a service that is no job, are refused by their place', async () => {
  const other = await job('elsewhere', await environment('other'));
  const own = await job('own');
  const git_repository = { url: 'https://git.example.org/shop/web.git' };
  const params = { environmentId };
  const web = await client.call('createApplication', {
    params,
    body: { name: 'web', dockerfile_path: 'Dockerfile', git_repository },
  });
  for (const id of [other, web.id]) {
    await expect(client.call('cleanFailedJobs', { params, body: { job_ids: [own, id] } })).rejects.toMatchObject({
      status: 400,
      code: 'INVALID_REFERENCE',
      errors: [{ path: 'job_ids.1' }],
    });
  }
});
