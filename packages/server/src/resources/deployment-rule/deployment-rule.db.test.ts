import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { failingDatabase } from '@davit/testkit/failing-database';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import type { TestOrganization } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { followRules } from '../../background/rules.ts';
import { runDueRules } from './due.ts';
import { lockDueRule } from './store.ts';

let server: RunningServer;
let owner: TestOrganization;
let api: Client;
let projectId: string;
let clusterId: string;

beforeAll(async () => {
  server = await startRunningServer();
  owner = await server.organization();
  api = server.client(owner.tokens.WRITE);
  const organization = { params: { organizationId: owner.id } };
  projectId = (await api.call('createProject', { ...organization, body: { name: 'shop' } })).id;
  clusterId = (await api.call('listOrganizationCluster', organization)).results[0]?.id ?? '';
});
afterAll(() => server.close());

const week = ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY', 'SUNDAY'] as const;
const day = {
  timezone: 'Europe/Paris',
  start_time: '1970-01-01T08:00:00Z',
  stop_time: '1970-01-01T18:00:00Z',
  weekdays: [...week],
};

type At = { readonly params: { readonly environmentId: string } };

async function newEnvironment(name = `e ${randomUUID()}`): Promise<At> {
  const { id } = await api.call('createEnvironment', { params: { projectId }, body: { name } });
  return { params: { environmentId: id } };
}

async function newApplication(at: At, name: string): Promise<string> {
  const body = {
    name,
    dockerfile_path: 'Dockerfile',
    git_repository: { url: 'https://git.example.org/acme/shop.git', branch: 'main' },
  };
  return (await api.call('createApplication', { ...at, body })).id;
}

function setRule({ params }: At, body: object) {
  const { environmentId } = params;
  return api.call('editEnvironmentDeploymentRule', {
    params: { environmentId, deploymentRuleId: environmentId },
    body: { ...day, ...body },
  });
}

async function eventually(condition: () => Promise<boolean>): Promise<void> {
  const until = Date.now() + 15_000;
  while (!(await condition())) {
    if (Date.now() > until) throw new Error('waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function settled(at: At): Promise<Awaited<ReturnType<typeof history>>> {
  const until = Date.now() + 15_000;
  for (;;) {
    const queue = await api.call('listDeploymentRequestByEnvironmentId', at);
    const done = await history(at);
    if (queue.results.length === 0 && done[0]?.action_status !== 'ONGOING') return done;
    if (Date.now() > until) throw new Error('waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function history(at: At) {
  return (await api.call('listEnvironmentDeploymentHistoryV2', at)).results;
}

/** Returns the moment in this many days, at that time of day in UTC. */
function moment(days: number, time: string): Date {
  const date = new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  return new Date(`${date}T${time}Z`);
}

/** Runs due rules in several processes at the same moment. */
async function look(now: Date): Promise<void> {
  const looks = await Promise.all(Array.from({ length: 4 }, () => runDueRules(server.api.deps, now)));
  expect(looks.flat()).toEqual([]);
}

test('an environment has a rule that starts and stops nothing until it is edited', async () => {
  const at = await newEnvironment();
  const fresh = await api.call('getEnvironmentDeploymentRule', at);
  expect(fresh).toMatchObject({ auto_stop: false, auto_preview: false, on_demand_preview: false, timezone: 'UTC' });
  const edited = await setRule(at, {
    auto_preview: true,
    start_time: '2026-01-01T09:30:12+05:30',
    weekdays: ['MONDAY', 'MONDAY'],
  });
  expect(edited).toMatchObject({
    id: fresh.id,
    auto_preview: true,
    auto_stop: false,
    timezone: 'Europe/Paris',
    start_time: '2026-01-01T09:30:00.000Z',
    weekdays: ['MONDAY'],
  });
  expect(await api.call('getEnvironmentDeploymentRule', at)).toEqual(edited);
  expect(await api.call('getEnvironment', at)).toMatchObject({ auto_preview: true });
  expect(await setRule(at, { auto_stop: true })).toMatchObject({ auto_stop: true, auto_preview: true });
  expect(await setRule(at, {})).toMatchObject({ auto_stop: true });
});

test('a rule that cannot be followed is refused, with the field that is wrong', async () => {
  const at = await newEnvironment();
  for (const [body, path] of [
    [{ timezone: 'Europe/Atlantis' }, 'timezone'],
    [{ weekdays: ['SOMEDAY'] }, 'weekdays.0'],
    [{ start_time: '08:00' }, 'start_time'],
    [{ auto_stop: true, weekdays: [] }, 'weekdays'],
    [{ auto_stop: true, stop_time: '2026-01-01T08:00:59Z' }, 'stop_time'],
  ] as const) {
    await expect(setRule(at, body)).rejects.toMatchObject({ status: 400, errors: [{ path }] });
  }
  const wrongId = { params: { ...at.params, deploymentRuleId: randomUUID() }, body: day };
  await expect(api.call('editEnvironmentDeploymentRule', wrongId)).rejects.toMatchObject({ status: 404 });
});

test('an environment is stopped and started at its times, once each, however many processes look', async () => {
  const at = await newEnvironment();
  const [web, other] = [await newApplication(at, 'web'), await newApplication(at, 'never deployed')];
  await api.call('deployApplication', { params: { applicationId: web } });
  await settled(at);
  const commit = (await api.call('getApplication', { params: { applicationId: web } })).git_repository?.deployed_commit_id;
  await setRule(at, { auto_stop: true, timezone: 'UTC' });

  await look(new Date());
  expect(await settled(at)).toHaveLength(1);
  await look(moment(7, '19:00:00'));
  expect((await settled(at)).map(({ trigger_action }) => trigger_action)).toEqual(['STOP', 'DEPLOY']);
  expect((await history(at))[0]).toMatchObject({
    action_status: 'SUCCESS',
    auditing_data: { origin: 'SERVICE_INTERNAL', triggered_by: 'deployment rule' },
  });
  await look(moment(8, '07:59:59'));
  expect(await settled(at)).toHaveLength(2);
  await look(moment(8, '08:00:00'));
  const started = await settled(at);
  expect(started.map(({ trigger_action }) => trigger_action)).toEqual(['DEPLOY', 'STOP', 'DEPLOY']);
  expect(started[0]?.stages.flatMap(({ services }) => services.map(({ identifier }) => identifier.service_id))).toEqual([web]);
  const again = await api.call('getApplication', { params: { applicationId: web } });
  expect(again.git_repository?.deployed_commit_id).toBe(commit);
  const status = await api.call('getApplicationStatus', { params: { applicationId: other } });
  expect(status.state).toBe('READY');

  // No process ran for days. Only the action for the present state is performed.
  await look(moment(12, '12:00:00'));
  expect(await settled(at)).toHaveLength(3);
  await look(moment(14, '23:00:00'));
  expect((await settled(at)).map(({ trigger_action }) => trigger_action)).toEqual(['STOP', 'DEPLOY', 'STOP', 'DEPLOY']);
  await setRule(at, { auto_stop: false });
  await look(moment(30, '12:00:00'));
  expect(await settled(at)).toHaveLength(4);
});

test('a server follows the rules by itself, goes on after a failure, and stops when it is told', async () => {
  const at = await newEnvironment();
  const web = await newApplication(at, 'web');
  await api.call('deployApplication', { params: { applicationId: web } });
  await settled(at);
  await setRule(at, { auto_stop: true, timezone: 'UTC' });
  await look(new Date());
  const warnings: string[] = [];
  let times = 0;
  const clock = {
    now: () => {
      times += 1;
      if (times === 1) throw new Error('no time');
      return moment(21, '20:00:00');
    },
  };
  const following = followRules(
    server.api.deps,
    { warn: (_details, message) => warnings.push(message) },
    { clock, intervalMilliseconds: 5 },
  );
  try {
    await eventually(async () => (await history(at))[0]?.trigger_action === 'STOP');
  } finally {
    await following.stop();
  }
  expect(warnings).toEqual(['deployment rules could not be read']);
  expect((await settled(at)).map(({ trigger_action }) => trigger_action)).toEqual(['STOP', 'DEPLOY']);
});

test('what the database was away for stays due, and the other environments have their turn', async () => {
  const stopped = await Promise.all(
    ['first', 'second'].map(async (name) => {
      const at = await newEnvironment();
      await api.call('deployApplication', { params: { applicationId: await newApplication(at, name) } });
      await settled(at);
      await setRule(at, { auto_stop: true, timezone: 'UTC' });
      return at;
    }),
  );
  await look(new Date());
  const { deps } = server.api;
  let failures = 1;
  const database = failingDatabase(deps.database, (requested) => requested === lockDueRule && (failures -= 1) >= 0);
  const now = moment(28, '19:00:00');
  expect(await runDueRules({ ...deps, database }, now)).toMatchObject([{ error: { code: 'DATABASE_UNAVAILABLE' } }]);
  const actions = () => Promise.all(stopped.map(async (at) => (await settled(at))[0]?.trigger_action));
  expect((await actions()).filter((action) => action === 'STOP')).toHaveLength(1);
  await look(now);
  expect(await actions()).toEqual(['STOP', 'STOP']);
});

const rule = (body: object) => ({
  params: { projectId },
  body: { name: 'nights', mode: 'DEVELOPMENT' as const, cluster_id: clusterId, ...day, ...body },
});

test('project rules are kept in order, and the first that fits is what a new environment gets', async () => {
  const previews = await api.call('createDeploymentRule', rule({ name: 'previews', wildcard: 'PR-*', auto_stop: true }));
  const all = await api.call('createDeploymentRule', rule({ name: 'all', timezone: 'UTC', description: 'the rest' }));
  expect([previews.priority_index, all.priority_index]).toEqual([0, 1]);
  expect(all).toMatchObject({ wildcard: '', auto_stop: false, description: 'the rest' });
  const list = async () => (await api.call('listProjectDeploymentRules', { params: { projectId } })).results;
  expect((await list()).map(({ name }) => name)).toEqual(['previews', 'all']);

  const ruleOf = async (at: At) => api.call('getEnvironmentDeploymentRule', at);
  expect(await ruleOf(await newEnvironment('pr-17'))).toMatchObject({ auto_stop: true, timezone: 'Europe/Paris' });
  expect(await ruleOf(await newEnvironment('xpr-17'))).toMatchObject({ timezone: 'UTC', weekdays: [...week] });

  const order = (ids: readonly string[]) =>
    api.call('updateDeploymentRulesPriorityOrder', {
      params: { projectId },
      body: { project_deployment_rule_ids_in_order: [...ids] },
    });
  await order([all.id, previews.id.toUpperCase()]);
  expect((await list()).map(({ name }) => name)).toEqual(['all', 'previews']);
  expect(await ruleOf(await newEnvironment('pr-18'))).toMatchObject({ auto_stop: false, timezone: 'UTC' });
  const path = 'project_deployment_rule_ids_in_order';
  await expect(order([all.id])).rejects.toMatchObject({ status: 400, errors: [{ path }] });
  await expect(order([all.id, all.id])).rejects.toMatchObject({ status: 400, errors: [{ path: `${path}.1` }] });
  await expect(order([randomUUID()])).rejects.toMatchObject({ code: 'INVALID_REFERENCE', errors: [{ path: `${path}.0` }] });

  const at = { params: { projectId, deploymentRuleId: all.id } };
  const edited = await api.call('editProjectDeployemtnRule', { ...at, body: rule({ name: 'ALL', wildcard: 'x_*' }).body });
  expect(edited).toMatchObject({ id: all.id, name: 'ALL', description: 'the rest', wildcard: 'x_*' });
  expect(await api.call('getProjectDeploymentRule', at)).toEqual(edited);
  // An underscore is not a wildcard.
  expect(await ruleOf(await newEnvironment('xy-1'))).toMatchObject({ auto_stop: false, timezone: 'UTC' });
  await api.call('deleteProjectDeploymentRule', at);
  await expect(api.call('getProjectDeploymentRule', at)).rejects.toMatchObject({ status: 404 });
  await expect(api.call('deleteProjectDeploymentRule', at)).rejects.toMatchObject({ status: 404 });
});

test('a project rule with a taken name, a foreign cluster or no sense is refused', async () => {
  const { params } = rule({});
  await api.call('createDeploymentRule', rule({ name: 'taken' }));
  await expect(api.call('createDeploymentRule', rule({ name: 'TAKEN' }))).rejects.toMatchObject({ code: 'NAME_TAKEN' });
  const stranger = await server.organization();
  const theirs = await server
    .client(stranger.tokens.READ)
    .call('listOrganizationCluster', { params: { organizationId: stranger.id } });
  for (const cluster_id of [randomUUID(), theirs.results[0]?.id]) {
    const refused = api.call('createDeploymentRule', rule({ name: 'other', cluster_id }));
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_REFERENCE', errors: [{ path: 'cluster_id' }] });
  }
  const foreign = server.client(stranger.tokens.WRITE).call('listProjectDeploymentRules', { params });
  await expect(foreign).rejects.toMatchObject({ status: 404 });
});
