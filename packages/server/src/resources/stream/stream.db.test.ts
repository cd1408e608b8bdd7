import type { Client, Received } from '@davit/client';
import { statement } from '@davit/db';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import type { TestOrganization } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseSnapshot } from './position.ts';
import { StreamReader } from './reader.ts';
import { TestSubscriber, has, namesOf, write } from './testing.ts';

let server: RunningServer;
let owner: TestOrganization;
let api: Client;

beforeAll(async () => {
  server = await startRunningServer({ DAVIT_STREAM_HEARTBEAT_SECONDS: '1' });
  owner = await server.organization();
  api = server.client(owner.tokens.WRITE);
});
afterAll(() => server.close());

async function makeApplication(project: string): Promise<{ environmentId: string; applicationId: string; projectId: string }> {
  const params = { organizationId: owner.id };
  const { id: projectId } = await api.call('createProject', { params, body: { name: project } });
  const environment = await api.call('createEnvironment', { params: { projectId }, body: { name: 'live' } });
  const body = { name: 'web', dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/shop/web.git' } };
  const application = await api.call('createApplication', { params: { environmentId: environment.id }, body });
  return { projectId, environmentId: environment.id, applicationId: application.id };
}

test('a deployment is told from the queue to its end, in order', async () => {
  const { environmentId, applicationId } = await makeApplication('told');
  const params = { organizationId: owner.id };
  const ear = new TestSubscriber((signal) => api.stream('streamOrganization', { params, query: { environmentId }, signal }));
  await ear.until(has('OPEN'));
  await api.call('deployApplication', { params: { applicationId } });
  await ear.until(has('DEPLOYMENT', { status: 'SUCCEEDED' }));
  await ear.until(has('ENVIRONMENT_STATE', { state: 'DEPLOYED' }));
  await ear.close();
  const words = ear.received.map(({ event, data }) => (event === 'SERVICE_STATE' ? data.state : event));
  expect(words.filter((word) => /^(DEPLOY|BUILD|WAITING)/.test(word) && word !== 'DEPLOYMENT')).toEqual([
    'DEPLOYMENT_QUEUED',
    'WAITING_RUNNING',
    'BUILDING',
    'DEPLOYING',
    'DEPLOYED',
  ]);
  expect(ear.received.flatMap(({ event, data }) => (event === 'QUEUE' ? [data.change] : []))).toEqual(['QUEUED', 'STARTED']);
  expect(ear.received.flatMap(({ event, data }) => (event === 'DEPLOYMENT' ? [data.state] : []))).toEqual([
    'DEPLOYING',
    'DEPLOYED',
  ]);
  expect(ear.received.some(({ event }) => event === 'STEP')).toBe(true);
  expect(ear.received.some(({ event }) => event.endsWith('_LOG'))).toBe(false);
});

test('the stream of a deployment tells its log from the first line, and ends with it; also when it has ended before', async () => {
  const { applicationId } = await makeApplication('followed');
  const { deployment_request_id: id } = await api.call('deployApplication', { params: { applicationId } });
  const params = { deploymentRequestId: id ?? '' };
  const live = new TestSubscriber((signal) => api.stream('streamDeployment', { params, signal }));
  await live.ended;
  expect(live.received.at(-1)).toMatchObject({ event: 'END', data: { code: 'DONE', resume: false } });
  expect(live.received.slice(0, 2).map(({ event }) => event)).toEqual(['OPEN', 'DEPLOYMENT']);
  const messages = (received: readonly Received[]): string[] =>
    received.flatMap(({ event, data }) => (event === 'DEPLOYMENT_LOG' ? [`${data.step} ${data.message}`] : []));
  const { environmentId } = await environmentOf(applicationId);
  const log = await api.call('listEnvironmentLogs', { params: { environmentId } });
  expect(log.length).toBeGreaterThan(3);
  expect(messages(live.received).map((text) => text.replace(/^\S+ /, ''))).toEqual(
    log.map(({ message }) => message?.safe_message),
  );
  const late = new TestSubscriber((signal) => api.stream('streamDeployment', { params, signal }));
  await late.ended;
  expect(messages(late.received)).toEqual(messages(live.received));
  expect(has('DEPLOYMENT', { state: 'DEPLOYED' })(late.received)).toBe(true);
  expect(has('SERVICE_STATE', { state: 'DEPLOYED' })(late.received)).toBe(true);
  expect(has('STEP', { step_name: 'BUILD', status: 'DONE', service_id: applicationId })(late.received)).toBe(true);
  // Resumes within the old lines, and within the live lines.
  for (const received of [late.received, live.received]) {
    const lines = received.filter(({ event }) => event === 'DEPLOYMENT_LOG');
    const third = lines[2]?.id ?? '';
    const again = new TestSubscriber((signal) => api.stream('streamDeployment', { params, signal, lastEventId: third }));
    await again.ended;
    expect(messages(again.received)).toEqual(messages(received).slice(3));
  }
});

async function environmentOf(applicationId: string): Promise<{ environmentId: string }> {
  const { environment } = await api.call('getApplication', { params: { applicationId } });
  return { environmentId: environment.id };
}

test('what a service prints is told: the newest lines of before, then each as it comes', async () => {
  const { applicationId } = await makeApplication('printing');
  await api.call('deployApplication', { params: { applicationId } });
  const instance = await until(() =>
    server.fake.instances.find(({ service, state }) => service === applicationId && state === 'RUNNING'),
  );
  for (let line = 1; line <= 5; line += 1) server.fake.print(instance.id, `old ${line}`);
  await until(async () => {
    const { results } = await api.call('listApplicationLog', { params: { applicationId } });
    return results.length >= 5 ? results : undefined;
  });
  const params = { serviceId: applicationId };
  const ear = new TestSubscriber((signal) => api.stream('streamServiceLog', { params, query: { tail: 3 }, signal }));
  await ear.until((received) => linesOf(received).length >= 3);
  expect(linesOf(ear.received)).toEqual(['old 3', 'old 4', 'old 5']);
  for (let line = 1; line <= 300; line += 1) server.fake.print(instance.id, `new ${line}`);
  await ear.until((received) => linesOf(received).length >= 303);
  const all = ['old 3', 'old 4', 'old 5', ...Array.from({ length: 300 }, (_, index) => `new ${index + 1}`)];
  expect(linesOf(ear.received)).toEqual(all);
  await ear.close();
  const middle = ear.received.find(({ event, data }) => event === 'SERVICE_LOG' && data.message === 'new 17');
  const again = new TestSubscriber((signal) => api.stream('streamServiceLog', { params, signal, lastEventId: middle?.id ?? '' }));
  await again.until((received) => linesOf(received).length >= 283);
  expect(linesOf(again.received)).toEqual(all.slice(all.indexOf('new 17') + 1));
  await again.close();
  const none = new TestSubscriber((signal) => api.stream('streamServiceLog', { params, query: { tail: 0 }, signal }));
  await none.until(has('OPEN'));
  server.fake.print(instance.id, 'last');
  await none.until((received) => linesOf(received).length > 0);
  expect(linesOf(none.received)).toEqual(['last']);
  await none.close();
});

function linesOf(received: readonly Received[]): string[] {
  return received.flatMap(({ event, data }) => (event === 'SERVICE_LOG' ? [data.message] : []));
}

async function until<Thing>(look: () => Thing | undefined | Promise<Thing | undefined>): Promise<Thing> {
  const end = Date.now() + 15_000;
  for (;;) {
    const thing = await look();
    if (thing !== undefined) return thing;
    if (Date.now() > end) throw new Error('waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('only what the query names is told', async () => {
  const one = await makeApplication('named');
  const other = await makeApplication('unnamed');
  const { database } = server.database;
  const organizationId = owner.id;
  const params = { organizationId };
  const ears = [
    { query: { environmentId: `${one.environmentId},${other.environmentId}` }, told: ['one', 'other'] },
    { query: { environmentId: one.environmentId.toUpperCase() }, told: ['one'] },
    { query: { projectId: one.projectId }, told: ['one'] },
    { query: { kinds: 'STEP,QUEUE', projectId: other.projectId }, told: ['other'] },
    { query: { kinds: 'STEP' }, told: [] },
    { query: { serviceId: one.applicationId }, told: [] },
  ].map(({ query, told: reported }) => ({
    told: reported,
    ear: new TestSubscriber((signal) => api.stream('streamOrganization', { params, query, signal })),
  }));
  for (const { ear } of ears) await ear.until(has('OPEN'));
  await write(database, { organizationId, projectId: one.projectId, environmentId: one.environmentId }, 'one');
  await write(database, { organizationId, projectId: other.projectId, environmentId: other.environmentId }, 'other');
  const [all] = ears;
  await all?.ear.until((received) => namesOf(received).length >= 2);
  for (const { ear, told: reported } of ears) {
    await ear.until((received) => namesOf(received).length >= reported.length);
    expect(namesOf(ear.received)).toEqual(reported);
    await ear.close();
  }
  for (const query of ['kinds=STEPS', 'environmentId=x', 'projectId=x', `serviceId=${one.projectId},`]) {
    const headers = { authorization: `Token ${owner.tokens.READ}` };
    const response = await fetch(`${server.baseUrl}/organization/${organizationId}/stream?${query}`, { headers });
    expect(await response.json()).toMatchObject({ status: 400, errors: [{ path: query.split('=')[0] }] });
  }
});

const snapshotNow = statement<{ snapshot: string }>('test_snapshot_now', 'select pg_current_snapshot()::text as snapshot');
const lineRepeat = statement<{ id: number }>(
  'test_line_repeat',
  `insert into deployment_log (deployment_id, service_id, step, level, message, error, at)
   select deployment_id, service_id, step, level, message, error, at from deployment_log where deployment_id = $1 limit 1
   returning id`,
);

test('a line that is written while the old ones are read comes as an event, and not twice', async () => {
  const { environmentId, projectId, applicationId } = await makeApplication('read');
  const { deployment_request_id: id } = await api.call('deployApplication', { params: { applicationId } });
  const deploymentId = id ?? '';
  const ear = new TestSubscriber((signal) =>
    api.stream('streamDeployment', { params: { deploymentRequestId: deploymentId }, signal }),
  );
  await ear.ended;
  const { database, engine } = server.api.deps;
  const seen = parseSnapshot((await database.one(snapshotNow)).snapshot);
  let written = 0;
  const reader = new StreamReader({
    database,
    engine: {
      ...engine,
      deploymentLines: async (...requested) => {
        written = (await database.one(lineRepeat, [deploymentId])).id;
        return engine.deploymentLines(...requested);
      },
    },
  });
  const ids = { projectId, environmentId, deploymentId, executionId: null, serviceId: null };
  const { lines } = await reader.oldLines('DEPLOYMENT_LOG', ids, { seen, line: 0 });
  expect(written).toBeGreaterThan(0);
  expect(lines.map(({ number }) => number)).not.toContain(written);
  expect(lines).toHaveLength(ear.received.filter(({ event }) => event === 'DEPLOYMENT_LOG').length);
});
