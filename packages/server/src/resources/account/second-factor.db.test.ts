import { statement } from '@davit/db';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { totpCode, totpStep } from '../../auth/totp.ts';
import { makeFirstRunToken, removeSecondFactor } from './index.ts';
import { TestBrowser, type Answer } from './testing/browser.ts';

/* Second factors: switched on, needed, and attacked. */

const email = 'ada@example.org';
const password = 'correct horse battery';
let server: TestServer;
let browser: TestBrowser;
beforeEach(async () => {
  server = await startTestServer();
  browser = new TestBrowser(server);
  const token = await makeFirstRunToken(server.api.deps);
  await browser.send('POST /firstRun', { token, email, password });
});
afterEach(() => server.close());

/** Makes the codes of the present step acceptable again, as those of a later step would be. */
const forgetStep = statement('test_totp_forget_step', 'update second_factor set last_step = 0');
const forgetAttempts = statement('test_totp_attempts_forget', 'delete from sign_in_attempt');
const factorRows = statement<{ text: string }>(
  'test_totp_rows',
  `select jsonb_build_array((select jsonb_agg(to_jsonb(f)) from second_factor f),
     (select jsonb_agg(to_jsonb(c)) from recovery_code c), (select jsonb_agg(to_jsonb(e)) from audit_event e))::text as text`,
);

const signIn = (code?: string): Promise<Answer> => new TestBrowser(server).send('POST /signIn', { email, password, code });
const present = (secret: string): string => totpCode(secret, totpStep(Date.now()));

async function switchOn(): Promise<{ readonly secret: string; readonly codes: readonly string[] }> {
  const made = await browser.send('POST /account/secondFactor', { password });
  const secret = String(made.body['secret']);
  expect(made.body['url']).toBe(`otpauth://totp/Davit%3Aada%40example.org?secret=${secret}&issuer=Davit`);
  const { body } = await browser.send('POST /account/secondFactor/confirm', { code: present(secret) });
  const { recovery_codes: codes }: { readonly recovery_codes: readonly string[] } = JSON.parse(JSON.stringify(body));
  return { secret, codes };
}

test('is needed once it is confirmed, and ends the sessions that began without it', async () => {
  const other = new TestBrowser(server);
  await other.send('POST /signIn', { email, password });
  const refused = await browser.send('POST /account/secondFactor', { password: 'wrong' });
  expect(refused).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  await browser.send('POST /account/secondFactor', { password });
  // A secret that no application has yet must not lock its owner out.
  expect((await signIn()).status).toBe(201);
  const wrong = await browser.send('POST /account/secondFactor/confirm', { code: '000000x' });
  expect(wrong).toMatchObject({ status: 400 });
  expect((await other.send('GET /account')).status).toBe(200);
  const { secret } = await switchOn();
  expect([(await other.send('GET /account')).status, (await browser.send('GET /account')).status]).toEqual([401, 200]);
  expect((await browser.send('GET /account/security')).body).toEqual({
    email,
    has_password: true,
    has_second_factor: true,
    recovery_codes: 10,
    passkeys: 0,
  });
  expect(await signIn()).toMatchObject({ status: 401, cookie: null, body: { code: 'SECOND_FACTOR_REQUIRED' } });
  await server.database.database.run(forgetStep);
  expect((await signIn(present(secret))).status).toBe(201);
  expect(await browser.send('POST /account/secondFactor', { password })).toMatchObject({ body: { code: 'ALREADY_EXISTS' } });
  expect((await browser.send('DELETE /account/secondFactor', { password: 'wrong' })).status).toBe(400);
  expect((await browser.send('DELETE /account/secondFactor', { password })).status).toBe(204);
  expect((await signIn()).status).toBe(201);
});

test('a code is accepted once, also by sign-ins at the same time and after the confirmation', async () => {
  const { secret } = await switchOn();
  // The code of the confirmation.
  expect(await signIn(present(secret))).toMatchObject({ status: 401, body: { code: 'SECOND_FACTOR_REQUIRED' } });
  await server.database.database.run(forgetStep);
  const code = present(secret);
  const answers = await Promise.all([signIn(code), signIn(code), signIn(code)]);
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 401, 401]);
});

test('a recovery code is accepted once; nothing stored or logged shows a secret', async () => {
  const { secret, codes } = await switchOn();
  expect(codes).toHaveLength(10);
  const [first = ''] = codes;
  expect((await signIn(` ${first.toLowerCase()} `)).status).toBe(201);
  expect((await signIn(first)).status).toBe(401);
  expect((await browser.send('GET /account/security')).body).toMatchObject({ recovery_codes: 9 });
  const { text } = await server.database.database.one(factorRows);
  for (const shown of [secret, ...codes, Buffer.from(secret).toString('hex')]) expect(text).not.toContain(shown);
});

test('who has the password cannot guess the code', async () => {
  await switchOn();
  const statuses: number[] = [];
  for (let index = 0; index < 12; index += 1) statuses.push((await signIn(String(index).padStart(6, '0'))).status);
  expect(statuses.filter((status) => status === 401).length).toBeLessThan(8);
  expect(statuses.at(-1)).toBe(429);
});

test('the operator removes it for a person who has lost it', async () => {
  await switchOn();
  await server.database.database.run(forgetAttempts);
  expect(await removeSecondFactor(server.database.database, 'ADA@example.org')).toBe(true);
  expect(await removeSecondFactor(server.database.database, email)).toBe(false);
  expect((await signIn()).status).toBe(201);
});

test('is confirmed once, also by codes at the same time', async () => {
  const made = await browser.send('POST /account/secondFactor', { password });
  const step = totpStep(Date.now());
  const codes = [step, step + 1].map((one) => totpCode(String(made.body['secret']), one));
  const answers = await Promise.all(codes.map((code) => browser.send('POST /account/secondFactor/confirm', { code })));
  expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(['200', '409']);
  expect((await browser.send('GET /account/security')).body).toMatchObject({ recovery_codes: 10 });
});

const lockAccount = statement('test_totp_account_lock', 'select person_id from local_account for update');
const confirmFactor = statement('test_totp_confirm', 'update second_factor set confirmed_at = clock_timestamp()');
const waiting = statement<{ count: number }>(
  'test_totp_waiting',
  `select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
);

test('is needed by a sign-in that began before it was confirmed', async () => {
  await browser.send('POST /account/secondFactor', { password });
  const { database } = server.database;
  const late = await database.transaction(async (tx) => {
    await tx.maybe(lockAccount);
    const answer = signIn();
    await vi.waitFor(async () => expect((await database.one(waiting)).count).toBe(1), 15_000);
    await tx.run(confirmFactor);
    // The answer comes after this transaction.
    return { answer };
  });
  expect(await late.answer).toMatchObject({ status: 401, cookie: null, body: { code: 'SECOND_FACTOR_REQUIRED' } });
});
