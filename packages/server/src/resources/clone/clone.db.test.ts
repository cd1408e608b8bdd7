import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { statement } from '@davit/db';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import type { TestOrganization } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';

let server: RunningServer;
let owner: TestOrganization;
let api: Client;
let projectId: string;

beforeAll(async () => {
  server = await startRunningServer();
  owner = await server.organization();
  api = server.client(owner.tokens.WRITE);
  projectId = (await api.call('createProject', { params: { organizationId: owner.id }, body: { name: 'shop' } })).id;
});
afterAll(() => server.close());

type At = { readonly params: { readonly environmentId: string } };
const at = (environmentId: string): At => ({ params: { environmentId } });
const application = (applicationId: string) => ({ params: { applicationId } });

async function newEnvironment(name = `e ${randomUUID()}`): Promise<At> {
  return at((await api.call('createEnvironment', { params: { projectId }, body: { name, mode: 'STAGING' } })).id);
}

function clone(from: At, body: object = {}) {
  return api.call('cloneEnvironment', { ...from, body: { name: `copy ${randomUUID()}`, ...body } });
}

const git_repository = { url: 'https://git.example.org/acme/shop.git', branch: 'main' };

async function servicesOf(environment: At) {
  return (await api.call('listApplication', environment)).results;
}

async function deployedEnvironment(applicationId: string): Promise<Record<string, string>> {
  await api.call('deployApplication', application(applicationId));
  const until = Date.now() + 15_000;
  for (;;) {
    const { state } = await api.call('getApplicationStatus', application(applicationId));
    if (state === 'DEPLOYED') break;
    if (Date.now() > until) throw new Error(`the state stays ${state}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const instance = server.fake.instances.filter(({ service }) => service === applicationId).at(-1);
  const workload = instance === undefined ? undefined : server.fake.workloads.get(instance.id);
  return Object.fromEntries((workload?.environment ?? []).map(({ name, value }) => [name, value.reveal()]));
}

test('a copy has the stages, services, variables and secrets, runs nothing, and is on its own', async () => {
  const from = await newEnvironment();
  const early = await api.call('createEnvironmentDeploymentStage', { ...from, body: { name: 'early', description: 'first' } });
  const before = (await api.call('listEnvironmentDeploymentStage', from)).results[0]?.id ?? '';
  await api.call('moveBeforeDeploymentStage', { params: { deploymentStageId: early.id, stageId: before } });
  const web = await api.call('createApplication', {
    ...from,
    body: {
      name: 'web',
      dockerfile_path: 'Dockerfile',
      git_repository,
      memory: 300,
      ports: [{ internal_port: 80, publicly_accessible: true }],
      storage: [{ type: 'FAST_SSD', size: 1, mount_point: '/data' }],
    },
  });
  const worker = await api.call('createApplication', {
    ...from,
    body: { name: 'worker', dockerfile_path: 'Dockerfile', git_repository },
  });
  const short = web.id.slice(0, 8);
  const attach = { params: { deploymentStageId: early.id, serviceId: worker.id }, body: { is_skipped: true } };
  await api.call('attachServiceToDeploymentStage', attach);
  const secret = await api.call('createApplicationSecret', {
    ...application(web.id),
    body: { key: 'TOKEN', value: 'open sesame' },
  });
  await api.call('createApplicationSecretAlias', {
    params: { applicationId: web.id, secretId: secret.id },
    body: { key: 'PASS' },
  });
  const variable = await api.call('createApplicationEnvironmentVariable', {
    ...application(web.id),
    body: { key: 'SELF', value: `http://app-z${short}/{{DAVIT_APPLICATION_Z${short.toUpperCase()}_NAME}}` },
  });
  const aliased = { params: { applicationId: web.id, environmentVariableId: variable.id }, body: { key: 'ME' } };
  await api.call('createApplicationEnvironmentVariableAlias', aliased);
  const deployed = await deployedEnvironment(web.id);

  const copy = await clone(from, { name: 'the copy' });
  expect(copy).toMatchObject({ name: 'the copy', mode: 'STAGING', project: { id: projectId }, organization: { id: owner.id } });
  const to = at(copy.id);
  const stages = (await api.call('listEnvironmentDeploymentStage', to)).results;
  expect(stages.map(({ name, deployment_order }) => [name, deployment_order])).toEqual([
    ['early', 0],
    ['DATABASE DEFAULT', 1],
    ['JOB DEFAULT', 2],
    ['CONTAINER DEFAULT', 3],
    ['APPLICATION DEFAULT', 4],
  ]);
  const [newWeb, newWorker] = await servicesOf(to);
  expect(stages[0]).toMatchObject({ description: 'first', services: [{ service_id: newWorker?.id, is_skipped: true }] });
  expect(newWeb).toMatchObject({ name: 'web', memory: 300, git_repository: { url: git_repository.url } });
  expect(newWeb?.git_repository?.deployed_commit_id).toBeUndefined();
  const idsOf = (one: typeof newWeb) => [one?.id, one?.ports?.[0]?.id, one?.storage[0]?.id];
  expect(new Set([...idsOf(newWeb), ...idsOf(web)]).size).toBe(6);
  expect(await api.call('getEnvironmentStatus', to)).toMatchObject({ state: 'READY', deployment_status: 'NEVER_DEPLOYED' });

  // The copy must not depend on its original.
  await api.call('deleteEnvironment', from);
  const newId = newWeb?.id ?? '';
  const secrets = (await api.call('listApplicationSecrets', application(newId))).results;
  expect(secrets.map(({ key }) => key)).toEqual(['TOKEN', 'PASS']);
  expect(JSON.stringify(secrets)).not.toContain('sesame');
  expect(secrets[1]?.aliased_secret?.id).toBe(secrets[0]?.id);
  const started = await deployedEnvironment(newId);
  expect(started).toMatchObject({ TOKEN: 'open sesame', PASS: 'open sesame', SELF: `http://app-z${newId.slice(0, 8)}/web` });
  expect(started['ME']).toBe(started['SELF']);
  expect(started['SELF']).not.toBe(deployed['SELF']);
});

test('a clone goes to another project, cluster and mode', async () => {
  const from = await newEnvironment();
  await api.call('createApplication', { ...from, body: { name: 'web', dockerfile_path: 'Dockerfile', git_repository } });
  const other = await api.call('createProject', { params: { organizationId: owner.id }, body: { name: 'other' } });
  const [cluster] = (await api.call('listOrganizationCluster', { params: { organizationId: owner.id } })).results;
  const body = { project_id: other.id, cluster_id: cluster?.id, mode: 'PRODUCTION' };
  const copy = await clone(from, body);
  expect(copy).toMatchObject({ project: { id: other.id }, mode: 'PRODUCTION', cluster_id: cluster?.id });
  const listed = await api.call('listServicesByOrganizationId', {
    params: { organizationId: owner.id },
    query: { project_id: other.id },
  });
  expect(listed.results).toMatchObject([{ name: 'web', environment_id: copy.id, project_name: 'other' }]);
});

test('a copy on the same machine gets the next free port of it, and none of the Davit ones', async () => {
  const from = await newEnvironment();
  const ports = [{ internal_port: 53, publicly_accessible: true, protocol: 'UDP' as const, external_port: 4438 }];
  await api.call('createApplication', { ...from, body: { name: 'names', dockerfile_path: 'Dockerfile', git_repository, ports } });
  const external = async (environment: At) => (await servicesOf(environment))[0]?.ports?.[0]?.external_port;
  const first = await clone(from);
  expect(await external(at(first.id))).toBe(4439);
  const [second, third] = [await clone(from), await clone(at(first.id))];
  const later = [await external(at(second.id)), await external(at(third.id))];
  expect(later).toEqual([4440, 4441]);
  expect(await external(from)).toBe(4438);
});

test('a clone takes the rule of the environment, or the one of its project where that is wanted', async () => {
  const from = await newEnvironment();
  const { environmentId } = from.params;
  const day = { timezone: 'UTC', start_time: '1970-01-01T08:00:00Z', stop_time: '1970-01-01T18:00:00Z' };
  await api.call('editEnvironmentDeploymentRule', {
    params: { environmentId, deploymentRuleId: environmentId },
    body: { ...day, weekdays: ['FRIDAY'], auto_stop: true },
  });
  const { cluster_id } = await api.call('getEnvironment', from);
  await api.call('createDeploymentRule', {
    params: { projectId },
    body: { ...day, name: 'previews', mode: 'PREVIEW', cluster_id, weekdays: ['MONDAY'], wildcard: 'pr *' },
  });
  const ruleOf = async (body: object) =>
    api.call('getEnvironmentDeploymentRule', at((await clone(from, { mode: 'PREVIEW', ...body })).id));
  expect(await ruleOf({ name: 'PR 1' })).toMatchObject({ weekdays: ['FRIDAY'], auto_stop: true });
  expect(await ruleOf({ name: 'PR 2', apply_deployment_rule: true })).toMatchObject({ weekdays: ['MONDAY'], auto_stop: false });
  expect(await ruleOf({ name: 'else', apply_deployment_rule: true })).toMatchObject({ auto_stop: false, timezone: 'UTC' });
});

test('a clone that cannot be is refused and leaves nothing', async () => {
  const from = await newEnvironment('Taken');
  const app = await api.call('createApplication', {
    ...from,
    body: { name: 'web', dockerfile_path: 'Dockerfile', git_repository },
  });
  const stranger = await server.organization();
  const theirs = server.client(stranger.tokens.WRITE);
  const organization = { params: { organizationId: stranger.id } };
  const project = await theirs.call('createProject', { ...organization, body: { name: 'theirs' } });
  const [cluster] = (await theirs.call('listOrganizationCluster', organization)).results;
  const count = async () => (await api.call('listEnvironment', { params: { projectId } })).results.length;
  const before = await count();
  await expect(clone(from, { name: 'TAKEN' })).rejects.toMatchObject({ status: 409, code: 'NAME_TAKEN' });
  await expect(clone(from, { name: ' ' })).rejects.toMatchObject({ status: 400, errors: [{ path: 'name' }] });
  await expect(clone(from, { mode: 'LIVE' })).rejects.toMatchObject({ status: 400, errors: [{ path: 'mode' }] });
  for (const project_id of [project.id, randomUUID()]) {
    await expect(clone(from, { project_id })).rejects.toMatchObject({
      code: 'INVALID_REFERENCE',
      errors: [{ path: 'project_id' }],
    });
  }
  for (const cluster_id of [cluster?.id, randomUUID()]) {
    await expect(clone(from, { cluster_id })).rejects.toMatchObject({ status: 404 });
  }
  await expect(theirs.call('cloneEnvironment', { ...from, body: { name: 'x' } })).rejects.toMatchObject({ status: 404 });
  expect(await count()).toBe(before);
  expect((await servicesOf(from)).map(({ id }) => id)).toEqual([app.id]);
});

test('of clones with one name at the same moment, one is made', async () => {
  const from = await newEnvironment();
  const name = `race ${randomUUID()}`;
  const results = await Promise.allSettled(Array.from({ length: 4 }, () => clone(from, { name })));
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const refusals = results.flatMap((result): unknown[] => (result.status === 'rejected' ? [result.reason] : []));
  expect(refusals).toMatchObject(Array.from({ length: 3 }, () => ({ code: 'NAME_TAKEN' })));
});

const tables = statement<{ name: string }>(
  'test_tables_of_environments',
  `select distinct conrelid::regclass::text as name from pg_constraint
    where contype = 'f' and confrelid in ('environment'::regclass, 'service'::regclass, 'deployment_stage'::regclass)
    order by name`,
);

test('whoever adds a table to environments or services decides what becomes of it in a copy', async () => {
  const copied = ['deployment_restriction', 'deployment_stage', 'environment_rule', 'secret_value', 'service', 'variable'];
  const madeAnew = ['host_port'];
  // A copy has no releases yet that could show a former value, and nothing was pushed to it.
  const left = ['custom_domain', 'database_backup_schedule', 'former_secret', 'git_preview', 'git_push'];
  const names = (await server.database.database.many(tables)).map(({ name }) => name);
  expect(names).toEqual([...copied, ...madeAnew, ...left].toSorted());
});
