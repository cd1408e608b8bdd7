import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makeFirstRunToken } from './index.ts';
import { TestBrowser } from './testing/browser.ts';

/* People with a password: the first account, sign-in and sessions, and attacks on them. */

const forgetAttempts = statement('test_attempts_forget', 'delete from sign_in_attempt');
const stored = statement<{ text: string }>(
  'test_account_rows',
  `select jsonb_build_array((select jsonb_agg(to_jsonb(a)) from local_account a), (select jsonb_agg(to_jsonb(s)) from session s),
     (select jsonb_agg(to_jsonb(l)) from one_time_link l), (select jsonb_agg(to_jsonb(e)) from audit_event e))::text as text`,
);

const password = 'correct horse battery';
const secretOf = (cookie: string | null): string => cookie?.split('=')[1] ?? 'none';

async function firstToken(server: TestServer): Promise<string> {
  return (await makeFirstRunToken(server.api.deps)) ?? 'none';
}

async function firstAccount(server: TestServer, email = 'ada@example.org'): Promise<TestBrowser> {
  const browser = new TestBrowser(server);
  const body = { token: await firstToken(server), email, password, name: 'Ada' };
  expect(await browser.send('POST /firstRun', body)).toMatchObject({ status: 201 });
  return browser;
}

describe('the first account', () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startTestServer();
    return () => server.close();
  });

  test('owns a new organization, is signed in, and its link works once', async () => {
    const token = await firstToken(server);
    const browser = new TestBrowser(server);
    const body = { token, email: 'Ada@Example.org', password, name: 'Ada', organization_name: 'Shop' };
    const made = await browser.send('POST /firstRun', body);
    expect(made).toMatchObject({ status: 201, body: { email: 'ada@example.org' } });
    const { results } = (await browser.send('GET /organization')).body;
    expect(results).toMatchObject([{ id: made.body['organization_id'], name: 'Shop', owner: made.body['person_id'] }]);
    expect(await makeFirstRunToken(server.api.deps)).toBeNull();
    const again = await new TestBrowser(server).send('POST /firstRun', { ...body, email: 'eve@example.org' });
    expect(again).toMatchObject({ status: 409, body: { code: 'LINK_NOT_VALID' } });
    const { text } = await server.database.database.one(stored);
    for (const secret of [password, token, secretOf(browser.cookie)]) expect(text).not.toContain(secret);
  });

  test('is one, whoever uses the links of several starts at once', async () => {
    const tokens = await Promise.all(Array.from({ length: 4 }, () => firstToken(server)));
    const answers = await Promise.all(
      tokens.map((token, index) =>
        new TestBrowser(server).send('POST /firstRun', { token, email: `p${index}@example.org`, password }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409, 409]);
  });

  test('owns the organization that was used with API tokens only; the tokens work as before', async () => {
    const { id, tokens } = await server.organization('tokens only');
    const before = await server.client(tokens.READ).call('getOrganization', { params: { organizationId: id } });
    const browser = await firstAccount(server);
    const { body } = await browser.send('GET /organization');
    expect(body['results']).toMatchObject([{ id, name: 'tokens only' }]);
    const after = await server.client(tokens.READ).call('getOrganization', { params: { organizationId: id } });
    expect({ ...after, owner: before.owner, updated_at: before.updated_at }).toEqual(before);
    const members = await server.client(tokens.ADMIN).call('getOrganizationMembers', { params: { organizationId: id } });
    expect(members.results).toMatchObject([{ name: 'Ada', role: 'OWNER' }]);
    const events = await browser.send(`GET /organization/${id}/events`);
    expect(JSON.stringify(events.body)).toContain('"triggered_by":"Ada"');
  });

  test('is made by no guess, no short password and no foreign page', async () => {
    const token = await firstToken(server);
    const send = (body: object, headers = {}) => new TestBrowser(server).send('POST /firstRun', body, headers);
    const good = { token, email: 'ada@example.org', password };
    expect(await send({ ...good, token: randomUUID() })).toMatchObject({ status: 409, body: { code: 'LINK_NOT_VALID' } });
    expect(await send({ ...good, password: 'short' })).toMatchObject({ status: 400 });
    expect(await send(good, { origin: 'https://evil.example' })).toMatchObject({ body: { code: 'ORIGIN_REFUSED' } });
    expect(await send(good)).toMatchObject({ status: 201 });
  });

  test('is not offered where the operator has switched passwords off', async () => {
    const off = await startTestServer({ environment: { DAVIT_PASSWORDS: 'off' } });
    try {
      expect(await makeFirstRunToken(off.api.deps)).toBeNull();
      const browser = new TestBrowser(off);
      expect((await browser.send('GET /signIn')).body).toMatchObject({ passwords: false, browser_issuers: [] });
      expect(await browser.send('POST /signIn', { email: 'a@example.org', password })).toMatchObject({ status: 403 });
    } finally {
      await off.close();
    }
  });
});

describe('sign-in', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
    await firstAccount(server);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    await server.database.database.run(forgetAttempts);
  });

  const enter = async (fields: object = {}, browser = new TestBrowser(server)) => {
    const answer = await browser.send('POST /signIn', { email: 'ada@example.org', password, ...fields });
    return { browser, answer };
  };
  const account = async (browser: TestBrowser): Promise<number> => (await browser.send('GET /account')).status;

  test('sets a cookie that scripts and other sites cannot use, and signing out ends the session', async () => {
    const { browser, answer } = await enter({ email: ' ADA@example.org' });
    expect(answer).toMatchObject({ status: 201, body: { email: 'ada@example.org' } });
    expect(answer.cookie).toMatch(/^davit-session=dvs_[\w-]{43}; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Strict$/);
    expect(await account(browser)).toBe(200);
    const stolen = new TestBrowser(server, browser.cookie);
    expect(await browser.send('DELETE /session')).toMatchObject({ status: 204, cookie: expect.stringContaining('1970') });
    expect(await account(stolen)).toBe(401);
  });

  test('over https, the cookie belongs to this host only and is never sent in clear', async () => {
    const url = 'https://davit.example.org';
    const secure = await startTestServer({ environment: { DAVIT_PUBLIC_URL: url } });
    try {
      const browser = new TestBrowser(secure);
      const body = { token: await firstToken(secure), email: 'ada@example.org', password };
      const { cookie } = await browser.send('POST /firstRun', body, { origin: url });
      expect(cookie).toMatch(/^__Host-davit-session=dvs_.*; Path=\/; .*; HttpOnly; SameSite=Strict; Secure$/);
      expect(await account(browser)).toBe(200);
      // A page of a neighbouring host can set a cookie without the prefix.
      const planted = new TestBrowser(secure, browser.cookie?.replace('__Host-', '') ?? null);
      expect(await account(planted)).toBe(401);
      expect(await browser.send('DELETE /account/session', undefined, { origin: url })).toMatchObject({ status: 204 });
    } finally {
      await secure.close();
    }
  });

  test('refuses changes of a cookie without an origin or from another one, and nothing happens', async () => {
    const { browser } = await enter();
    const create = (origin: string | null) => browser.send('POST /organization', { name: randomUUID() }, { origin });
    const { results } = (await browser.send('GET /organization')).body;
    for (const origin of [null, 'null', 'https://evil.example', `${server.baseUrl}.evil.example`, 'http://127.0.0.1:1']) {
      expect(await create(origin)).toMatchObject({ status: 403, body: { code: 'ORIGIN_REFUSED' } });
    }
    expect((await browser.send('GET /organization')).body['results']).toEqual(results);
    expect(await create(server.baseUrl)).toMatchObject({ status: 201 });
    // A token that the sender had to know is no cookie that a browser adds.
    const headers = { origin: 'https://evil.example', authorization: `Token ${server.adminToken}` };
    expect(await new TestBrowser(server).send('POST /organization', { name: randomUUID() }, headers)).toMatchObject({
      status: 201,
    });
  });

  test('begins a new session whatever cookie the browser has, and ends the former one', async () => {
    const planted = `davit-session=dvs_${'A'.repeat(43)}`;
    const { browser } = await enter({}, new TestBrowser(server, planted));
    expect(browser.cookie).not.toBe(planted);
    expect(await account(new TestBrowser(server, planted))).toBe(401);
    const former = browser.cookie;
    await enter({}, browser);
    expect(browser.cookie).not.toBe(former);
    expect(await account(new TestBrowser(server, former))).toBe(401);
    expect(await account(browser)).toBe(200);
  });

  test('says the same of a wrong password and of an unknown address', async () => {
    const known = await enter({ password: 'wrong' });
    for (const email of ['nobody@example.org', 'no address', '']) {
      const unknown = await enter({ email, password: 'wrong' });
      expect(unknown.answer).toMatchObject({ status: 401, body: known.answer.body, cookie: null });
    }
    expect(known.answer.body).toMatchObject({ code: 'SIGN_IN_REFUSED' });
  });

  test('takes as long for an unknown address as for a wrong password', async () => {
    const milliseconds = async (email: string): Promise<number> => {
      await server.database.database.run(forgetAttempts);
      const began = performance.now();
      await enter({ email, password: 'wrong' });
      return performance.now() - began;
    };
    const known: number[] = [];
    const unknown: number[] = [];
    // Alternately, so that the load of other tests is in both.
    for (let round = 0; round < 25; round += 1) {
      known.push(await milliseconds('ada@example.org'));
      unknown.push(await milliseconds(`${randomUUID()}@example.org`));
    }
    const median = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[12] ?? 0;
    // Without the hash, an unknown address would take about a tenth.
    expect(median(unknown) / median(known)).toBeGreaterThan(0.6);
    expect(median(unknown) / median(known)).toBeLessThan(1.7);
  });

  test('slows down who guesses at one account, in all processes, known or not, and then lets the right one in', async () => {
    const other = await startTestServer({ beside: server });
    try {
      for (const email of ['ada@example.org', 'nobody@example.org']) {
        await server.database.database.run(forgetAttempts);
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            enter({ email, password: `${index}` }, new TestBrowser([server, other][index % 2] ?? server)),
          ),
        );
        const refused = answers.filter(({ answer }) => answer.status === 401);
        // The sixth attempt is allowed too; the delay begins after it.
        expect(refused).toHaveLength(6);
        const late = answers.find(({ answer }) => answer.status === 429);
        expect(late?.answer.body).toMatchObject({ code: 'RATE_LIMITED' });
        expect(Number(late?.answer.headers.get('retry-after'))).toBeGreaterThan(0);
      }
      // The right password is not compared during the delay, or guessing would go on.
      await server.database.database.run(slowDown);
      expect((await enter()).answer.status).toBe(429);
      await server.database.database.run(waitOver);
      expect((await enter()).answer.status).toBe(201);
      expect((await enter({ password: 'wrong' })).answer.status).toBe(401);
      expect((await enter()).answer.status).toBe(201);
    } finally {
      await other.close();
    }
  });

  test('slows down who guesses at many accounts from one address', async () => {
    const statuses = new Map<number, number>();
    for (let index = 0; index < 40; index += 1) {
      const { answer } = await enter({ email: `p${index}@example.org`, password: 'wrong' });
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    }
    expect(statuses.get(401)).toBeLessThan(34);
    expect(statuses.get(429)).toBeGreaterThan(6);
  });

  test('lists the sessions, and ends one or all others', async () => {
    const own = (await enter()).browser;
    const phone = (await enter()).browser;
    await phone.send('GET /account', undefined, { 'user-agent': 'Phone' });
    const laptop = (await enter()).browser;
    const results = await sessionsOf(own);
    expect(results.filter(({ is_current }) => is_current)).toHaveLength(1);
    expect(results[0]).toMatchObject({ address: '127.0.0.1', user_agent: 'node' });
    expect(JSON.stringify(results)).not.toContain(secretOf(own.cookie));
    const id = (await sessionsOf(phone)).find(({ is_current }) => is_current)?.id ?? '';
    expect(await own.send(`DELETE /account/session/${id}`)).toMatchObject({ status: 204 });
    expect([await account(phone), await account(laptop)]).toEqual([401, 200]);
    expect(await own.send(`DELETE /account/session/${id}`)).toMatchObject({ status: 404 });
    expect(await own.send('DELETE /account/session')).toMatchObject({ status: 204 });
    expect([await account(laptop), await account(own)]).toEqual([401, 200]);
  });

  test('a change of the password needs the present one, ends a stolen session, and keeps that of the request', async () => {
    const { browser } = await enter();
    const stolen = (await enter()).browser;
    const change = (current_password: string, new_password: string) =>
      browser.send('PUT /account/password', { current_password, new_password });
    expect(await change('wrong', 'another password')).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    expect(await change(password, 'short')).toMatchObject({ status: 400 });
    expect(await account(stolen)).toBe(200);
    expect(await change(password, 'another password')).toMatchObject({ status: 204 });
    expect([await account(stolen), await account(browser)]).toEqual([401, 200]);
    expect((await enter()).answer.status).toBe(401);
    expect((await enter({ password: 'another password' })).answer.status).toBe(201);
    expect(await change('another password', password)).toMatchObject({ status: 204 });
  });
});

interface ListedSession {
  readonly id: string;
  readonly is_current: boolean;
}

async function sessionsOf(browser: TestBrowser): Promise<readonly ListedSession[]> {
  const { body } = await browser.send('GET /account/session');
  const { results }: { readonly results: readonly ListedSession[] } = JSON.parse(JSON.stringify(body));
  return results;
}

const slowDown = statement(
  'test_attempts_slow_down',
  `update sign_in_attempt set free_at = clock_timestamp() + interval '1 hour'`,
);
const waitOver = statement('test_attempts_wait_over', 'update sign_in_attempt set free_at = clock_timestamp()');
