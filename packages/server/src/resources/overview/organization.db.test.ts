import type { Client } from '@davit/client';
import { DriverError } from '@davit/drivers';
import { makeTestEnvironment, startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

let server: RunningServer;
let api: Client;
let organizationId: string;
let environmentId: string;

beforeAll(async () => {
  server = await startRunningServer();
  ({ api, organizationId, environmentId } = await makeTestEnvironment(server));
});
afterAll(() => server.close());

async function newApplication(name: string): Promise<string> {
  const git_repository = { url: 'https://git.example.org/acme/shop.git', branch: 'main' };
  const ports = [{ internal_port: 80, publicly_accessible: true }];
  const body = { name, dockerfile_path: 'Dockerfile', git_repository, ports };
  return (await api.call('createApplication', { params: { environmentId }, body })).id;
}

const overview = async () => {
  const { results } = await api.call('getOrganizationOverview', { params: { organizationId } });
  const [environment] = results;
  if (environment === undefined) throw new Error('the overview has no environment');
  return environment;
};
const until = (state: string, last: string) =>
  vi.waitFor(async () => {
    const environment = await overview();
    expect([environment.state, environment.last_deployment?.state]).toEqual([state, last]);
    expect(environment.last_deployment?.running).toBe(false);
    return environment;
  }, 20_000);

test('the overview agrees with the statuses: what runs, what is out of date, what fails and why', async () => {
  const [web, broken] = [await newApplication('web'), await newApplication('broken')];
  await api.call('deployEnvironment', { params: { environmentId } });
  const fine = await until('DEPLOYED', 'DEPLOYED');
  expect(fine).toMatchObject({ deployment_status: 'UP_TO_DATE', last_deployment: { triggered_by: expect.any(String) } });
  const { results: links } = await api.call('listApplicationLinks', { params: { applicationId: web } });
  expect(fine.services[0]).toMatchObject({ id: web, addresses: links.map(({ url }) => url), problems: [] });

  // Edits of one service change the whole environment's word, at once.
  await api.call('editApplication', { params: { applicationId: web }, body: { memory: 256 } });
  const edited = await overview();
  expect(edited.deployment_status).toBe('OUT_OF_DATE');
  expect(edited.services.map(({ deployment_status }) => deployment_status)).toEqual(['OUT_OF_DATE', 'UP_TO_DATE']);

  server.fake.script = {
    before: ({ method, service }) => {
      if (method === 'start' && service === broken) throw new DriverError({ cause: 'IMAGE_NOT_FOUND', message: 'there is none' });
    },
  };
  await api.call('editApplication', { params: { applicationId: broken }, body: { memory: 256 } });
  await api.call('deployEnvironment', { params: { environmentId } });
  const failed = await until('DEPLOYMENT_ERROR', 'DEPLOYMENT_ERROR');
  server.fake.script = {};
  const status = await api.call('getEnvironmentStatuses', { params: { environmentId } });
  expect(failed.deployment_status).toBe(status.environment.deployment_status);
  for (const one of failed.services) {
    const same = status.applications.find(({ id }) => id === one.id);
    expect(one).toMatchObject({
      state: same?.state,
      deployment_status: same?.service_deployment_status,
      running_status: same?.running_status ?? null,
      last_deployment_at: same?.last_deployment_date,
    });
  }
  expect(failed.services[1]?.problems).toMatchObject([
    { severity: 'ERROR', code: 'IMAGE_NOT_FOUND', message: expect.stringContaining('there is none'), since: expect.any(String) },
  ]);

  await api.call('stopEnvironment', { params: { environmentId } });
  await until('STOPPED', 'STOPPED');
});
