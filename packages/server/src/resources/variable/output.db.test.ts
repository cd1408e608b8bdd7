import type { Client } from '@davit/client';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeTestVariables, newApplication, type TestVariables } from './testing.ts';

let server: RunningServer;
let fixture: TestVariables;
let api: Client;
let ofEnvironment: { readonly params: { readonly environmentId: string } };
let jobId: string;

beforeAll(async () => {
  server = await startRunningServer();
  fixture = await makeTestVariables(server);
  api = fixture.api;
  ofEnvironment = { params: { environmentId: fixture.environmentId } };
  const source = { docker: { git_repository: { url: 'https://git.example.org/shop/infra.git' } } };
  const body = { name: 'infra', healthchecks: {}, source, schedule: { on_start: {} } };
  jobId = (await api.call('createJob', { ...ofEnvironment, body })).id;
});

afterAll(() => server.close());

async function eventually<T>(look: () => Promise<T | undefined>): Promise<T> {
  const until = Date.now() + 15_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > until) throw new Error('waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Deploys the job, whose run writes these outputs. */
async function run(reported: object): Promise<void> {
  await api.call('deployJob', { params: { jobId } });
  const { id } = await eventually(async () => server.fake.instances.find(({ service }) => service === jobId));
  server.fake.write(id, '/davit-output/davit-output.json', JSON.stringify(reported));
  server.fake.kill(id, 0);
  await eventually(async () => {
    const { status_details } = await api.call('getJobStatus', { params: { jobId } });
    return status_details.status === 'SUCCESS' ? true : undefined;
  });
}

const keyOf = (name: string): string => `DAVIT_OUTPUT_JOB_Z${jobId.slice(0, 8).toUpperCase()}_${name}`;
const variables = async () => (await api.call('listEnvironmentEnvironmentVariable', ofEnvironment)).results;
const secrets = async () => (await api.call('listEnvironmentSecrets', ofEnvironment)).results;

test('what a job told is built in, with an alias for each that is of the environment', async () => {
  await api.call('createEnvironmentEnvironmentVariable', { ...ofEnvironment, body: { key: 'TAKEN', value: 'mine' } });
  await run({ HOST: { value: 'db', description: 'where' }, KEY: { value: 'sesame', sensitive: true }, TAKEN: { value: 'its' } });
  const found = await variables();
  const output = found.find(({ key }) => key === keyOf('HOST'));
  expect(output).toMatchObject({ scope: 'BUILT_IN', variable_type: 'BUILT_IN', value: 'db', description: 'where' });
  expect(found.find(({ key }) => key === 'HOST')).toMatchObject({
    scope: 'ENVIRONMENT',
    variable_type: 'ALIAS',
    value: 'db',
    aliased_variable: { key: keyOf('HOST') },
  });
  expect(found.find(({ key }) => key === 'TAKEN')).toMatchObject({ variable_type: 'VALUE', value: 'mine' });
  expect((await secrets()).map(({ key }) => key).toSorted()).toEqual([keyOf('KEY'), 'KEY'].toSorted());
  expect(JSON.stringify([found, await secrets()])).not.toContain('sesame');
  const ids = { environmentId: fixture.environmentId, environmentVariableId: output?.id ?? '' };
  const refusal = { code: 'VARIABLE_NOT_EDITABLE' };
  const body = { key: keyOf('HOST'), value: 'other' };
  await expect(api.call('editEnvironmentEnvironmentVariable', { params: ids, body })).rejects.toMatchObject(refusal);
  await expect(api.call('deleteEnvironmentEnvironmentVariable', { params: ids })).rejects.toMatchObject(refusal);
  // The job does not see its own output, so its own run does not make it out of date.
  expect((await api.call('getJobStatus', { params: { jobId } })).service_deployment_status).toBe('UP_TO_DATE');
});

test('the next run replaces it, ids of what stays included, and the job takes it away with it', async () => {
  const idOf = async (key: string) => (await variables()).find((one) => one.key === key)?.id;
  const before = await idOf(keyOf('HOST'));
  await run({ HOST: { value: 'db2' } });
  const found = await variables();
  expect(found.find(({ key }) => key === 'HOST')).toMatchObject({ value: 'db2' });
  expect(await idOf(keyOf('HOST'))).toBe(before);
  expect(await secrets()).toEqual([]);
  const application = await newApplication(api, fixture.environmentId);
  const seen = await api.call('listApplicationEnvironmentVariable', { params: { applicationId: application } });
  expect(seen.results.map(({ key }) => key)).toEqual(expect.arrayContaining([keyOf('HOST'), 'HOST']));
  await api.call('deleteJob', { params: { jobId } });
  await eventually(async () => ((await idOf('HOST')) === undefined ? true : undefined));
  expect(await idOf(keyOf('HOST'))).toBeUndefined();
});
