import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { roleDescriptions, type BuiltInRole } from '@davit/contract';
import { statement } from '@davit/db';
import { TestIssuer } from '@davit/testkit/issuer';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Tests with people of a real issuer: what they create, whom they invite, and what their roles permit. */
let issuer: TestIssuer;
let server: TestServer;
beforeAll(async () => {
  issuer = await TestIssuer.start();
  server = await startTestServer({ environment: { DAVIT_OIDC_ISSUER: issuer.url, DAVIT_OIDC_AUDIENCE: 'davit' } });
});
afterAll(async () => {
  await server.close();
  await issuer.close();
});

const roleId = (role: BuiltInRole): string => roleDescriptions[role].id;
const refusal = (status: number, code: string, text = ''): object => ({
  status,
  code,
  message: expect.stringContaining(text),
});

interface Someone {
  readonly id: string;
  readonly email: string;
  readonly client: Client;
}

/** Signs a person in for the first time. */
async function someone(name = `p${randomUUID().slice(0, 8)}`): Promise<Someone> {
  const client = server.client(await issuer.person(name));
  return { id: (await client.call('getAccountInformation', {})).id, email: `${name}@example.org`, client };
}

interface Founded {
  readonly organizationId: string;
  readonly owner: Someone;
}

async function founded(): Promise<Founded> {
  const owner = await someone();
  const { id } = await owner.client.call('createOrganization', { body: { name: `o ${randomUUID()}` } });
  return { organizationId: id, owner };
}

async function join({ organizationId, owner }: Founded, role_id: string, person?: Someone): Promise<Someone> {
  const member = person ?? (await someone());
  const params = { organizationId };
  const invitation = await owner.client.call('postInviteMember', { params, body: { email: member.email, role_id } });
  await member.client.call('postAcceptInviteMember', { params: { organizationId, inviteId: invitation.id } });
  return member;
}

describe('a person', () => {
  test('is made at first sight, keeps the account, and edits the address for messages', async () => {
    const token = await issuer.sign({ sub: 'ada', given_name: 'Ada', family_name: 'Lovelace', email: 'ada@example.org' });
    const client = server.client(token);
    const account = await client.call('getAccountInformation', {});
    expect(account).toMatchObject({ first_name: 'Ada', last_name: 'Lovelace', communication_email: 'ada@example.org' });
    const edited = await client.call('editAccountInformation', { body: { communication_email: 'countess@example.org' } });
    expect(edited).toEqual({ ...account, communication_email: 'countess@example.org' });
    // An access token has fewer claims than an id token. The missing claims do not delete anything.
    const later = server.client(await issuer.sign({ sub: 'ada' }));
    expect(await later.call('getAccountInformation', {})).toEqual(edited);
    await expect(client.call('editAccountInformation', { body: { communication_email: 'no address' } })).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'communication_email' }],
    });
  });

  test('is one for each issuer and subject, whoever signs in at once', async () => {
    const tokens = await Promise.all(Array.from({ length: 8 }, (_, count) => issuer.sign({ sub: 'rush', nonce: `${count}` })));
    const ids = tokens.map(async (token) => (await server.client(token).call('getAccountInformation', {})).id);
    expect(new Set(await Promise.all(ids)).size).toBe(1);
  });

  test('sees no organization, and is told nothing of one', async () => {
    const { organizationId } = await founded();
    const stranger = await someone();
    expect(await stranger.client.call('listOrganization', {})).toEqual({ results: [] });
    await expect(stranger.client.call('getOrganization', { params: { organizationId } })).rejects.toMatchObject(
      refusal(404, 'NOT_FOUND'),
    );
  });

  test('owns the organization that it creates, and shows in histories as itself from the console', async () => {
    const { organizationId, owner } = await founded();
    expect(await owner.client.call('getOrganization', { params: { organizationId } })).toMatchObject({ owner: owner.id });
    const { results } = await owner.client.call('getOrganizationMembers', { params: { organizationId } });
    expect(results).toMatchObject([
      { id: owner.id, email: owner.email, role: 'OWNER', role_name: 'Owner', role_id: roleId('OWNER') },
    ]);
    const params = { organizationId };
    const project = await owner.client.call('createProject', { params, body: { name: 'shop' } });
    const environment = await owner.client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'e' } });
    const application = await owner.client.call('createApplication', {
      params: { environmentId: environment.id },
      body: { name: 'web', dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/a/b.git' } },
    });
    await owner.client.call('deployApplication', { params: { applicationId: application.id } });
    const queue = await owner.client.call('listDeploymentRequestByEnvironmentId', { params: { environmentId: environment.id } });
    expect(queue.results[0]?.auditing_data).toMatchObject({ origin: 'CONSOLE', triggered_by: owner.email.split('@')[0] });
  });

  test('of several organizations sees them all, the oldest one beside the list, and acts in each by its role there', async () => {
    const first = await founded();
    const second = await founded();
    const person = await join(first, roleId('VIEWER'));
    await join(second, roleId('ADMIN'), person);
    const list = await person.client.call('listOrganization', {});
    expect(list.results.map(({ id }) => id)).toEqual([first.organizationId, second.organizationId]);
    expect(list.id).toBe(first.organizationId);
    const create = (organizationId: string): Promise<{ id: string }> =>
      person.client.call('createProject', { params: { organizationId }, body: { name: 'shop' } });
    await expect(create(first.organizationId)).rejects.toMatchObject(refusal(403, 'FORBIDDEN', 'Viewer'));
    const { id: projectId } = await create(second.organizationId);
    expect(await person.client.call('getProject', { params: { projectId } })).toMatchObject({ name: 'shop' });
    const third = await founded();
    await expect(create(third.organizationId)).rejects.toMatchObject(refusal(404, 'NOT_FOUND'));
  });
});

describe('an invitation', () => {
  test('is seen and accepted by the verified address only, whatever its case', async () => {
    const { organizationId, owner } = await founded();
    const params = { organizationId };
    const email = `Grace-k-${randomUUID()}@Example.org`;
    const made = await owner.client.call('postInviteMember', { params, body: { email, role: 'ADMIN' } });
    expect(made).toMatchObject({ email: email.toLowerCase(), role: 'ADMIN', role_name: 'Admin', invitation_status: 'PENDING' });
    expect(made.invitation_link).toMatch(/\/console\/invitation#[\w-]{43}$/);
    const ids = { params: { organizationId, inviteId: made.id } };
    const sub = `grace ${randomUUID()}`;
    for (const claims of [
      { email },
      { email, email_verified: false },
      // The Kelvin sign, whose lower case is the letter k.
      { email: email.replace('k', '\u212a'), email_verified: true },
      { email: 'x@example.org', email_verified: true },
      {},
    ]) {
      const client = server.client(await issuer.sign({ sub, ...claims }));
      for (const id of ['getMemberInvitation', 'postAcceptInviteMember'] as const) {
        await expect(client.call(id, ids)).rejects.toMatchObject(refusal(404, 'NOT_FOUND', 'invitation'));
      }
    }
    const grace = server.client(await issuer.sign({ sub, email: email.toUpperCase(), email_verified: true }));
    const read = await grace.call('getMemberInvitation', ids);
    // The token of the link is in the response to the inviter only.
    expect(read).toEqual({ ...made, invitation_link: expect.stringMatching(`^[^#]*&invitation=${made.id}$`) });
    expect(await grace.call('postAcceptInviteMember', ids)).toMatchObject({ id: made.id });
    const { results } = await owner.client.call('getOrganizationMembers', { params });
    expect(results).toMatchObject([{ role: 'OWNER' }, { role: 'ADMIN', role_name: 'Admin' }]);
    expect(await grace.call('getOrganizationInvitedMembers', { params })).toEqual({ results: [] });
    await expect(owner.client.call('postInviteMember', { params, body: { email } })).rejects.toMatchObject(
      refusal(409, 'ALREADY_MEMBER'),
    );
  });

  test('that is accepted twice at once makes one member', async () => {
    const { organizationId, owner } = await founded();
    const person = await someone();
    const { id: inviteId } = await owner.client.call('postInviteMember', {
      params: { organizationId },
      body: { email: person.email },
    });
    const ids = { params: { organizationId, inviteId } };
    const answers = await Promise.allSettled(Array.from({ length: 4 }, () => person.client.call('postAcceptInviteMember', ids)));
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const { results } = await owner.client.call('getOrganizationMembers', { params: { organizationId } });
    expect(results.map(({ role_name }) => role_name)).toEqual(['Owner', 'Viewer']);
  });

  test('expires, and makes room for another one; while it is pending there is no second', async () => {
    const { organizationId, owner } = await founded();
    const person = await someone();
    const params = { organizationId };
    const body = { email: person.email };
    const old = await owner.client.call('postInviteMember', { params, body });
    await expect(owner.client.call('postInviteMember', { params, body })).rejects.toMatchObject(refusal(409, 'ALREADY_INVITED'));
    await server.database.database.run(expire, [old.id]);
    const { results } = await owner.client.call('getOrganizationInvitedMembers', { params });
    expect(results).toMatchObject([{ id: old.id, invitation_status: 'EXPIRED' }]);
    const accept = (inviteId: string): Promise<unknown> =>
      person.client.call('postAcceptInviteMember', { params: { organizationId, inviteId } });
    await expect(accept(old.id)).rejects.toMatchObject(refusal(409, 'INVITATION_EXPIRED'));
    const renewed = await owner.client.call('postInviteMember', { params, body });
    await expect(accept(old.id)).rejects.toMatchObject(refusal(404, 'NOT_FOUND'));
    await accept(renewed.id);
    const other = await owner.client.call('postInviteMember', { params, body: { email: 'later@example.org' } });
    await owner.client.call('deleteInviteMember', { params: { organizationId, inviteId: other.id } });
    expect(await owner.client.call('getOrganizationInvitedMembers', { params })).toEqual({ results: [] });
  });

  test('gives no ownership and no role of elsewhere', async () => {
    const { organizationId, owner } = await founded();
    const elsewhere = await founded();
    const foreign = await elsewhere.owner.client.call('createOrganizationCustomRole', {
      params: { organizationId: elsewhere.organizationId },
      body: { name: 'foreign' },
    });
    const invite = (fields: object): Promise<unknown> =>
      owner.client.call('postInviteMember', { params: { organizationId }, body: { email: 'eve@example.org', ...fields } });
    await expect(invite({ role: 'OWNER' })).rejects.toMatchObject({ status: 400, errors: [{ path: 'role' }] });
    await expect(invite({ role_id: roleId('OWNER') })).rejects.toMatchObject({ status: 400, errors: [{ path: 'role_id' }] });
    await expect(invite({ role_id: foreign.id })).rejects.toMatchObject(refusal(400, 'INVALID_REFERENCE', 'role_id'));
    await expect(invite({ email: 'nobody' })).rejects.toMatchObject({ status: 400, errors: [{ path: 'email' }] });
  });
});

const expire = statement('test_invitation_expire', `update invitation set expires_at = clock_timestamp() where id = $1`);

describe('a member', () => {
  test('may at once what the new role allows, and nothing after the removal', async () => {
    const environment = await founded();
    const { organizationId, owner } = environment;
    const params = { organizationId };
    const member = await join(environment, roleId('VIEWER'));
    const create = (name: string): Promise<unknown> => member.client.call('createProject', { params, body: { name } });
    await expect(create('one')).rejects.toMatchObject(refusal(403, 'FORBIDDEN', 'DevOps'));
    await owner.client.call('editOrganizationMemberRole', {
      params,
      body: { user_id: member.id, role_id: roleId('DEVOPS') },
    });
    await create('two');
    await owner.client.call('deleteMember', { params, body: { user_id: member.id } });
    await expect(create('three')).rejects.toMatchObject(refusal(404, 'NOT_FOUND'));
    expect(await member.client.call('listOrganization', {})).toEqual({ results: [] });
    await expect(owner.client.call('deleteMember', { params, body: { user_id: member.id } })).rejects.toMatchObject(
      refusal(400, 'INVALID_REFERENCE', 'user_id'),
    );
  });

  const table: readonly (readonly [BuiltInRole, readonly string[]])[] = [
    ['OWNER', ['read', 'cluster', 'project', 'token', 'member', 'edit']],
    ['ADMIN', ['read', 'cluster', 'project', 'token', 'member', 'edit']],
    ['DEVOPS', ['read', 'cluster', 'project', 'token']],
    ['BILLING_MANAGER', ['cluster']],
    ['VIEWER', ['read', 'cluster']],
  ];
  test.each(table)('with the role %s may what the role says', async (role, may) => {
    const environment = await founded();
    const params = { organizationId: environment.organizationId };
    const { client } = role === 'OWNER' ? environment.owner : await join(environment, roleId(role));
    const attempts: Readonly<Record<string, () => Promise<unknown>>> = {
      read: () => client.call('listProject', { params }),
      cluster: () => client.call('listOrganizationCluster', { params }),
      project: () => client.call('createProject', { params, body: { name: 'shop' } }),
      token: () => client.call('listOrganizationApiTokens', { params }),
      member: () => client.call('postInviteMember', { params, body: { email: 'new@example.org' } }),
      edit: () => client.call('editOrganization', { params, body: { description: 'ours' } }),
      transfer: () => client.call('postOrganizationTransferOwnership', { params, body: { user_id: randomUUID() } }),
      delete: () => client.call('deleteOrganization', { params: { organizationId: environment.organizationId } }),
    };
    const done: string[] = [];
    const refusals: unknown[] = [];
    for (const [name, attempt] of Object.entries(attempts)) {
      // The last two operations are tested elsewhere for the owner.
      if (role === 'OWNER' && (name === 'transfer' || name === 'delete')) continue;
      try {
        await attempt();
        done.push(name);
      } catch (error) {
        refusals.push(error);
      }
    }
    expect(done).toEqual(may);
    for (const error of refusals) expect(error).toMatchObject(refusal(403, 'FORBIDDEN'));
  });

  test('who owns the organization stays, until the ownership is another’s', async () => {
    const environment = await founded();
    const { organizationId, owner } = environment;
    const params = { organizationId };
    const admin = await join(environment, roleId('ADMIN'));
    const demote = { user_id: owner.id, role_id: roleId('VIEWER') };
    await expect(admin.client.call('editOrganizationMemberRole', { params, body: demote })).rejects.toMatchObject(
      refusal(409, 'OWNER_REQUIRED'),
    );
    await expect(admin.client.call('deleteMember', { params, body: { user_id: owner.id } })).rejects.toMatchObject(
      refusal(409, 'OWNER_REQUIRED'),
    );
    const crown = { user_id: admin.id, role_id: roleId('OWNER') };
    await expect(owner.client.call('editOrganizationMemberRole', { params, body: crown })).rejects.toMatchObject({ status: 400 });
    const stranger = await someone();
    await expect(
      owner.client.call('postOrganizationTransferOwnership', { params, body: { user_id: stranger.id } }),
    ).rejects.toMatchObject(refusal(400, 'INVALID_REFERENCE'));
    await owner.client.call('postOrganizationTransferOwnership', { params, body: { user_id: admin.id } });
    const { results } = await owner.client.call('getOrganizationMembers', { params });
    expect(results.map(({ id, role_name }) => [id, role_name])).toEqual([
      [owner.id, 'Admin'],
      [admin.id, 'Owner'],
    ]);
    await expect(
      owner.client.call('postOrganizationTransferOwnership', { params, body: { user_id: owner.id } }),
    ).rejects.toMatchObject(refusal(403, 'FORBIDDEN', 'Owner can do it'));
    await admin.client.call('deleteMember', { params, body: { user_id: owner.id } });
  });

  test('is never owner and removed at once, whoever is faster', async () => {
    for (let round = 0; round < 5; round += 1) {
      const environment = await founded();
      const params = { organizationId: environment.organizationId };
      const member = await join(environment, roleId('ADMIN'));
      const body = { user_id: member.id };
      const client = server.client();
      await Promise.allSettled([
        client.call('postOrganizationTransferOwnership', { params, body }),
        client.call('deleteMember', { params, body }),
      ]);
      const { owner } = await client.call('getOrganization', { params });
      const { results } = await client.call('getOrganizationMembers', { params });
      expect(results.map(({ id }) => id)).toContain(owner);
      expect(results.filter(({ role }) => role === 'OWNER')).toHaveLength(1);
    }
  });
});

test('an organization is deleted by its owner with its members, invitations, roles and tokens', async () => {
  const environment = await founded();
  const params = { organizationId: environment.organizationId };
  const { client } = environment.owner;
  const role = await client.call('createOrganizationCustomRole', { params, body: { name: 'testers' } });
  const member = await join(environment, role.id);
  await client.call('postInviteMember', { params, body: { email: 'open@example.org', role_id: role.id } });
  await client.call('createOrganizationApiToken', { params, body: { name: 'robot', role_id: role.id } });
  await client.call('deleteOrganization', { params });
  for (const one of [environment.owner, member]) expect(await one.client.call('listOrganization', {})).toEqual({ results: [] });
});
