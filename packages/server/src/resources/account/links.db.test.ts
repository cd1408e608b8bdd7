import { randomUUID } from 'node:crypto';
import { roleDescriptions, type BuiltInRole } from '@davit/contract';
import { statement } from '@davit/db';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createAccountOf, listAccounts, resetAccount, trimAccounts } from './index.ts';
import { TestBrowser, type Answer } from './testing/browser.ts';

/* Links that are used once: invitations, and passwords that were lost. */

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const password = 'correct horse battery';
const tokenOf = (link: string): string => link.split('#')[1] ?? '';

/** Invites with the administrator's token. Returns the token of the link. */
async function invite(organizationId: string, email: string, role: BuiltInRole = 'VIEWER'): Promise<string> {
  const body = { email, role_id: roleDescriptions[role].id };
  const { invitation_link } = await server.client().call('postInviteMember', { params: { organizationId }, body });
  return tokenOf(invitation_link);
}

interface Joined {
  readonly browser: TestBrowser;
  readonly email: string;
  readonly id: string;
}

async function join(organizationId: string, role: BuiltInRole = 'VIEWER'): Promise<Joined> {
  const email = `${randomUUID()}@example.org`;
  const browser = new TestBrowser(server);
  const { body } = await browser.send('POST /invitation/accept', { token: await invite(organizationId, email, role), password });
  return { browser, email, id: String(body['person_id']) };
}

const members = async (organizationId: string): Promise<readonly string[]> =>
  (await server.client().call('getOrganizationMembers', { params: { organizationId } })).results.map(({ email }) => email);

const signIn = (email: string, word = password): Promise<Answer> =>
  new TestBrowser(server).send('POST /signIn', { email, password: word });

const expireLinks = statement('test_links_expire', `update one_time_link set expires_at = clock_timestamp()`);

const membershipAdd = statement(
  'test_links_membership_add',
  `insert into membership (organization_id, person_id, role) values ($1, $2, 'VIEWER')`,
);
const waiting = statement<{ count: number }>(
  'test_links_waiting',
  `select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
);

describe('the link of an invitation', () => {
  test('shows the invitation, makes an account that is signed in, and works once', async () => {
    const { id } = await server.organization('Shop');
    const token = await invite(id, 'Grace@Example.org', 'DEVOPS');
    const browser = new TestBrowser(server);
    expect(await browser.send('POST /invitation/read', { token })).toMatchObject({
      status: 200,
      body: { email: 'grace@example.org', organization_id: id, organization_name: 'Shop', role_name: 'DevOps' },
    });
    const accept = (): Promise<Answer> => browser.send('POST /invitation/accept', { token, password, name: 'Grace' });
    const answers = await Promise.all([accept(), accept(), accept()]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409]);
    expect(await members(id)).toEqual(['grace@example.org']);
    expect((await signIn('grace@example.org')).status).toBe(201);
    expect((await browser.send('POST /invitation/read', { token })).body).toMatchObject({ code: 'LINK_NOT_VALID' });
    const again = { params: { organizationId: id }, body: { email: 'grace@example.org' } };
    await expect(server.client().call('postInviteMember', again)).rejects.toMatchObject({ code: 'ALREADY_MEMBER' });
  });

  test('is accepted by a person who has an account, without a second one', async () => {
    const first = await server.organization();
    const second = await server.organization();
    const { browser, email } = await join(first.id);
    const token = await invite(second.id, email);
    expect(await new TestBrowser(server).send('POST /invitation/accept', { token, password })).toMatchObject({
      status: 409,
      body: { code: 'EMAIL_TAKEN' },
    });
    expect(await browser.send('POST /invitation/join', { token })).toMatchObject({ status: 201 });
    expect(await members(second.id)).toEqual([email]);
    const own = await invite(first.id, 'another@example.org');
    expect(await browser.send('POST /invitation/join', { token: own })).toMatchObject({ body: { code: 'ALREADY_MEMBER' } });
    // The refusal has not used the link up.
    const { browser: other } = await join(second.id);
    expect(await other.send('POST /invitation/join', { token: own })).toMatchObject({ status: 201 });
  });

  test('is not in what members read, dies with the invitation, expires, and is no guess', async () => {
    const { id } = await server.organization();
    const { browser } = await join(id);
    const params = { organizationId: id };
    const body = { email: 'later@example.org', role_id: roleDescriptions.ADMIN.id };
    const made = await server.client().call('postInviteMember', { params, body });
    const token = tokenOf(made.invitation_link);
    const list = await browser.send(`GET /organization/${id}/inviteMember`);
    expect(list).toMatchObject({ status: 200, body: { results: [{ id: made.id }] } });
    expect(JSON.stringify(list.body)).not.toContain(token);
    const read = (word: string): Promise<Answer> => new TestBrowser(server).send('POST /invitation/read', { token: word });
    expect((await read(randomUUID())).status).toBe(409);
    expect((await read(token)).status).toBe(200);
    await server.client().call('deleteInviteMember', { params: { ...params, inviteId: made.id } });
    expect((await read(token)).status).toBe(409);
    const expiring = await invite(id, 'later@example.org');
    await server.database.database.run(expireLinks);
    expect((await read(expiring)).status).toBe(409);
  });
});

const linkCount = statement<{ count: number }>('test_links_count', 'select count(*)::int as count from one_time_link');

test('an expired link leaves no event of another person in the log of its organization', async () => {
  const { database } = server.database;
  const { id } = await server.organization();
  const member = await join(id);
  const params = { organizationId: id };
  await server.client().call('createPasswordLink', { params: { ...params, userId: member.id } });
  await database.run(expireLinks);
  const elsewhere = await server.organization();
  await invite(elsewhere.id, 'somebody@example.org');
  await trimAccounts(database);
  expect((await database.one(linkCount)).count).toBe(1);
  const { events } = await server.client().call('getOrganizationEvents', { params });
  expect((events ?? []).filter(({ event_type }) => event_type === 'DELETE')).toEqual([]);
});

describe('a lost password', () => {
  const link = (browser: TestBrowser, organizationId: string, userId: string): Promise<Answer> =>
    browser.send(`POST /organization/${organizationId}/member/${userId}/passwordLink`);
  const reset = (token: string, word: string): Promise<Answer> =>
    new TestBrowser(server).send('POST /passwordReset', { token, password: word });

  test('is replaced by the link of an admin, which ends all sessions and works once', async () => {
    const { id } = await server.organization();
    const admin = await join(id, 'ADMIN');
    const lost = await join(id);
    const made = await link(admin.browser, id, lost.id);
    expect(made).toMatchObject({ status: 201, body: { link: expect.stringMatching(/\/console\/password#[\w-]{43}$/) } });
    const token = tokenOf(String(made.body['link']));
    expect((await reset(token, 'short')).status).toBe(400);
    expect((await lost.browser.send('GET /account')).status).toBe(200);
    const other = tokenOf(String((await link(admin.browser, id, lost.id)).body['link']));
    expect((await reset(token, 'another password')).status).toBe(200);
    expect((await lost.browser.send('GET /account')).status).toBe(401);
    expect([(await signIn(lost.email)).status, (await signIn(lost.email, 'another password')).status]).toEqual([401, 201]);
    for (const used of [token, other]) expect((await reset(used, 'a third password')).status).toBe(409);
    const events = await admin.browser.send(`GET /organization/${id}/events`);
    expect(JSON.stringify(events.body)).toContain('createPasswordLink');
    expect(JSON.stringify(events.body)).not.toContain(token);
  });

  test('is no way to take over an owner, or a person who belongs to other organizations', async () => {
    const { id } = await server.organization();
    const admin = await join(id, 'ADMIN');
    const owner = await join(id, 'ADMIN');
    const params = { organizationId: id };
    await server.client().call('postOrganizationTransferOwnership', { params, body: { user_id: owner.id } });
    expect(await link(admin.browser, id, owner.id)).toMatchObject({ status: 403 });
    const elsewhere = await server.organization();
    const guest = await join(elsewhere.id, 'ADMIN');
    await guest.browser.send('POST /invitation/join', { token: await invite(id, guest.email) });
    for (const { browser } of [admin, owner]) expect(await link(browser, id, guest.id)).toMatchObject({ status: 403 });
    expect(await link(admin.browser, elsewhere.id, guest.id)).toMatchObject({ status: 404 });
    expect(await link(admin.browser, id, randomUUID())).toMatchObject({ status: 404 });
    const plain = await join(id, 'DEVOPS');
    expect(await link(plain.browser, id, admin.id)).toMatchObject({ status: 403 });
    expect(await link(owner.browser, id, admin.id)).toMatchObject({ status: 201 });
    const operator = server.client().call('createPasswordLink', { params: { ...params, userId: owner.id } });
    expect(await operator).toMatchObject({ link: expect.stringContaining('#') });
  });

  test('of an organization does not work when the person joins another one at the same moment', async () => {
    const { id } = await server.organization();
    const admin = await join(id, 'ADMIN');
    const guest = await join(id);
    const token = tokenOf(String((await link(admin.browser, id, guest.id)).body['link']));
    const elsewhere = await server.organization();
    const { database } = server.database;
    const late = await database.transaction(async (tx) => {
      await tx.run(membershipAdd, [elsewhere.id, guest.id]);
      const answer = reset(token, 'another password');
      await vi.waitFor(async () => expect((await database.one(waiting)).count).toBe(1), 15_000);
      // The answer comes after this transaction.
      return { answer };
    });
    expect(await late.answer).toMatchObject({ status: 409, body: { code: 'LINK_NOT_VALID' } });
  });

  test('is not replaced by the link of an organization once the person has joined another one, owns it, or has left it', async () => {
    const { id } = await server.organization();
    const admin = await join(id, 'ADMIN');
    const guest = await join(id);
    const early = tokenOf(String((await link(admin.browser, id, guest.id)).body['link']));
    const elsewhere = await server.organization();
    await guest.browser.send('POST /invitation/join', { token: await invite(elsewhere.id, guest.email) });
    expect(await reset(early, 'another password')).toMatchObject({ status: 409, body: { code: 'LINK_NOT_VALID' } });
    expect((await signIn(guest.email)).status).toBe(201);
    const params = { organizationId: id };
    const next = await join(id, 'ADMIN');
    const former = tokenOf(String((await link(admin.browser, id, next.id)).body['link']));
    await server.client().call('postOrganizationTransferOwnership', { params, body: { user_id: next.id } });
    expect((await reset(former, 'another password')).status).toBe(409);
    // The operator may, and so may the owner for themselves.
    const operator = await server.client().call('createPasswordLink', { params: { ...params, userId: next.id } });
    expect((await reset(tokenOf(operator.link), 'another password')).status).toBe(200);
    const left = await join(id);
    const last = tokenOf(String((await link(admin.browser, id, left.id)).body['link']));
    await server.client().call('deleteMember', { params, body: { user_id: left.id } });
    expect((await reset(last, 'another password')).status).toBe(409);
  });

  test('is reset by the operator of the machine, who also creates accounts', async () => {
    const { database } = server.database;
    expect(await resetAccount(database, 'nobody@example.org')).toBeNull();
    const token = await createAccountOf(database, 'Operator@example.org');
    expect((await signIn('operator@example.org', '!')).status).toBe(401);
    expect((await reset(token, password)).status).toBe(200);
    expect((await signIn('operator@example.org')).status).toBe(201);
    const again = await resetAccount(database, 'OPERATOR@example.org');
    expect((await reset(again ?? '', 'another password')).status).toBe(200);
    expect((await signIn('operator@example.org', 'another password')).status).toBe(201);
    expect(await listAccounts(database)).toContainEqual(expect.objectContaining({ email: 'operator@example.org' }));
    await expect(createAccountOf(database, 'operator@example.org')).rejects.toMatchObject({ code: 'EMAIL_TAKEN' });
  });
});
