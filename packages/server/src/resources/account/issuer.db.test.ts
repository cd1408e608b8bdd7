import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { OpenIdIssuer } from '@davit/testkit/openid-issuer';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SignInStates } from '../../auth/sign-in-states.ts';
import { trimAccounts } from './index.ts';
import { TestBrowser, type Answer } from './testing/browser.ts';

/* Sign-in through an OpenID Connect issuer in the browser: a real issuer, and attacks. */

const clientSecret = 'a-secret-of-this-test';
let issuer: OpenIdIssuer;
let server: TestServer;
beforeAll(async () => {
  issuer = await OpenIdIssuer.start();
  server = await startTestServer({
    environment: {
      DAVIT_OIDC_ISSUER: issuer.url,
      DAVIT_OIDC_CLIENT_ID: OpenIdIssuer.clientId,
      DAVIT_OIDC_CLIENT_SECRET: clientSecret,
    },
  });
  await issuer.serve(`${server.baseUrl}/console/issuer`, clientSecret);
});
afterAll(async () => {
  await server.close();
  await issuer.close();
});

/** Begins in a browser. Returns the address of the issuer's page. */
async function begin(browser: TestBrowser): Promise<string> {
  const { status, body } = await browser.send('POST /signIn/issuer', { issuer: issuer.url });
  expect(status).toBe(201);
  return String(body['url']);
}

const finish = (browser: TestBrowser, { search }: URL): Promise<Answer> =>
  browser.send('POST /signIn/issuer/complete', { response: search.slice(1) });

const enter = async (browser: TestBrowser, name: string): Promise<Answer> =>
  finish(browser, await issuer.enter(await begin(browser), name));

const expiredAnswer = { status: 400, body: { code: 'SIGN_IN_EXPIRED' }, cookie: null };
const usedStates = statement<{ count: number }>('test_states_count', 'select count(*)::int as count from used_sign_in_state');
const expireStates = statement('test_states_expire', 'update used_sign_in_state set expires_at = clock_timestamp()');

test('a person signs in, is the same person next time, and accepts an invitation to the verified address', async () => {
  const options = await new TestBrowser(server).send('GET /signIn');
  expect(options.body).toMatchObject({ passwords: true, browser_issuers: [issuer.url] });
  const browser = new TestBrowser(server);
  const url = new URL(await begin(browser));
  expect(Object.fromEntries(url.searchParams)).toMatchObject({
    response_type: 'code',
    client_id: OpenIdIssuer.clientId,
    redirect_uri: `${server.baseUrl}/console/issuer`,
    code_challenge_method: 'S256',
    nonce: expect.stringMatching(/^[\w-]{43}$/),
    state: expect.stringMatching(/^[\w-]{43}$/),
  });
  const answer = await finish(browser, await issuer.enter(url.href, 'grace'));
  expect(answer).toMatchObject({ status: 201, body: { email: 'grace@example.org' } });
  expect(answer.cookie).toMatch(/^davit-session=dvs_[\w-]{43}; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Strict$/);
  const { id } = await server.organization();
  const body = { email: 'grace@example.org' };
  const invited = await server.client().call('postInviteMember', { params: { organizationId: id }, body });
  expect(await browser.send(`POST /organization/${id}/inviteMember/${invited.id}`)).toMatchObject({ status: 201 });
  const again = await enter(new TestBrowser(server), 'grace');
  expect(again.body['person_id']).toBe(answer.body['person_id']);
  expect((await enter(new TestBrowser(server), 'heidi')).body['person_id']).not.toBe(answer.body['person_id']);
  expect((await browser.send('GET /account')).body).toMatchObject({
    nickname: 'grace',
    communication_email: 'grace@example.org',
  });
});

test('a new sign-in ends the former session of the browser', async () => {
  const browser = new TestBrowser(server);
  await enter(browser, 'ivan');
  const former = new TestBrowser(server, browser.cookie);
  await enter(browser, 'ivan');
  expect([(await former.send('GET /account')).status, (await browser.send('GET /account')).status]).toEqual([401, 200]);
});

test('the answer of an issuer is worth nothing in a browser that did not ask for it', async () => {
  const mallory = new TestBrowser(server);
  const answer = await issuer.enter(await begin(mallory), 'mallory');
  // Login CSRF: the victim opens the address that the attacker got, with no sign-in or one of its own.
  const victim = new TestBrowser(server);
  expect(await finish(victim, answer)).toMatchObject(expiredAnswer);
  const own = await begin(victim);
  expect(await finish(victim, answer)).toMatchObject(expiredAnswer);
  // The attempt has not used up the sign-in of the victim.
  expect(await finish(victim, await issuer.enter(own, 'victim'))).toMatchObject({ status: 201 });
  // The page of another origin can neither begin nor finish.
  const foreign = { origin: 'https://evil.example' };
  for (const path of ['/signIn/issuer', '/signIn/issuer/complete']) {
    const body = { issuer: issuer.url, response: answer.search.slice(1) };
    expect(await mallory.send(`POST ${path}`, body, foreign)).toMatchObject({ status: 403, body: { code: 'ORIGIN_REFUSED' } });
  }
  expect(await finish(mallory, answer)).toMatchObject({ status: 201 });
});

test('an answer is accepted once, also of several at the same time and after the records of used ones are removed', async () => {
  const browser = new TestBrowser(server);
  const answer = await issuer.enter(await begin(browser), 'judy');
  const statuses = await Promise.all([1, 2, 3].map(async () => (await finish(browser, answer)).status));
  expect(statuses.toSorted((a, b) => a - b)).toEqual([201, 400, 400]);
  await trimAccounts(server.database.database);
  expect(await finish(browser, answer)).toMatchObject(expiredAnswer);
  await server.database.database.run(expireStates);
  await trimAccounts(server.database.database);
  expect((await server.database.database.one(usedStates)).count).toBe(0);
});

test('a forged or expired state, and one for something else, is refused', async () => {
  const browser = new TestBrowser(server);
  const answer = await issuer.enter(await begin(browser), 'kim');
  const cookie = browser.stateCookie ?? '';
  const middle = Math.floor(cookie.length / 2);
  const changed = cookie.slice(0, middle) + (cookie[middle] === 'A' ? 'B' : 'A') + cookie.slice(middle + 1);
  const content = { issuer: issuer.url, state: answer.searchParams.get('state') };
  const { vault, signInStates } = server.api.deps;
  const past = new SignInStates(server.database.database, vault, { now: () => new Date(Date.now() - 601_000) });
  for (const wrong of [
    changed,
    'davit-sign-in=',
    'davit-sign-in=e30',
    `davit-sign-in=${past.seal('ISSUER', content)}`,
    `davit-sign-in=${signInStates.seal('PASSKEY', content)}`,
  ]) {
    browser.stateCookie = wrong;
    expect(await finish(browser, answer)).toMatchObject(expiredAnswer);
  }
  browser.stateCookie = cookie;
  expect(await finish(browser, answer)).toMatchObject({ status: 201 });
});

test('what the issuer refuses, and a code or secret of another sign-in, signs nobody in', async () => {
  const browser = new TestBrowser(server);
  const denied = await enter(browser, '');
  expect(denied).toMatchObject({ status: 401, body: { code: 'SIGN_IN_REFUSED', message: 'The issuer refused: access_denied.' } });
  const stolen = await issuer.enter(await begin(new TestBrowser(server)), 'lea');
  const own = await issuer.enter(await begin(browser), 'mallory');
  own.searchParams.set('code', stolen.searchParams.get('code') ?? '');
  // The code belongs to the verifier of the other browser.
  expect(await finish(browser, own)).toMatchObject({ status: 401, body: { code: 'SIGN_IN_REFUSED' }, cookie: null });
  const invented = await issuer.enter(await begin(browser), 'mallory');
  invented.searchParams.set('code', randomUUID());
  expect(await finish(browser, invented)).toMatchObject({ status: 401, cookie: null });
  const elsewhere = await issuer.enter(await begin(browser), 'mallory');
  elsewhere.searchParams.set('iss', 'https://evil.example');
  expect(await finish(browser, elsewhere)).toMatchObject({ status: 401, cookie: null });
  expect(await browser.send('POST /signIn/issuer', { issuer: 'https://evil.example' })).toMatchObject({ status: 404 });
});

test('an issuer that does not answer or knows Davit by another secret is named with what to check', async () => {
  await issuer.serve(`${server.baseUrl}/console/issuer`, 'another-secret-of-this-test');
  const browser = new TestBrowser(server);
  const answer = await enter(browser, 'nina');
  expect(answer).toMatchObject({
    status: 503,
    body: { code: 'ISSUER_UNAVAILABLE', message: expect.stringContaining('DAVIT_OIDC_CLIENT_SECRET') },
  });
  const silent = await startTestServer({
    environment: { DAVIT_OIDC_ISSUER: 'http://localhost:9', DAVIT_OIDC_CLIENT_ID: 'davit' },
  });
  try {
    const refused = await new TestBrowser(silent).send('POST /signIn/issuer', { issuer: 'http://localhost:9' });
    expect(refused).toMatchObject({ status: 503, body: { code: 'ISSUER_UNAVAILABLE' } });
  } finally {
    await silent.close();
  }
});
