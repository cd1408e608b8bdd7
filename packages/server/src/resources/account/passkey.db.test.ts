import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { totpCode, totpStep } from '../../auth/totp.ts';
import { makeFirstRunToken, resetAccount } from './index.ts';
import { TestPasskey, type Deviations } from './testing/authenticator.ts';
import { TestBrowser, type Answer } from './testing/browser.ts';

/* Passkeys: added, used, removed, and attacked. */

const email = 'ada@example.org';
const password = 'correct horse battery';
let server: TestServer;
let place: { readonly baseUrl: string };
let browser: TestBrowser;
beforeEach(async () => {
  server = await startTestServer();
  // Passkeys belong to a host name.
  place = { baseUrl: server.baseUrl.replace('127.0.0.1', 'localhost') };
  browser = new TestBrowser(place);
  await browser.send('POST /firstRun', { token: await makeFirstRunToken(server.api.deps), email, password });
});
afterEach(() => server.close());

const forgetAttempts = statement('test_passkey_attempts_forget', 'delete from sign_in_attempt');
const rows = statement<{ count: number; counter: number }>(
  'test_passkey_rows',
  'select count(*)::int as count, coalesce(max(counter), 0) as counter from passkey',
);

const challenge = async (extra: object = {}): Promise<Answer> =>
  browser.send('POST /account/passkey/challenge', { password, ...extra });

const send = (credential: unknown, by = browser): Promise<Answer> =>
  by.send('POST /account/passkey', { name: 'Phone', credential });

/** Adds a passkey to the account. */
async function add(): Promise<TestPasskey> {
  const passkey = new TestPasskey(place.baseUrl);
  const { status, body } = await challenge();
  expect(status).toBe(201);
  expect(await send(passkey.create(body))).toMatchObject({ status: 201, body: { name: 'Phone', last_used_at: null } });
  return passkey;
}

/** Signs in with a passkey in a new browser, or in `by`. */
async function signIn(passkey: TestPasskey, deviations: Deviations = {}, by = new TestBrowser(place)): Promise<Answer> {
  const { body } = await by.send('POST /signIn/passkey/challenge');
  return by.send('POST /signIn/passkey', { credential: passkey.get(body, deviations) });
}

const list = async (): Promise<readonly Record<string, unknown>[]> => {
  const { results }: { results: Record<string, unknown>[] } = JSON.parse(
    JSON.stringify((await browser.send('GET /account/passkey')).body),
  );
  return results;
};

const refused = { status: 401, body: { code: 'SIGN_IN_REFUSED' }, cookie: null };
const expired = { status: 400, body: { code: 'SIGN_IN_EXPIRED' } };

test('signs in without a password, is listed, renamed and removed, and then signs in no more', async () => {
  expect((await browser.send('GET /signIn')).body).toMatchObject({ passkeys: true });
  const passkey = await add();
  const phone = new TestBrowser(place);
  const answer = await signIn(passkey, {}, phone);
  expect(answer).toMatchObject({ status: 201, body: { email } });
  expect(answer.cookie).toMatch(/^davit-session=dvs_[\w-]{43}; .*HttpOnly; SameSite=Strict$/);
  expect((await phone.send('GET /account')).status).toBe(200);
  expect(await list()).toEqual([
    { id: expect.any(String), name: 'Phone', is_synced: false, created_at: expect.any(String), last_used_at: expect.any(String) },
  ]);
  const path = `/account/passkey/${String((await list())[0]?.['id'])}`;
  expect(await browser.send(`PUT ${path}`, { name: 'Old phone' })).toMatchObject({ status: 200, body: { name: 'Old phone' } });
  expect((await browser.send('GET /account/security')).body).toMatchObject({ passkeys: 1, has_password: true });
  // Another person neither renames nor removes it.
  const organization = await server.organization();
  const params = { organizationId: organization.id };
  const { invitation_link: link } = await server.client().call('postInviteMember', { params, body: { email: 'b@example.org' } });
  const other = new TestBrowser(place);
  await other.send('POST /invitation/accept', { token: link.split('#')[1], password });
  expect(await other.send(`PUT ${path}`, { name: 'Mine' })).toMatchObject({ status: 404 });
  expect(await other.send(`DELETE ${path}`)).toMatchObject({ status: 404 });
  expect(await browser.send(`DELETE ${path}`)).toMatchObject({ status: 204 });
  expect(await signIn(passkey)).toMatchObject(refused);
});

test('is added only by who knows the password and the second factor', async () => {
  expect(await challenge({ password: 'wrong' })).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  const { body } = await browser.send('POST /account/secondFactor', { password });
  const code = (): string => totpCode(String(body['secret']), totpStep(Date.now()));
  const { body: confirmed } = await browser.send('POST /account/secondFactor/confirm', { code: code() });
  const { recovery_codes: codes }: { recovery_codes: string[] } = JSON.parse(JSON.stringify(confirmed));
  expect(await challenge()).toMatchObject({ status: 401, body: { code: 'SECOND_FACTOR_REQUIRED' } });
  expect(await challenge({ code: '000000' })).toMatchObject({ status: 401 });
  const made = await challenge({ code: codes[0] });
  const passkey = new TestPasskey(place.baseUrl);
  expect(await send(passkey.create(made.body))).toMatchObject({ status: 201 });
  // The passkey is two factors by itself.
  expect(await signIn(passkey)).toMatchObject({ status: 201 });
  await server.database.database.run(forgetAttempts);
  // An API token and an IP address have none.
  expect(
    await server
      .client()
      .call('listPasskeys', {})
      .catch((error: unknown) => error),
  ).toMatchObject({ status: 403 });
  expect((await new TestBrowser(server).send('GET /signIn')).body).toMatchObject({ passkeys: false });
  expect(await new TestBrowser(server).send('POST /signIn/passkey/challenge')).toMatchObject({ status: 403 });
});

test('a new passkey of another origin, another host, another challenge or without PIN is refused', async () => {
  const wrongs: Deviations[] = [
    { origin: 'https://evil.example' },
    { origin: place.baseUrl.replace(/\d+$/, '1') },
    { rpId: 'evil.example' },
    { challenge: 'AAAA' },
    { isVerified: false },
  ];
  for (const wrong of wrongs) {
    const { body } = await challenge();
    const answer = await send(new TestPasskey(place.baseUrl).create(body, wrong));
    expect({ wrong, answer }).toMatchObject({ wrong, answer: { status: 400, body: { code: 'VALIDATION_FAILED' } } });
    await server.database.database.run(forgetAttempts);
  }
  // The challenge belongs to the session that asked, and is used once.
  const { body } = await challenge();
  const passkey = new TestPasskey(place.baseUrl);
  const elsewhere = new TestBrowser(place);
  await elsewhere.send('POST /signIn', { email, password });
  elsewhere.stateCookie = browser.stateCookie;
  expect(await send(passkey.create(body), elsewhere)).toMatchObject(expired);
  expect(await send(passkey.create(body))).toMatchObject({ status: 201 });
  expect(await send(new TestPasskey(place.baseUrl).create(body))).toMatchObject(expired);
  const again = await challenge();
  expect(again.body['excludeCredentials']).toEqual([{ id: passkey.id, type: 'public-key' }]);
  expect(await send(passkey.create(again.body))).toMatchObject({ status: 409, body: { code: 'ALREADY_EXISTS' } });
});

test('a sign-in of another origin or host, without PIN, with an old answer or by a copy is refused', async () => {
  const passkey = await add();
  for (const wrong of [
    { origin: 'https://evil.example' },
    { rpId: 'evil.example' },
    { challenge: 'AAAA' },
    { isVerified: false },
  ] satisfies Deviations[]) {
    expect({ wrong, answer: await signIn(passkey, wrong) }).toMatchObject({ wrong, answer: refused });
    await server.database.database.run(forgetAttempts);
  }
  expect(await signIn(new TestPasskey(place.baseUrl))).toMatchObject(refused);
  // An answer is accepted once, and only from the browser that asked.
  const phone = new TestBrowser(place);
  const { body } = await phone.send('POST /signIn/passkey/challenge');
  const credential = passkey.get(body);
  const { stateCookie } = phone;
  expect(await new TestBrowser(place).send('POST /signIn/passkey', { credential })).toMatchObject(expired);
  const foreign = await phone.send('POST /signIn/passkey', { credential }, { origin: 'https://evil.example' });
  expect(foreign).toMatchObject({ status: 403, body: { code: 'ORIGIN_REFUSED' } });
  const statuses = await Promise.all(
    [1, 2, 3].map(async () => (await phone.send('POST /signIn/passkey', { credential })).status),
  );
  expect(statuses.toSorted((a, b) => a - b)).toEqual([201, 400, 400]);
  phone.stateCookie = stateCookie;
  expect(await phone.send('POST /signIn/passkey', { credential })).toMatchObject(expired);
  // A copy has counted less than the original.
  const { counter } = passkey;
  expect(await signIn(passkey)).toMatchObject({ status: 201 });
  passkey.counter = counter;
  expect(await signIn(passkey)).toMatchObject(refused);
  expect(await server.database.database.one(rows)).toEqual({ count: 1, counter: counter + 1 });
  passkey.userHandle = Buffer.from(randomUUID()).toString('base64url');
  passkey.counter = counter + 1;
  expect(await signIn(passkey)).toMatchObject(refused);
});

test('stays when the password is changed, and goes when it is reset by a link', async () => {
  const passkey = await add();
  const changed = await browser.send('PUT /account/password', { current_password: password, new_password: 'another password' });
  expect(changed).toMatchObject({ status: 200, body: { passkeys: 1, has_second_factor: false } });
  const thief = new TestBrowser(place);
  expect(await signIn(passkey, {}, thief)).toMatchObject({ status: 201 });
  const token = await resetAccount(server.database.database, email);
  const reset = await new TestBrowser(place).send('POST /passwordReset', { token, password });
  expect(reset).toMatchObject({ status: 200, body: { removed_passkeys: 1, has_second_factor: false } });
  expect((await thief.send('GET /account')).status).toBe(401);
  expect(await signIn(passkey)).toMatchObject(refused);
});

test('an account has at most 20, however many are added at once', async () => {
  const asked: (() => Promise<Answer>)[] = [];
  for (let index = 0; index < 22; index += 1) {
    const { body } = await challenge();
    const tab = new TestBrowser(place, browser.cookie);
    tab.stateCookie = browser.stateCookie;
    const credential = new TestPasskey(place.baseUrl).create(body);
    asked.push(() => send(credential, tab));
  }
  const statuses = await Promise.all(asked.map(async (one) => (await one()).status));
  expect(statuses.filter((status) => status === 201)).toHaveLength(20);
  expect(await challenge()).toMatchObject({ status: 403 });
});
