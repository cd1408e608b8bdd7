import { randomUUID } from 'node:crypto';
import { ApiError, type Client } from '@davit/client';
import { roleDescriptions, type ProjectPermission } from '@davit/contract';
import { startTestServer, type TestOrganization, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

/** Custom roles, tested with API tokens that have one: what the tokens see, what they may do, and what is refused. */
let server: TestServer;
let organization: TestOrganization;
let admin: Client;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

interface RoleFixture {
  readonly shop: string;
  readonly bank: string;
  readonly live: string;
  readonly test: string;
  readonly web: string;
  readonly clusterId: string;
}
let fixture: RoleFixture;
let params: { organizationId: string };

beforeEach(async () => {
  organization = await server.organization();
  admin = server.client(organization.tokens.ADMIN);
  params = { organizationId: organization.id };
  const shop = (await admin.call('createProject', { params, body: { name: 'shop' } })).id;
  const bank = (await admin.call('createProject', { params, body: { name: 'bank' } })).id;
  const live = await admin.call('createEnvironment', {
    params: { projectId: shop },
    body: { name: 'live', mode: 'PRODUCTION' },
  });
  const trial = await admin.call('createEnvironment', { params: { projectId: shop }, body: { name: 'test' } });
  const web = await admin.call('createApplication', { params: { environmentId: trial.id }, body: application });
  fixture = { shop, bank, live: live.id, test: trial.id, web: web.id, clusterId: live.cluster_id };
});

const application = {
  name: 'web',
  dockerfile_path: 'Dockerfile',
  git_repository: { url: 'https://git.example.org/shop/web.git' },
};

interface Rights {
  readonly development?: ProjectPermission;
  readonly production?: ProjectPermission;
  readonly is_admin?: boolean;
  readonly cluster?: 'VIEWER' | 'ENV_CREATOR' | 'ADMIN';
}

/** Returns a client of a token with a new role that has these rights in the project `shop`. */
async function withRights(rights: Rights): Promise<Client & { readonly roleId: string; readonly token: string }> {
  const role = await admin.call('createOrganizationCustomRole', { params, body: { name: `role ${randomUUID()}` } });
  await grant(role.id, rights);
  const body = { name: `token ${role.id}`, role_id: role.id };
  const made = await admin.call('createOrganizationApiToken', { params, body });
  expect(made).toMatchObject({ role_id: role.id, role_name: expect.stringMatching(/^role /) });
  return Object.assign(server.client(made.token), { roleId: role.id, token: made.token });
}

async function grant(customRoleId: string, rights: Rights): Promise<void> {
  const { development = 'NO_ACCESS', production = 'NO_ACCESS', is_admin = false, cluster = 'VIEWER' } = rights;
  await admin.call('editOrganizationCustomRole', {
    params: { ...params, customRoleId },
    body: {
      name: `role ${randomUUID()}`,
      cluster_permissions: [{ cluster_id: fixture.clusterId, permission: cluster }],
      project_permissions: [
        {
          project_id: fixture.shop,
          is_admin,
          permissions: [
            { environment_type: 'DEVELOPMENT', permission: development },
            { environment_type: 'PRODUCTION', permission: production },
          ],
        },
      ],
    },
  });
}

/** Returns 200 if the attempt succeeds, otherwise the status with which it is refused. */
const status = (attempt: Promise<unknown>): Promise<number> =>
  attempt.then(
    () => 200,
    (error: unknown) => {
      if (error instanceof ApiError) return error.status;
      throw error;
    },
  );

describe('a custom role', () => {
  test('begins with clusters and no project, and tells of every cluster and project', async () => {
    const made = await admin.call('createOrganizationCustomRole', { params, body: { name: 'testers', description: null } });
    const modes = ['DEVELOPMENT', 'PREVIEW', 'PRODUCTION', 'STAGING'];
    const nothing = modes.map((environment_type) => ({ environment_type, permission: 'NO_ACCESS' }));
    expect(made).toEqual({
      id: made.id,
      name: 'testers',
      description: '',
      cluster_permissions: [{ cluster_id: fixture.clusterId, cluster_name: 'Local', permission: 'VIEWER' }],
      project_permissions: [
        { project_id: fixture.shop, project_name: 'shop', is_admin: false, permissions: nothing },
        { project_id: fixture.bank, project_name: 'bank', is_admin: false, permissions: nothing },
      ],
    });
    const ids = { ...params, customRoleId: made.id };
    expect(await admin.call('getOrganizationCustomRole', { params: ids })).toEqual(made);
    expect(await admin.call('listOrganizationCustomRoles', { params })).toEqual({ results: [made] });
    const roles = await admin.call('listOrganizationAvailableRoles', { params });
    expect(roles.results.map(({ name }) => name)).toEqual(['Owner', 'Admin', 'DevOps', 'Billing manager', 'Viewer', 'testers']);
    await expect(admin.call('createOrganizationCustomRole', { params, body: { name: 'TESTERS' } })).rejects.toMatchObject({
      status: 409,
      code: 'NAME_TAKEN',
    });
    await admin.call('deleteOrganizationCustomRole', { params: ids });
    expect(await status(admin.call('getOrganizationCustomRole', { params: ids }))).toBe(404);
  });

  test('refuses what it cannot be, naming the place', async () => {
    const { id } = await admin.call('createOrganizationCustomRole', { params, body: { name: 'testers' } });
    const before = await admin.call('getOrganizationCustomRole', { params: { ...params, customRoleId: id } });
    const edit = (cluster_permissions: object[], project_permissions: object[]): Promise<unknown> => {
      const body = { name: 'changed', cluster_permissions, project_permissions };
      const at = `${server.baseUrl}/organization/${organization.id}/customRole/${id}`;
      const headers = { authorization: `Token ${organization.tokens.ADMIN}`, 'content-type': 'application/json' };
      return fetch(at, { method: 'PUT', headers, body: JSON.stringify(body) }).then((answer) => answer.json());
    };
    const fault = (code: string, path: string): object => ({ status: 400, code, errors: [{ path }] });
    const other = await server.organization();
    const foreign = await server.client().call('createProject', { params: { organizationId: other.id }, body: { name: 'p' } });
    const cluster = { cluster_id: fixture.clusterId };
    const twice = [
      { environment_type: 'STAGING', permission: 'VIEWER' },
      { environment_type: 'STAGING', permission: 'MANAGER' },
    ];
    expect(await edit([{ cluster_id: randomUUID() }], [])).toMatchObject(
      fault('INVALID_REFERENCE', 'cluster_permissions.0.cluster_id'),
    );
    expect(await edit([], [{ project_id: fixture.shop }, { project_id: foreign.id }])).toMatchObject(
      fault('INVALID_REFERENCE', 'project_permissions.1.project_id'),
    );
    expect(await edit([cluster, { cluster_id: fixture.clusterId.toUpperCase() }], [])).toMatchObject(
      fault('VALIDATION_FAILED', 'cluster_permissions.1.cluster_id'),
    );
    expect(await edit([], [{ project_id: fixture.shop, permissions: twice }])).toMatchObject(
      fault('VALIDATION_FAILED', 'project_permissions.0.permissions.1.environment_type'),
    );
    expect(await edit([{ ...cluster, permission: 'ALL' }], [])).toMatchObject(
      fault('VALIDATION_FAILED', 'cluster_permissions.0.permission'),
    );
    expect(await admin.call('getOrganizationCustomRole', { params: { ...params, customRoleId: id } })).toEqual(before);
  });

  test('that somebody has cannot be deleted, and the answer names them', async () => {
    const role = await admin.call('createOrganizationCustomRole', { params, body: { name: 'testers' } });
    await admin.call('createOrganizationApiToken', { params, body: { name: 'robot', role_id: role.id } });
    await admin.call('postInviteMember', { params, body: { email: 'ada@example.org', role_id: role.id } });
    const attempt = admin.call('deleteOrganizationCustomRole', { params: { ...params, customRoleId: role.id } });
    await expect(attempt).rejects.toMatchObject({ status: 409, code: 'IN_USE' });
    await expect(attempt).rejects.toThrow(/ada@example.org.*robot/);
  });
});

test('a role that is given away and deleted at once is either in use or unknown, never half of both', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { id } = await admin.call('createOrganizationCustomRole', { params, body: { name: `role ${round}` } });
    const answers = await Promise.all([
      status(admin.call('createOrganizationApiToken', { params, body: { name: `token ${round}`, role_id: id } })),
      status(admin.call('postInviteMember', { params, body: { email: `p${round}@example.org`, role_id: id } })),
      status(admin.call('deleteOrganizationCustomRole', { params: { ...params, customRoleId: id } })),
    ]);
    const [token, invitation, deletion] = answers;
    expect([
      [200, 200, 409],
      [200, 400, 409],
      [400, 200, 409],
      [400, 400, 200],
    ]).toContainEqual([token, invitation, deletion]);
  }
});

describe('rights in environments', () => {
  const levels: readonly (readonly [ProjectPermission, Readonly<Record<string, number>>])[] = [
    ['NO_ACCESS', { read: 404, deploy: 404, edit: 404, create: 404, remove: 404 }],
    ['VIEWER', { read: 200, deploy: 403, edit: 403, create: 403, remove: 403 }],
    ['DEPLOYER', { read: 200, deploy: 200, edit: 403, create: 403, remove: 403 }],
    ['MANAGER', { read: 200, deploy: 200, edit: 200, create: 200, remove: 403 }],
  ];
  test.each(levels)('%s allows what it says in its mode, and nothing in another', async (permission, expected) => {
    const client = await withRights({
      development: permission,
      ...(permission === 'NO_ACCESS' ? {} : { production: 'NO_ACCESS' }),
    });
    const at = { applicationId: fixture.web };
    const answers = {
      read: await status(client.call('getApplication', { params: at })),
      deploy: await status(client.call('deployApplication', { params: at })),
      edit: await status(client.call('editApplication', { params: at, body: { description: 'x', healthchecks: {} } })),
      create: await status(
        client.call('createApplication', { params: { environmentId: fixture.test }, body: { ...application, name: 'api' } }),
      ),
      remove: await status(client.call('deleteEnvironment', { params: { environmentId: fixture.test } })),
    };
    expect(answers).toEqual(expected);
    const live = { params: { environmentId: fixture.live } };
    expect(await status(client.call('getEnvironment', live))).toBe(404);
    expect(await status(client.call('listApplication', live))).toBe(404);
    expect(await status(client.call('createApplication', { ...live, body: application }))).toBe(404);
    expect(await status(client.call('getProject', { params: { projectId: fixture.bank } }))).toBe(404);
  });

  test('end where the body would leave them: no other mode, and no cluster without ENV_CREATOR', async () => {
    const client = await withRights({ development: 'MANAGER', production: 'VIEWER' });
    const create = (body: { name: string; mode?: 'PRODUCTION' }): Promise<number> =>
      status(client.call('createEnvironment', { params: { projectId: fixture.shop }, body }));
    expect(await create({ name: 'more' })).toBe(403);
    await grant(client.roleId, { development: 'MANAGER', production: 'VIEWER', cluster: 'ENV_CREATOR' });
    expect(await create({ name: 'more' })).toBe(200);
    expect(await create({ name: 'prod', mode: 'PRODUCTION' })).toBe(403);
    const edit = client.call('editEnvironment', { params: { environmentId: fixture.test }, body: { mode: 'PRODUCTION' } });
    await expect(edit).rejects.toMatchObject({ status: 403, message: expect.stringContaining('MANAGER on PRODUCTION') });
    expect(await admin.call('getEnvironment', { params: { environmentId: fixture.test } })).toMatchObject({
      mode: 'DEVELOPMENT',
    });
  });

  test('is_admin allows all in its project, and nothing in another', async () => {
    const client = await withRights({ is_admin: true, cluster: 'ENV_CREATOR' });
    const projectId = fixture.shop;
    expect(await status(client.call('editProject', { params: { projectId }, body: { name: 'store' } }))).toBe(200);
    const made = await client.call('createEnvironment', { params: { projectId }, body: { name: 'x', mode: 'STAGING' } });
    expect(await status(client.call('deleteEnvironment', { params: { environmentId: made.id } }))).toBe(200);
    expect(await status(client.call('getProject', { params: { projectId: fixture.bank } }))).toBe(404);
    expect(await status(client.call('createProject', { params, body: { name: 'new' } }))).toBe(403);
  });

  test('cut lists down to what is seen', async () => {
    const client = await withRights({ development: 'VIEWER' });
    const projects = await client.call('listProject', { params });
    expect(projects.results.map(({ name }) => name)).toEqual(['shop']);
    const environments = await client.call('listEnvironment', { params: { projectId: fixture.shop } });
    expect(environments.results.map(({ name }) => name)).toEqual(['test']);
    const overview = await client.call('getOrganizationOverview', { params });
    expect(overview.results.map(({ name, services }) => [name, services.map(({ id }) => id)])).toEqual([['test', [fixture.web]]]);
    const headers = { authorization: `Token ${client.token}` };
    const second = await fetch(`${server.baseUrl}/organization/${organization.id}/project?page=2&pageSize=1`, { headers });
    expect(await second.json()).toEqual({ results: [] });
    expect((await client.call('listOrganization', {})).results.map(({ id }) => id)).toEqual([organization.id]);
    expect((await client.call('listOrganizationCluster', { params })).results).toHaveLength(1);
  });

  test('are none of the organization', async () => {
    const client = await withRights({ is_admin: true, cluster: 'ADMIN' });
    expect(await status(client.call('listOrganizationApiTokens', { params }))).toBe(403);
    expect(await status(client.call('createOrganizationApiToken', { params, body: { name: 'more' } }))).toBe(403);
    expect(await status(client.call('listOrganizationCustomRoles', { params }))).toBe(403);
    expect(await status(client.call('postInviteMember', { params, body: { email: 'a@example.org' } }))).toBe(403);
    expect(await status(client.call('createGitToken', { params, body: { name: 'g', type: 'HOSTA', token: 'x' } }))).toBe(403);
    expect(await status(client.call('getOrganization', { params }))).toBe(200);
    const other = await server.organization();
    expect(await status(client.call('getOrganization', { params: { organizationId: other.id } }))).toBe(404);
  });

  test('change for those who have them at once', async () => {
    const client = await withRights({ development: 'VIEWER' });
    const deploy = (): Promise<number> => status(client.call('deployApplication', { params: { applicationId: fixture.web } }));
    expect(await deploy()).toBe(403);
    await grant(client.roleId, { development: 'DEPLOYER' });
    expect(await deploy()).toBe(200);
    await grant(client.roleId, {});
    expect(await deploy()).toBe(404);
  });

  test('hold for the queue as well, by the environment of the request', async () => {
    const client = await withRights({ development: 'DEPLOYER' });
    const deploy = await client.call('deployApplication', { params: { applicationId: fixture.web } });
    const deploymentRequestId = deploy.deployment_request_id ?? '';
    const blind = await withRights({ production: 'MANAGER' });
    const cancel = (one: Client): Promise<number> =>
      status(one.call('cancelDeploymentRequest', { params: { deploymentRequestId } }));
    expect(await cancel(blind)).toBe(404);
    expect(await cancel(client)).toBe(200);
  });
});

describe('an API token', () => {
  test('may have a built-in role, and does what the role may', async () => {
    const body = { name: 'robot', role_id: roleDescriptions.DEVOPS.id };
    const made = await admin.call('createOrganizationApiToken', { params, body });
    expect(made).toMatchObject({ role_id: body.role_id, role_name: 'DevOps' });
    const client = server.client(made.token);
    expect(await status(client.call('createProject', { params, body: { name: 'p' } }))).toBe(200);
    expect(await status(client.call('editOrganization', { params, body: { description: 'x' } }))).toBe(403);
    expect(await status(client.call('createOrganization', { body: { name: `o ${randomUUID()}` } }))).toBe(403);
    const list = await admin.call('listOrganizationApiTokens', { params, query: { name: 'robot' } });
    expect(list.results).toMatchObject([{ id: made.id, role_name: 'DevOps' }]);
    expect(list.results[0]).not.toHaveProperty('scope');
  });

  test('is no way to more rights than its maker has', async () => {
    const make = (client: Client, fields: object): Promise<string | number | undefined> => {
      const body = { name: `token ${randomUUID()}`, ...fields };
      return client.call('createOrganizationApiToken', { params, body }).then(
        ({ role_name, scope }) => scope ?? role_name,
        (error: unknown) => {
          if (error instanceof ApiError && error.code === 'FORBIDDEN') return error.status;
          throw error;
        },
      );
    };
    const tokenOf = async (role: 'ADMIN' | 'DEVOPS'): Promise<Client> => {
      const body = { name: `maker ${role}`, role_id: roleDescriptions[role].id };
      return server.client((await admin.call('createOrganizationApiToken', { params, body })).token);
    };
    const [ofAdmin, ofDevops] = [await tokenOf('ADMIN'), await tokenOf('DEVOPS')];
    const [owner, role] = [{ role_id: roleDescriptions.OWNER.id }, { role_id: roleDescriptions.ADMIN.id }];
    expect([await make(admin, owner), await make(ofAdmin, owner), await make(ofDevops, owner)]).toEqual(['Owner', 403, 403]);
    expect([await make(admin, role), await make(ofAdmin, role), await make(ofDevops, role)]).toEqual(['Admin', 'Admin', 403]);
    const scope = { scope: 'ADMIN' };
    expect([await make(admin, scope), await make(ofAdmin, scope), await make(ofDevops, scope)]).toEqual(['ADMIN', 'Admin', 403]);
    expect([await make(admin, {}), await make(ofAdmin, {}), await make(ofDevops, {})]).toEqual(['ADMIN', 'Admin', 'DevOps']);
    expect(await make(ofDevops, { scope: 'WRITE' })).toBe('WRITE');
  });

  test('has no role of elsewhere, and not a role and a scope', async () => {
    const make = (fields: object): Promise<unknown> =>
      admin.call('createOrganizationApiToken', { params, body: { name: 'robot', ...fields } });
    const other = await server.organization();
    const foreign = await server
      .client()
      .call('createOrganizationCustomRole', { params: { organizationId: other.id }, body: { name: 'foreign' } });
    for (const role_id of [foreign.id, randomUUID()]) {
      await expect(make({ role_id })).rejects.toMatchObject({ code: 'INVALID_REFERENCE', errors: [{ path: 'role_id' }] });
    }
    await expect(make({ role_id: roleDescriptions.VIEWER.id, scope: 'READ' })).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'role_id' }],
    });
  });
});
