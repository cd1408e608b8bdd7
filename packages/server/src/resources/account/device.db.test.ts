import { randomUUID } from 'node:crypto';
import { roleDescriptions, type BuiltInRole } from '@davit/contract';
import { statement } from '@davit/db';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { TestBrowser, type Answer } from './testing/browser.ts';

/* Programs sign in with a code that a person confirms. */

let server: TestServer;
let organizationId: string;
beforeAll(async () => {
  server = await startTestServer();
  organizationId = (await server.organization()).id;
});
afterAll(() => server.close());
beforeEach(async () => {
  await server.database.database.run(forgetAttempts);
});

const forgetAttempts = statement('test_device_attempts_forget', 'delete from sign_in_attempt');
/** Lets the pause between two requests of all programs pass. */
const pauseOver = statement(
  'test_device_pause_over',
  `update device_sign_in set last_polled_at = clock_timestamp() - make_interval(secs => pause_seconds)`,
);
const expire = statement('test_device_expire', 'update device_sign_in set expires_at = clock_timestamp()');

interface Member {
  readonly browser: TestBrowser;
  readonly id: string;
}

async function member(role: BuiltInRole, place = organizationId): Promise<Member> {
  const body = { email: `${randomUUID()}@example.org`, role_id: roleDescriptions[role].id };
  const { invitation_link } = await server.client().call('postInviteMember', { params: { organizationId: place }, body });
  const browser = new TestBrowser(server);
  const token = invitation_link.split('#')[1];
  const accepted = await browser.send('POST /invitation/accept', { token, password: 'correct horse battery', name: 'Ada' });
  return { browser, id: String(accepted.body['person_id']) };
}

const program = (call: string, body: object): Promise<Answer> => new TestBrowser(server).send(call, body, { origin: null });

async function begin(fields: object = {}): Promise<{ readonly device_code: string; readonly user_code: string }> {
  const { body } = await program('POST /deviceSignIn', { name: 'CLI on laptop', ...fields });
  return { device_code: String(body['device_code']), user_code: String(body['user_code']) };
}

async function poll(device_code: string): Promise<Answer> {
  await server.database.database.run(pauseOver);
  return program('POST /deviceSignIn/token', { device_code });
}

async function signedIn(person: Member, fields: object = {}): Promise<Answer> {
  const { device_code, user_code } = await begin();
  const body = { user_code, organization_id: organizationId, ...fields };
  expect(await person.browser.send('POST /deviceSignIn/confirm', body)).toMatchObject({ status: 204 });
  return poll(device_code);
}

const create = (token: unknown): Promise<{ id: string }> =>
  server.client(String(token)).call('createProject', { params: { organizationId }, body: { name: randomUUID() } });

test('a program gets a token of its own after a person confirmed; it is listed and revoked like others', async () => {
  const begun = await program('POST /deviceSignIn', { name: 'CLI on laptop' });
  const [device_code, user_code] = [String(begun.body['device_code']), String(begun.body['user_code'])];
  expect(begun).toMatchObject({
    status: 201,
    body: {
      user_code: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/),
      verification_uri_complete: expect.stringMatching(`/console/device#${user_code}$`),
      expires_in: 900,
      interval: 5,
    },
  });
  expect(await poll(device_code)).toMatchObject({ status: 400, body: { code: 'AUTHORIZATION_PENDING' } });
  const { browser } = await member('DEVOPS');
  const typed = user_code.replace('-', '').toLowerCase();
  expect(await browser.send('POST /deviceSignIn/read', { user_code: typed })).toMatchObject({
    status: 200,
    body: { name: 'CLI on laptop', address: '127.0.0.1', scope: null },
  });
  const body = { user_code: typed, organization_id: organizationId, expires_in_days: 30 };
  expect(await browser.send('POST /deviceSignIn/confirm', body)).toMatchObject({ status: 204 });
  // A confirmed code cannot be confirmed again, for another organization.
  expect(await browser.send('POST /deviceSignIn/confirm', body)).toMatchObject({ status: 409 });
  const answers = await Promise.all([poll(device_code), poll(device_code), poll(device_code)]);
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400]);
  const token = answers.find(({ status }) => status === 200)?.body ?? {};
  expect(token).toMatchObject({ token_type: 'Bearer', name: `CLI on laptop (${user_code})`, organization_id: organizationId });
  await create(token['access_token']);
  const params = { organizationId };
  const listed = (await server.client().call('listOrganizationApiTokens', { params })).results;
  expect(listed).toContainEqual(
    expect.objectContaining({ id: token['token_id'], role_name: 'DevOps', expires_at: token['expires_at'] }),
  );
  const events = JSON.stringify((await browser.send(`GET /organization/${organizationId}/events`)).body);
  expect(events).toContain('getDeviceToken');
  for (const secret of [device_code, String(token['access_token'])]) expect(events).not.toContain(secret);
  await server.client().call('deleteOrganizationApiToken', { params: { ...params, apiTokenId: String(token['token_id']) } });
  await expect(create(token['access_token'])).rejects.toMatchObject({ status: 401 });
});

test('a program that asks too often is slowed down, and one that is refused or late gets nothing', async () => {
  const { device_code, user_code } = await begin();
  const ask = (): Promise<Answer> => program('POST /deviceSignIn/token', { device_code });
  expect((await ask()).body).toMatchObject({ code: 'AUTHORIZATION_PENDING' });
  expect((await ask()).body).toMatchObject({ code: 'SLOW_DOWN' });
  const { browser } = await member('ADMIN');
  expect(await browser.send('POST /deviceSignIn/deny', { user_code })).toMatchObject({ status: 204 });
  expect((await poll(device_code)).body).toMatchObject({ code: 'ACCESS_DENIED' });
  const late = await begin();
  await server.database.database.run(expire);
  const body = { user_code: late.user_code, organization_id: organizationId };
  expect(await browser.send('POST /deviceSignIn/confirm', body)).toMatchObject({ status: 409 });
  expect((await poll(late.device_code)).body).toMatchObject({ code: 'DEVICE_CODE_EXPIRED' });
});

test('no foreign, guessed or swapped code yields a token', async () => {
  const { device_code, user_code } = await begin();
  for (const wrong of [user_code, randomUUID(), '']) {
    expect((await poll(wrong)).body).toMatchObject({ code: 'DEVICE_CODE_EXPIRED' });
  }
  const { browser } = await member('ADMIN');
  const confirm = (fields: object): Promise<Answer> =>
    browser.send('POST /deviceSignIn/confirm', { user_code, organization_id: organizationId, ...fields });
  const elsewhere = await server.organization();
  expect((await confirm({ organization_id: elsewhere.id })).body).toMatchObject({ code: 'INVALID_REFERENCE' });
  const statuses: number[] = [];
  for (let index = 0; index < 12; index += 1) statuses.push((await confirm({ user_code: device_code.slice(0, 9) })).status);
  expect(statuses.at(-1)).toBe(429);
  expect((await poll(device_code)).body).toMatchObject({ code: 'AUTHORIZATION_PENDING' });
  const headers = { origin: 'https://evil.example' };
  const forged = await browser.send('POST /deviceSignIn/confirm', { user_code, organization_id: organizationId }, headers);
  expect(forged).toMatchObject({ status: 403, body: { code: 'ORIGIN_REFUSED' } });
});

test('a token has no more rights than the person, and ends with the membership or a change of its role', async () => {
  const viewer = await member('VIEWER');
  const { device_code, user_code } = await begin();
  const body = { user_code, organization_id: organizationId, scope: 'WRITE' };
  expect(await viewer.browser.send('POST /deviceSignIn/confirm', body)).toMatchObject({ status: 403 });
  expect((await poll(device_code)).body).toMatchObject({ code: 'AUTHORIZATION_PENDING' });
  const seeing = (await signedIn(viewer)).body['access_token'];
  await expect(create(seeing)).rejects.toMatchObject({ status: 403 });
  const devops = await member('DEVOPS');
  const narrow = (await signedIn(devops, { scope: 'READ' })).body['access_token'];
  await expect(create(narrow)).rejects.toMatchObject({ status: 403 });
  const wide = (await signedIn(devops)).body['access_token'];
  await create(wide);
  const params = { organizationId };
  await server
    .client()
    .call('editOrganizationMemberRole', { params, body: { user_id: devops.id, role_id: roleDescriptions.VIEWER.id } });
  await expect(create(wide)).rejects.toMatchObject({ status: 401 });
  await server.client().call('deleteMember', { params, body: { user_id: viewer.id } });
  await expect(create(seeing)).rejects.toMatchObject({ status: 401 });
  // A confirmation of a person who was removed before the program asks.
  const leaver = await member('ADMIN');
  const pending = await begin();
  await leaver.browser.send('POST /deviceSignIn/confirm', { user_code: pending.user_code, organization_id: organizationId });
  await server.client().call('deleteMember', { params, body: { user_id: leaver.id } });
  expect((await poll(pending.device_code)).body).toMatchObject({ code: 'ACCESS_DENIED' });
});

test('the token of a former owner does not keep the rights of the owner', async () => {
  const place = (await server.organization()).id;
  const params = { organizationId: place };
  const first = await member('ADMIN', place);
  const second = await member('ADMIN', place);
  await server.client().call('postOrganizationTransferOwnership', { params, body: { user_id: first.id } });
  const { body } = await signedIn(first, { organization_id: place });
  const api = server.client(String(body['access_token']));
  await api.call('editOrganization', { params, body: { description: 'mine' } });
  await server.client().call('postOrganizationTransferOwnership', { params, body: { user_id: second.id } });
  await expect(api.call('getOrganization', { params })).rejects.toMatchObject({ status: 401 });
});

test('a program revokes its own token, and no other kind of token', async () => {
  const { body } = await signedIn(await member('DEVOPS'));
  const { access_token, token_id } = body;
  await create(access_token);
  const revoke = (token: unknown): Promise<Answer> => program('POST /deviceSignIn/revoke', { access_token: token });
  expect(await revoke(access_token)).toMatchObject({ status: 204 });
  await expect(create(access_token)).rejects.toMatchObject({ status: 401 });
  // A repetition, and a token that nobody has.
  expect([await revoke(access_token), await revoke(randomUUID())]).toMatchObject([{ status: 204 }, { status: 204 }]);
  const params = { organizationId };
  const events = JSON.stringify(await server.client().call('getOrganizationEvents', { params, query: {} }));
  expect(events).toContain(String(token_id));
  expect(events).not.toContain(String(access_token));
  const made = await server.client().call('createOrganizationApiToken', { params, body: { name: randomUUID() } });
  expect(await revoke(made.token)).toMatchObject({ status: 204 });
  await create(made.token);
});

test('a sign-in that was confirmed before a reset of the password yields no token after it', async () => {
  const person = await member('DEVOPS');
  const { device_code, user_code } = await begin();
  const body = { user_code, organization_id: organizationId };
  expect((await person.browser.send('POST /deviceSignIn/confirm', body)).status).toBe(204);
  const params = { organizationId, userId: person.id };
  const { link } = await server.client().call('createPasswordLink', { params });
  const reset = { token: link.split('#')[1], password: 'another password' };
  expect((await new TestBrowser(server).send('POST /passwordReset', reset)).status).toBe(200);
  expect((await poll(device_code)).body['code']).toBe('DEVICE_CODE_EXPIRED');
});
