import { randomUUID } from 'node:crypto';
import { openDatabase, statement } from '@davit/db';
import { TestIssuer } from '@davit/testkit/issuer';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { decodeJwt, SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { untilWindowLasts, windowSecondsLeft } from '../http/testing.ts';
import { Sessions } from './sessions.ts';
import { sessionDelete } from './store.ts';

let issuer: TestIssuer;
let server: TestServer;
beforeEach(async () => {
  issuer = await TestIssuer.start();
  server = await startTestServer({ environment: { DAVIT_OIDC_ISSUER: issuer.url, DAVIT_OIDC_AUDIENCE: 'davit, console' } });
});
afterEach(async () => {
  await server.close();
  await issuer.close();
});

interface Answer {
  readonly status: number;
  readonly code: unknown;
  readonly message: string;
  readonly headers: Headers;
}

async function ask(token: string, method = 'GET', path = '/account'): Promise<Answer> {
  const response = await fetch(`${server.baseUrl}${path}`, { method, headers: { authorization: `Bearer ${token}` } });
  const text = await response.text();
  const body: { code?: unknown; message?: string } = text === '' ? {} : JSON.parse(text);
  return { status: response.status, code: body.code, message: body.message ?? '', headers: response.headers };
}

const personId = async (token: string): Promise<string> => (await server.client(token).call('getAccountInformation', {})).id;

describe('a JWT of an issuer', () => {
  test('is accepted as Bearer, for each of the audiences', async () => {
    const id = await personId(await issuer.sign({ sub: 'ada', aud: 'console' }));
    expect(await personId(await issuer.sign({ sub: 'ada', aud: ['other', 'davit'] }))).toBe(id);
    expect(await ask(await issuer.sign({ sub: 'ada', aud: 'other' }))).toMatchObject({ status: 401, code: 'UNAUTHORIZED' });
  });

  test('that has expired, or is none, answers 401 and says what to do', async () => {
    const past = Math.floor(Date.now() / 1000) - 3600;
    const expired = await ask(await issuer.sign({ sub: 'ada', exp: past }));
    expect(expired).toMatchObject({ status: 401, code: 'TOKEN_EXPIRED', message: expect.stringContaining('Sign in again') });
    expect(expired.headers.get('www-authenticate')).toContain('Bearer');
    for (const token of ['eyJhbGciOiJub25lIn0.e30.', 'eyJ.x.y', `eyJ${'a'.repeat(2000)}.e30.e30`]) {
      expect(await ask(token)).toMatchObject({ status: 401, code: 'UNAUTHORIZED' });
    }
  });

  test('whose issuer is in trouble answers 503, and everybody else goes on', async () => {
    const [known, later] = [await issuer.person('known'), await issuer.person('later')];
    issuer.trouble = 500;
    const answer = await ask(later);
    expect(answer).toMatchObject({ status: 503, code: 'ISSUER_UNAVAILABLE', message: expect.stringContaining(issuer.url) });
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(await ask(known)).toMatchObject({ status: 503 });
    expect(await ask(server.adminToken, 'GET', '/organization')).toMatchObject({ status: 200 });
  });

  test('is remembered: while it is, neither the issuer nor the database is asked who it is', async () => {
    const token = await issuer.person('ada');
    await personId(token);
    issuer.trouble = 500;
    const { database } = server.database;
    const requested = vi.spyOn(database, 'maybe');
    try {
      for (let count = 0; count < 5; count += 1) expect(await ask(token)).toMatchObject({ status: 200 });
      const askedFor = (): string[] =>
        requested.mock.calls.map(([{ name }]) => name).filter((name) => name.startsWith('person_'));
      expect(askedFor()).toEqual([]);
      server.api.deps.tokens.forget();
      expect(await ask(token)).toMatchObject({ status: 200 });
      expect(askedFor()).toEqual(['person_by_subject']);
    } finally {
      requested.mockRestore();
    }
  });

  test('where no issuer is configured answers 401', async () => {
    const plain = await startTestServer();
    try {
      const headers = { authorization: `Bearer ${await issuer.person('ada')}` };
      const response = await fetch(`${plain.baseUrl}/account`, { headers });
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ message: expect.stringContaining('DAVIT_OIDC_ISSUER') });
    } finally {
      await plain.close();
    }
  });
});

describe('a session', () => {
  const signIn = async (name: string): Promise<{ token: string; expires_at: string }> =>
    server.client(await issuer.person(name)).call('createSession', {});

  test('is exchanged for an id token, is the same person for an hour, and ends by logging out', async () => {
    const jwt = await issuer.person('ada');
    const client = server.client(jwt);
    const { token, token_type, expires_at } = await client.call('createSession', {});
    expect(token_type).toBe('Bearer');
    expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(3_590_000);
    expect(Date.parse(expires_at) - Date.now()).toBeLessThanOrEqual(3_600_000);
    expect(decodeJwt(token).exp).toBe(Date.parse(expires_at) / 1000);
    expect(await personId(token)).toBe(await personId(jwt));
    const other = await signIn('ada');
    await server.client(token).call('deleteSession', {});
    expect(await ask(token)).toMatchObject({ status: 401, message: expect.stringContaining('ended') });
    expect(await ask(other.token)).toMatchObject({ status: 200 });
    expect(await ask(jwt)).toMatchObject({ status: 200 });
  });

  test('needs no issuer any more, and cannot be made longer', async () => {
    const { token } = await signIn('ada');
    issuer.trouble = 500;
    expect(await ask(token)).toMatchObject({ status: 200 });
    expect(await ask(token, 'POST', '/session')).toMatchObject({ status: 403, code: 'FORBIDDEN' });
    expect(await ask(server.adminToken, 'POST', '/session')).toMatchObject({ status: 403, code: 'FORBIDDEN' });
    expect(await ask(await issuer.person('ada'), 'DELETE', '/session')).toMatchObject({ status: 400, code: 'VALIDATION_FAILED' });
  });

  test('is refused once it has expired, is forged, or names another session', async () => {
    const { token } = await signIn('ada');
    const { sid, sub, iss } = decodeJwt(token);
    const forge = (key: Uint8Array, claims: Record<string, unknown>): Promise<string> =>
      new SignJWT({ sid, sub, iss, exp: Math.floor(Date.now() / 1000) + 60, ...claims })
        .setProtectedHeader({ alg: 'HS256' })
        .sign(key);
    const key = new Uint8Array(32);
    expect(await ask(await forge(key, {}))).toMatchObject({ status: 401, message: expect.stringContaining('signature') });
    expect(await ask(await issuer.sign({ sub: sub ?? '', iss: iss ?? '', sid }))).toMatchObject({ status: 401 });
    const { database } = server.database;
    const sessions = await Sessions.open(database, server.api.deps.vault, { now: () => new Date(Date.now() - 7_200_000) });
    expect(await ask((await sessions.create(sub ?? '')).token)).toMatchObject({ status: 401, code: 'TOKEN_EXPIRED' });
    await database.run(expire, [sid]);
    server.api.deps.tokens.forget();
    expect(await ask(token)).toMatchObject({ status: 401, message: expect.stringContaining('ended') });
  });

  test('is good in every process with the same database, and ends in all of them', async () => {
    const { token } = await signIn('ada');
    const { sid } = decodeJwt<{ sid: string }>(token);
    const { database, connectionString } = server.database;
    const elsewhere = await Sessions.open(database, server.api.deps.vault, { now: () => new Date() });
    expect(await elsewhere.verify(token)).toMatchObject({ id: sid });
    expect(await ask(token)).toMatchObject({ status: 200 });
    const other = openDatabase({ connectionString, applicationName: 'davit test', maximumConnections: 1 });
    try {
      await other.run(sessionDelete, [sid]);
    } finally {
      await other.close();
    }
    await vi.waitFor(async () => expect(await ask(token)).toMatchObject({ status: 401 }), { timeout: 3000 });
  });
});

const expire = statement('test_session_expire', 'update session set expires_at = clock_timestamp() where id = $1');

test('people are limited by who they are, not by where they come from', async () => {
  const limited = await startTestServer({
    environment: { DAVIT_OIDC_ISSUER: issuer.url, DAVIT_OIDC_AUDIENCE: 'davit', DAVIT_RATE_LIMIT: '3' },
  });
  try {
    const status = async (token: string): Promise<number> =>
      (await fetch(`${limited.baseUrl}/account`, { headers: { authorization: `Bearer ${token}` } })).status;
    const ada = await issuer.person(`ada ${randomUUID()}`.replace(' ', '-'));
    await untilWindowLasts(3, () => windowSecondsLeft(limited));
    expect([await status(ada), await status(ada), await status(ada), await status(ada)]).toEqual([200, 200, 200, 429]);
    expect(await status(await issuer.person('bob'))).toBe(200);
  } finally {
    await limited.close();
  }
});
