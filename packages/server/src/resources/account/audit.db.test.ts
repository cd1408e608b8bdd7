import { statement } from '@davit/db';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { totpCode, totpStep } from '../../auth/totp.ts';
import { moveRefusals, resetAccount } from './index.ts';
import { TestPasskey } from './testing/authenticator.ts';
import { TestBrowser, type Answer } from './testing/browser.ts';

/* Sign-ins in the audit logs of a person's organizations. */

const email = 'ada@example.org';
const password = 'correct horse battery';
let server: TestServer;
let place: { readonly baseUrl: string };
let shop: string;
let elsewhere: string;
let browser: TestBrowser;
beforeAll(async () => {
  server = await startTestServer();
  place = { baseUrl: server.baseUrl.replace('127.0.0.1', 'localhost') };
  shop = (await server.organization('Shop')).id;
  elsewhere = (await server.organization('Elsewhere')).id;
  const params = { organizationId: shop };
  const { invitation_link: link } = await server.client().call('postInviteMember', { params, body: { email } });
  browser = new TestBrowser(place);
  await browser.send('POST /invitation/accept', { token: link.split('#')[1], password, name: 'Ada' });
});
afterAll(() => server.close());

/** Returns the events of persons in a log, the oldest first, as `TYPE PART by whom (operation)`. */
async function eventsOf(organizationId: string): Promise<readonly string[]> {
  const query = { pageSize: 100 };
  const { events } = await server.client().call('getOrganizationEvents', { params: { organizationId }, query });
  return events
    .filter(({ operation }) => operation !== 'postInviteMember' && operation !== 'acceptInvitationLink')
    .filter(({ target_type }) => target_type === 'MEMBERS_AND_ROLES')
    .map((one) => `${one.event_type} ${one.sub_target_type ?? '-'} by ${one.triggered_by} (${one.operation ?? ''})`)
    .toReversed();
}

const waitOver = statement('test_audit_wait_over', 'update sign_in_attempt set free_at = clock_timestamp()');
const refusals = statement<{ count: number }>('test_audit_refusals', 'select count(*)::int as count from refused_sign_in');

const enter = (by: TestBrowser, extra: object = {}): Promise<Answer> => by.send('POST /signIn', { email, password, ...extra });

test('an administrator sees who signed in and out, and who changed what signs them in', async () => {
  await enter(new TestBrowser(place), { password: 'wrong' });
  await moveRefusals(server.database.database);
  const other = new TestBrowser(place);
  await enter(other);
  await other.send('DELETE /session');
  const { body: options } = await browser.send('POST /account/passkey/challenge', { password });
  const passkey = new TestPasskey(place.baseUrl);
  const added = await browser.send('POST /account/passkey', { name: 'Phone', credential: passkey.create(options) });
  const { body: asked } = await other.send('POST /signIn/passkey/challenge');
  await other.send('POST /signIn/passkey', { credential: passkey.get(asked) });
  await browser.send(`DELETE /account/passkey/${String(added.body['id'])}`);
  await browser.send('DELETE /account/session');
  const { body } = await browser.send('POST /account/secondFactor', { password });
  await browser.send('POST /account/secondFactor/confirm', { code: totpCode(String(body['secret']), totpStep(Date.now())) });
  await enter(new TestBrowser(place));
  await enter(new TestBrowser(place), { code: '000000' });
  await moveRefusals(server.database.database);
  await browser.send('DELETE /account/secondFactor', { password });
  await browser.send('PUT /account/password', { current_password: password, new_password: password });
  const token = await resetAccount(server.database.database, email);
  await new TestBrowser(place).send('POST /passwordReset', { token, password });
  expect(await eventsOf(shop)).toEqual([
    'SIGN_IN_REFUSED - by anonymous (signIn)',
    'SIGN_IN - by Ada (signIn)',
    'SIGN_OUT - by Ada (deleteSession)',
    'CREATE PASSKEY by Ada (createPasskey)',
    'SIGN_IN - by Ada (signInWithPasskey)',
    'DELETE PASSKEY by Ada (deletePasskey)',
    'DELETE SESSION by Ada (endOtherSessions)',
    'CREATE SECOND_FACTOR by Ada (confirmSecondFactor)',
    'SIGN_IN_REFUSED - by anonymous (signIn)',
    'DELETE SECOND_FACTOR by Ada (deleteSecondFactor)',
    'UPDATE PASSWORD by Ada (changePassword)',
    'UPDATE PASSWORD by Ada (resetPassword)',
  ]);
  expect(await eventsOf(elsewhere)).toEqual([]);
});

test('who guesses does not fill the log, nor one with addresses that have no account', async () => {
  expect((await enter(new TestBrowser(place))).status).toBe(201);
  const before = (await eventsOf(shop)).length;
  const { database } = server.database;
  for (let index = 0; index < 15; index += 1) {
    await enter(new TestBrowser(place), { password: 'wrong' });
    await enter(new TestBrowser(place), { email: 'nobody@example.org' });
    await database.run(waitOver);
  }
  await moveRefusals(database);
  expect((await eventsOf(shop)).length - before).toBe(10);
  expect((await database.one(refusals)).count).toBe(0);
});
