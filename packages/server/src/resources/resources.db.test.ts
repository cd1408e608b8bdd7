import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { checkStatements, declaredStatements, statement } from '@davit/db';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Rules of the resources between organization and deployment. Nothing is deployed here: the engine only queues. */
let server: TestServer;
let client: Client;
beforeAll(async () => {
  server = await startTestServer();
  client = server.client();
});
afterAll(() => server.close());

const git = { url: 'https://git.example.org/shop/web.git' };

async function organization(): Promise<{ organizationId: string }> {
  return { organizationId: (await server.organization()).id };
}
async function project(): Promise<{ organizationId: string; projectId: string }> {
  const params = await organization();
  return { ...params, projectId: (await client.call('createProject', { params, body: { name: 'shop' } })).id };
}
async function environment(): Promise<{ organizationId: string; projectId: string; environmentId: string }> {
  const params = await project();
  return { ...params, environmentId: (await client.call('createEnvironment', { params, body: { name: 'live' } })).id };
}
async function application(environmentId: string, name = 'web'): Promise<string> {
  return (
    await client.call('createApplication', {
      params: { environmentId },
      body: { name, dockerfile_path: 'Dockerfile', git_repository: git },
    })
  ).id;
}

test('PostgreSQL accepts every statement', async () => {
  // Other tests of the same process declare statements too, for databases of their own.
  const own = declaredStatements().filter(({ name }) => !name.startsWith('test'));
  expect(own.length).toBeGreaterThan(400);
  expect(await checkStatements(server.database.connectionString, own)).toEqual([]);
});

describe('an organization', () => {
  test('begins with a default plan and the cluster Local', async () => {
    const made = await client.call('createOrganization', { body: { name: `o ${randomUUID()}`, description: null } });
    expect(made).toMatchObject({ plan: 'TEAM_2025', organization_plan: { plan: 'TEAM_2025' }, admin_emails: [] });
    const { results } = await client.call('listOrganizationCluster', { params: { organizationId: made.id } });
    expect(results).toHaveLength(1);
    expect(results[0]).toMatchObject({
      name: 'Local',
      is_default: true,
      is_demo: true,
      cloud_provider: 'ON_PREMISE',
      region: 'local',
    });
    const status = await client.call('getClusterStatus', {
      params: { organizationId: made.id, clusterId: results[0]?.id ?? '' },
    });
    expect(status).toMatchObject({
      cluster_id: results[0]?.id,
      status: 'DEPLOYMENT_ERROR',
      is_deployed: true,
      reason: 'UNSPECIFIED',
    });
  });

  test('keeps what an edit leaves out, and loses what it sets to null', async () => {
    const body = {
      name: `o ${randomUUID()}`,
      description: 'text',
      website_url: 'https://example.org',
      admin_emails: ['a@example.org'],
    };
    const { id } = await client.call('createOrganization', { body });
    const params = { organizationId: id };
    const edited = await client.call('editOrganization', { params, body: { description: null } });
    expect(edited).toMatchObject({
      name: body.name,
      description: null,
      website_url: body.website_url,
      admin_emails: body.admin_emails,
    });
    expect(await client.call('editOrganization', { params, body: { admin_emails: null } })).toMatchObject({ admin_emails: [] });
  });

  test('is listed with its own fields beside the results, to its own tokens alone', async () => {
    const own = await server.organization();
    const listed = await server.client(own.tokens.READ).call('listOrganization');
    expect(listed.results.map(({ id }) => id)).toEqual([own.id]);
    expect(listed).toMatchObject({ id: own.id, created_at: expect.any(String), name: expect.any(String) });
  });

  test('cannot be created with a token of another one', async () => {
    const own = await server.organization();
    const call = server.client(own.tokens.ADMIN).call('createOrganization', { body: { name: randomUUID() } });
    await expect(call).rejects.toMatchObject({ status: 403, code: 'FORBIDDEN' });
  });

  test('with projects is not deleted, and says which; without it is, and its tokens with it', async () => {
    const own = await server.organization();
    const params = { organizationId: own.id };
    const { id } = await client.call('createProject', { params, body: { name: 'shop' } });
    await expect(client.call('deleteOrganization', { params })).rejects.toMatchObject({
      status: 409,
      code: 'IN_USE',
      message: expect.stringContaining('shop'),
    });
    await client.call('deleteProject', { params: { projectId: id } });
    await client.call('deleteOrganization', { params });
    await expect(client.call('getOrganization', { params })).rejects.toMatchObject({ status: 404 });
    await expect(server.client(own.tokens.READ).call('listOrganization')).rejects.toMatchObject({ status: 401 });
  });
});

describe('a name', () => {
  test('is unique in its parent ignoring case, and the answer says which name and where', async () => {
    const params = await environment();
    const taken = { status: 409, code: 'NAME_TAKEN' };
    await expect(client.call('createProject', { params, body: { name: 'SHOP' } })).rejects.toMatchObject(taken);
    await expect(client.call('createEnvironment', { params, body: { name: 'LIVE' } })).rejects.toMatchObject({
      ...taken,
      message: expect.stringContaining('"LIVE" exists already in this project'),
    });
    const stage = client.call('createEnvironmentDeploymentStage', { params, body: { name: 'job default' } });
    await expect(stage).rejects.toMatchObject(taken);
    const other = await client.call('createProject', { params, body: { name: 'other' } });
    const renamed = client.call('editProject', { params: { projectId: other.id }, body: { name: 'Shop' } });
    await expect(renamed).rejects.toMatchObject(taken);
    await client.call('createEnvironment', { params: { projectId: other.id }, body: { name: 'LIVE' } });
  });
});

describe('a token', () => {
  test('is shown once, and has all scopes unless told', async () => {
    const params = await organization();
    const made = await client.call('createOrganizationApiToken', { params, body: { name: 'all' } });
    expect(made).toMatchObject({
      token: expect.stringMatching(/^dvt_[\w-]{40}$/),
      scope: 'ADMIN',
      role_name: 'Admin',
      expires_at: null,
    });
    const { results } = await client.call('listOrganizationApiTokens', { params, query: { name: 'AL' } });
    expect(results.map(({ name }) => name)).toEqual(['all']);
    expect(JSON.stringify(results)).not.toContain(made.token);
  });
});

describe('a git token', () => {
  test('never shows its value, is encrypted, and stays while a service uses it', async () => {
    const params = await environment();
    const body = { name: 'git', type: 'HOSTA', token: 'canary-7f3a91' } as const;
    const made = await client.call('createGitToken', { params, body });
    expect(made).toMatchObject({
      name: 'git',
      type: 'HOSTA',
      associated_services_count: 0,
      git_api_url: 'https://api.github.com',
    });
    const all = statement<{ text: string }>(
      'test_all_git_tokens',
      "select string_agg(git_token::text, ' ') as text from git_token",
    );
    const { text } = await server.database.database.one(all);
    expect(text).not.toContain('canary-7f3a91');
    expect(text).not.toContain(Buffer.from('canary-7f3a91').toString('hex'));
    const gitRepository = { ...git, git_token_id: made.id };
    const { id } = await client.call('createApplication', {
      params,
      body: { name: 'web', dockerfile_path: 'Dockerfile', git_repository: gitRepository },
    });
    const at = { organizationId: params.organizationId, gitTokenId: made.id };
    expect(await client.call('getOrganizationGitToken', { params: at })).toMatchObject({ associated_services_count: 1 });
    await expect(client.call('deleteGitToken', { params: at })).rejects.toMatchObject({
      code: 'IN_USE',
      message: expect.stringContaining('web'),
    });
    await client.call('editGitToken', { params: at, body: { name: 'git', type: 'HOSTA', workspace: 'team' } });
    await client.call('deleteApplication', { params: { applicationId: id } });
    await client.call('deleteGitToken', { params: at });
  });
});

describe('the host that a git token is for', () => {
  test('changes with the token alone, whether by type or by git_api_url', async () => {
    const params = await environment();
    const body = { name: 'git', type: 'HOSTA', token: 'canary' } as const;
    const made = await client.call('createGitToken', { params, body });
    const at = { organizationId: params.organizationId, gitTokenId: made.id };
    const edit = (changes: object) =>
      client.call('editGitToken', { params: at, body: { name: 'git', type: 'HOSTA', ...changes } });
    const refusal = { status: 400, code: 'VALIDATION_FAILED', message: expect.stringContaining('token must be sent again') };
    await expect(edit({ git_api_url: 'https://elsewhere.example.org' })).rejects.toMatchObject(refusal);
    await expect(edit({ type: 'GENERIC' })).rejects.toMatchObject(refusal);
    await expect(edit({ type: 'GENERIC', git_api_url: 'https://api.github.com' })).rejects.toMatchObject(refusal);
    await edit({ git_api_url: made.git_api_url, description: 'as it was shown' });
    const moved = await edit({ git_api_url: 'https://git.example.org/api/v3', token: 'canary' });
    expect(moved.git_api_url).toBe('https://git.example.org/api/v3');
    await expect(edit({ git_api_url: 'https://api.github.com' })).rejects.toMatchObject(refusal);
    await expect(edit({ git_api_url: null })).rejects.toMatchObject(refusal);
    await edit({ git_api_url: 'https://git.example.org/api/v3' });
  });
});

describe('an environment', () => {
  test('is put on the default cluster, with four stages in their order', async () => {
    const params = await project();
    const made = await client.call('createEnvironment', { params, body: { name: 'live' } });
    const clusters = await client.call('listOrganizationCluster', { params });
    expect(made).toMatchObject({
      mode: 'DEVELOPMENT',
      cluster_id: clusters.results[0]?.id,
      cluster_name: 'Local',
      cloud_provider: { provider: 'ON_PREMISE', cluster: 'Local' },
      project: { id: params.projectId },
    });
    const stages = await client.call('listEnvironmentDeploymentStage', { params: { environmentId: made.id } });
    const names = stages.results.map(({ name, deployment_order }) => [deployment_order, name]);
    expect(names).toEqual([
      [0, 'DATABASE DEFAULT'],
      [1, 'JOB DEFAULT'],
      [2, 'CONTAINER DEFAULT'],
      [3, 'APPLICATION DEFAULT'],
    ]);
    expect(await client.call('getProject', { params })).toMatchObject({ associated_environments_count: 1 });
  });

  test('takes its cluster under both names, of its own organization only', async () => {
    const params = await project();
    const own = (await client.call('listOrganizationCluster', { params })).results[0]?.id ?? '';
    const foreign = (await client.call('listOrganizationCluster', { params: await organization() })).results[0]?.id ?? '';
    expect(await client.call('createEnvironment', { params, body: { name: 'a', cluster_id: own } })).toMatchObject({
      cluster_id: own,
    });
    expect(await client.call('createEnvironment', { params, body: { name: 'b', cluster: own } })).toMatchObject({
      cluster_id: own,
    });
    for (const cluster of [foreign, randomUUID()]) {
      const call = client.call('createEnvironment', { params, body: { name: 'c', cluster_id: cluster } });
      await expect(call).rejects.toMatchObject({ status: 404, message: 'There is no such cluster.' });
    }
    const both = client.call('createEnvironment', { params, body: { name: 'd', cluster_id: own, cluster: foreign } });
    await expect(both).rejects.toMatchObject({ status: 400, errors: [{ path: 'cluster' }] });
  });

  test('in which nothing was deployed is gone at once, with all below', async () => {
    const params = await environment();
    const applicationId = await application(params.environmentId);
    await expect(client.call('deleteProject', { params })).rejects.toMatchObject({
      code: 'IN_USE',
      message: expect.stringContaining('live'),
    });
    await client.call('deleteEnvironment', { params });
    await expect(client.call('getEnvironment', { params })).rejects.toMatchObject({ status: 404 });
    await expect(client.call('getApplication', { params: { applicationId } })).rejects.toMatchObject({ status: 404 });
    await client.call('deleteProject', { params });
  });

  test('in which something waits is deleted by the engine, and takes nothing more meanwhile', async () => {
    const params = await environment();
    await application(params.environmentId);
    await client.call('deployEnvironment', { params });
    await client.call('deleteEnvironment', { params });
    await client.call('deleteEnvironment', { params });
    const queue = await client.call('listDeploymentRequestByEnvironmentId', { params });
    expect(queue.results.map((entry) => entry.trigger_action)).toEqual(['DEPLOY', 'DELETE']);
    const refused = { status: 409, code: 'BEING_DELETED' };
    await expect(client.call('editEnvironment', { params, body: { name: 'x' } })).rejects.toMatchObject(refused);
    await expect(client.call('deployEnvironment', { params })).rejects.toMatchObject(refused);
    await expect(client.call('createEnvironmentDeploymentStage', { params, body: { name: 'x' } })).rejects.toMatchObject(refused);
    const [, deletion] = queue.results;
    const request = { deploymentRequestId: deletion?.identifier.deployment_request_id ?? '' };
    await client.call('cancelDeploymentRequest', { params: request });
    await client.call('editEnvironment', { params, body: { name: 'stays after all' } });
  });

  test('is READY without deployments, and its deployment waits in the queue', async () => {
    const params = await environment();
    expect(await client.call('getEnvironmentStatus', { params })).toMatchObject({
      state: 'READY',
      last_deployment_state: 'READY',
      deployment_status: 'NEVER_DEPLOYED',
      deployment_request_id: null,
    });
    const id = await application(params.environmentId);
    const plan = await client.call('deployEnvironment', { params, query: { dry_run: true } });
    expect(plan).toMatchObject({
      state: 'READY',
      plan: { action: 'DEPLOY', stages: [{ services: [{ service_id: id, name: 'web' }] }] },
    });
    const answer = await client.call('deployEnvironment', { params });
    expect(answer).toMatchObject({
      state: 'DEPLOYMENT_QUEUED',
      last_deployment_state: 'DEPLOYMENT_QUEUED',
      status_details: { action: 'DEPLOY', status: 'QUEUED' },
    });
    const again = await client.call('redeployEnvironment', { params });
    expect(again.deployment_request_id).toBe(answer.deployment_request_id);
    const statuses = await client.call('getEnvironmentStatuses', { params });
    expect(statuses.applications).toMatchObject([{ id, state: 'DEPLOYMENT_QUEUED' }]);
    const { results } = await client.call('listDeploymentRequestByServiceId', { params: { serviceId: id } });
    expect(results).toMatchObject([{ identifier: { service_id: id, name: 'web' }, status_details: { status: 'QUEUED' } }]);
    await expect(client.call('cancelEnvironmentDeployment', { params })).rejects.toMatchObject({
      status: 409,
      code: 'NOTHING_TO_CANCEL',
    });
    await client.call('cancelDeploymentRequest', { params: { deploymentRequestId: answer.deployment_request_id ?? '' } });
    expect(await client.call('getEnvironmentStatus', { params })).toMatchObject({ state: 'READY', deployment_request_id: null });
    expect(await client.call('listEnvironmentLogs', { params })).toEqual([]);
  });

  test('is not deployed where billing forbids it, but for demo clusters without a card', async () => {
    const params = await environment();
    const restrict = statement('test_restrict', 'update organization set billing_deployment_restriction = $2 where id = $1');
    await server.database.database.run(restrict, [params.organizationId, 'NO_CREDIT_CARD']);
    await client.call('deployEnvironment', { params });
    await server.database.database.run(restrict, [params.organizationId, 'UNPAID']);
    await expect(client.call('deployEnvironment', { params })).rejects.toMatchObject({
      status: 403,
      code: 'BILLING_RESTRICTION',
    });
    await client.call('stopEnvironment', { params });
  });
});

describe('a deployment stage', () => {
  async function names(environmentId: string): Promise<string[]> {
    const { results } = await client.call('listEnvironmentDeploymentStage', { params: { environmentId } });
    expect(results.map(({ deployment_order }) => deployment_order)).toEqual(results.map((_stage, index) => index));
    return results.map(({ name }) => name);
  }

  test('is added at the end, moved anywhere, renamed and deleted, and the order has no gaps', async () => {
    const params = await environment();
    const { environmentId } = params;
    const last = await client.call('createEnvironmentDeploymentStage', { params, body: { name: 'last' } });
    const { results } = await client.call('listEnvironmentDeploymentStage', { params });
    const at = { deploymentStageId: last.id, stageId: results[0]?.id ?? '' };
    await client.call('moveBeforeDeploymentStage', { params: at });
    expect((await names(environmentId))[0]).toBe('last');
    await client.call('moveAfterDeploymentStage', { params: at });
    expect((await names(environmentId)).slice(0, 2)).toEqual(['DATABASE DEFAULT', 'last']);
    await client.call('moveAfterDeploymentStage', { params: { ...at, stageId: results[3]?.id ?? '' } });
    expect((await names(environmentId)).slice(3)).toEqual(['APPLICATION DEFAULT', 'last']);
    await client.call('moveAfterDeploymentStage', { params: { ...at, stageId: last.id } });
    await client.call('editDeploymentStage', { params: at, body: { name: 'Last', description: 'text' } });
    expect(await client.call('editDeploymentStage', { params: at, body: { name: 'first' } })).toMatchObject({
      description: 'text',
    });
    await client.call('deleteDeploymentStage', { params: { deploymentStageId: at.stageId } });
    expect(await names(environmentId)).toHaveLength(4);
  });

  test('with services is not deleted, in the words that clients look for; nor is the last one', async () => {
    const params = await environment();
    const serviceId = await application(params.environmentId);
    const stage = await client.call('getServiceDeploymentStage', { params: { serviceId } });
    expect(stage).toMatchObject({
      name: 'APPLICATION DEFAULT',
      services: [{ service_id: serviceId, service_type: 'APPLICATION', is_skipped: false }],
    });
    const at = { deploymentStageId: stage.id };
    const refused = { status: 400, code: 'STAGE_NOT_EMPTY', message: expect.stringContaining('must empty of service') };
    await expect(client.call('deleteDeploymentStage', { params: at })).rejects.toMatchObject(refused);
    const { results } = await client.call('listEnvironmentDeploymentStage', { params });
    const first = { deploymentStageId: results[0]?.id ?? '', serviceId };
    const moved = await client.call('attachServiceToDeploymentStage', { params: first, body: { is_skipped: true } });
    expect(moved.results[0]?.services).toMatchObject([{ service_id: serviceId, is_skipped: true }]);
    const again = await client.call('attachServiceToDeploymentStage', { params: first });
    const [entered] = moved.results[0]?.services ?? [];
    expect(again.results[0]?.services).toMatchObject([{ id: entered?.id, is_skipped: false, created_at: entered?.created_at }]);
    const [changed] = again.results[0]?.services ?? [];
    expect(Date.parse(changed?.updated_at ?? '')).toBeGreaterThan(Date.parse(entered?.updated_at ?? ''));
    // Nothing changes, so the time of the last change stays too.
    const same = await client.call('attachServiceToDeploymentStage', { params: first });
    expect(same.results[0]?.services).toEqual(again.results[0]?.services);
    await client.call('deleteApplication', { params: { applicationId: serviceId } });
    for (const { id } of results.slice(1)) await client.call('deleteDeploymentStage', { params: { deploymentStageId: id } });
    const lastOne = client.call('deleteDeploymentStage', { params: first });
    await expect(lastOne).rejects.toMatchObject({ status: 400, message: expect.stringContaining('last one') });
  });

  test('keeps an order without gaps when many are moved at once', async () => {
    const params = await environment();
    const { results } = await client.call('listEnvironmentDeploymentStage', { params });
    const ids = results.map(({ id }) => id);
    const moves = ids.flatMap((deploymentStageId) =>
      ids.map((stageId) => client.call('moveBeforeDeploymentStage', { params: { deploymentStageId, stageId } })),
    );
    await Promise.all(moves);
    expect(await names(params.environmentId)).toHaveLength(4);
  });
});
