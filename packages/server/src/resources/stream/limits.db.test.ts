import { connect, type Socket } from 'node:net';
import { roleDescriptions } from '@davit/contract';
import type { Client } from '@davit/client';
import { statement } from '@davit/db';
import { TestIssuer } from '@davit/testkit/issuer';
import { startTestServer, type TestOrganization, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestSubscriber, has, namesOf, write, type TestEnvironmentIds } from './testing.ts';

/* Rules of streams: who may see which events and for how long, and how many resources a stream may use. */

let issuer: TestIssuer;
let server: TestServer;
let owner: TestOrganization;
let admin: Client;
let locations: Readonly<Record<'development' | 'production', TestEnvironmentIds>>;

beforeAll(async () => {
  issuer = await TestIssuer.start();
  server = await startTestServer({
    environment: {
      DAVIT_OIDC_ISSUER: issuer.url,
      DAVIT_OIDC_AUDIENCE: 'davit',
      DAVIT_STREAMS_PER_TOKEN: '3',
      DAVIT_STREAM_HEARTBEAT_SECONDS: '1',
      DAVIT_STREAM_PATIENCE_SECONDS: '1',
    },
  });
  owner = await server.organization();
  admin = server.client(owner.tokens.ADMIN);
  const params = { organizationId: owner.id };
  const { id: projectId } = await admin.call('createProject', { params, body: { name: 'shop' } });
  const make = async (name: string, mode: 'DEVELOPMENT' | 'PRODUCTION'): Promise<TestEnvironmentIds> => {
    const { id } = await admin.call('createEnvironment', { params: { projectId }, body: { name, mode } });
    return { organizationId: owner.id, projectId, environmentId: id };
  };
  locations = { development: await make('dev', 'DEVELOPMENT'), production: await make('live', 'PRODUCTION') };
});
afterAll(async () => {
  await server.close();
  await issuer.close();
});

function listen(token: string, organizationId = owner.id): TestSubscriber {
  const client = server.client(token);
  return new TestSubscriber((signal) => client.stream('streamOrganization', { params: { organizationId }, signal }));
}

async function tokenOf(body: object): Promise<{ id: string; token: string }> {
  const params = { organizationId: owner.id };
  return admin.call('createOrganizationApiToken', { params, body: { name: `t ${performance.now()}`, ...body } });
}

async function tell(ids: TestEnvironmentIds, name: string): Promise<void> {
  await write(server.database.database, ids, name);
}

test('a token that is deleted ends its stream before anything more is told', async () => {
  const { id, token } = await tokenOf({ scope: 'READ' });
  const ear = listen(token);
  await ear.until(has('OPEN'));
  await tell(locations.development, 'before');
  await ear.until(has('QUEUE'));
  await admin.call('deleteOrganizationApiToken', { params: { organizationId: owner.id, apiTokenId: id } });
  await tell(locations.development, 'after');
  await ear.ended;
  expect(namesOf(ear.received)).toEqual(['before']);
  expect(ear.received.at(-1)).toMatchObject({ event: 'END', data: { code: 'UNAUTHORIZED', resume: false } });
});

const expireSoon = statement(
  'test_token_expires',
  `update api_token set expires_at = clock_timestamp() + interval '700 milliseconds' where id = $1`,
);

test('a token that expires ends its stream then', async () => {
  const { id, token } = await tokenOf({ scope: 'READ' });
  await server.database.database.run(expireSoon, [id]);
  const ear = listen(token);
  await ear.until(has('OPEN'));
  await ear.ended;
  expect(ear.received.at(-1)).toMatchObject({ event: 'END', data: { code: 'TOKEN_EXPIRED', resume: false } });
});

test('a member who is removed hears nothing more, one whose role changes hears what it allows', async () => {
  const params = { organizationId: owner.id };
  const token = await issuer.person('ada');
  const invitation = await admin.call('postInviteMember', { params, body: { email: 'ada@example.org', role: 'VIEWER' } });
  await server.client(token).call('postAcceptInviteMember', { params: { ...params, inviteId: invitation.id } });
  const { id } = await server.client(token).call('getAccountInformation', {});
  const ear = listen(token);
  await ear.until(has('OPEN'));
  await tell(locations.production, 'as viewer');
  await ear.until(has('QUEUE'));
  await admin.call('editOrganizationMemberRole', {
    params,
    body: { user_id: id ?? '', role_id: roleDescriptions.BILLING_MANAGER.id },
  });
  await tell(locations.production, 'as billing manager');
  await ear.ended;
  expect(namesOf(ear.received)).toEqual(['as viewer']);
  expect(ear.received.at(-1)).toMatchObject({ event: 'END', data: { code: 'FORBIDDEN', resume: false } });
});

test('a custom role hears of environments of the modes that it may see, and of no other organization', async () => {
  const params = { organizationId: owner.id };
  const { projectId } = locations.development;
  const role = await admin.call('createOrganizationCustomRole', { params, body: { name: 'testers' } });
  const permissions = (['DEVELOPMENT', 'PREVIEW', 'STAGING', 'PRODUCTION'] as const).map((environment_type) => ({
    environment_type,
    permission: environment_type === 'DEVELOPMENT' ? ('VIEWER' as const) : ('NO_ACCESS' as const),
  }));
  const project_permissions = [{ project_id: projectId, is_admin: false, permissions }];
  await admin.call('editOrganizationCustomRole', {
    params: { ...params, customRoleId: role.id ?? '' },
    body: { name: 'testers', cluster_permissions: [], project_permissions },
  });
  const { token } = await tokenOf({ role_id: role.id });
  const stranger = await server.organization();
  const ears = [listen(token), listen(stranger.tokens.READ, stranger.id), listen(owner.tokens.READ)] as const;
  for (const ear of ears) await ear.until(has('OPEN'));
  await tell(locations.production, 'secret');
  await tell(locations.development, 'open');
  await ears[2].until((received) => namesOf(received).length >= 2);
  await ears[0].until(has('QUEUE'));
  expect(ears.map(({ received }) => namesOf(received))).toEqual([['open'], [], ['secret', 'open']]);
  // A stream that resumes after an id reads the database, and receives no other events there.
  const first = ears[2].received[0]?.id ?? '';
  const again = new TestSubscriber((signal) =>
    server.client(token).stream('streamOrganization', { params, signal, lastEventId: first }),
  );
  await again.until(has('QUEUE'));
  expect(namesOf(again.received)).toEqual(['open']);
  for (const ear of [...ears, again]) await ear.close();
  const other = await fetch(`${server.baseUrl}/organization/${owner.id}/stream`, {
    headers: { authorization: `Token ${stranger.tokens.READ}` },
  });
  expect(other.status).toBe(404);
});

test('a token has a bounded number of streams; one that is closed makes room', async () => {
  const { token } = await tokenOf({ scope: 'READ' });
  const ears = [listen(token), listen(token), listen(token)];
  for (const ear of ears) await ear.until(has('OPEN'));
  const refused = await fetch(`${server.baseUrl}/organization/${owner.id}/stream`, {
    headers: { authorization: `Token ${token}` },
  });
  expect(await refused.json()).toMatchObject({ status: 429, code: 'TOO_MANY_STREAMS' });
  const open = server.api.deps.streams.count;
  await ears[0]?.close();
  await expect.poll(() => server.api.deps.streams.count).toBe(open - 1);
  const next = listen(token);
  await next.until(has('OPEN'));
  for (const ear of [...ears.slice(1), next]) await ear.close();
  await expect.poll(() => server.api.deps.streams.count).toBe(0);
});

/** A client that reads nothing until the test lets it. */
class SlowClient {
  readonly #socket: Socket;
  #text = '';

  constructor(token: string) {
    const { hostname, port } = new URL(server.baseUrl);
    this.#socket = connect(Number(port), hostname);
    this.#socket.pause();
    this.#socket.write(
      `GET /organization/${owner.id}/stream HTTP/1.1\r\nHost: davit\r\nConnection: close\r\nAuthorization: Token ${token}\r\n\r\n`,
    );
  }

  async readAll(): Promise<string> {
    const ended = new Promise<void>((resolve) => this.#socket.once('close', () => resolve()));
    this.#socket.on('data', (chunk: Buffer) => (this.#text += chunk.toString()));
    this.#socket.on('error', () => undefined);
    this.#socket.resume();
    await ended;
    // The text without the lengths of HTTP chunks.
    return this.#text.replaceAll(/\r\n[0-9a-f]+\r\n/g, '');
  }
}

const writeMany = statement(
  'test_stream_long_events',
  `insert into stream_event (organization_id, project_id, environment_id, kind, fact)
   select $1, $2, $3, 'QUEUE', jsonb_build_object('action', 'DEPLOY', 'change', 'QUEUED', 'origin', 'API', 'triggered_by', rpad(n::text, 8000))
     from generate_series(1, $4::integer) n`,
);

test('a client that takes nothing is cut off, costs no memory meanwhile, and goes on where it was', async () => {
  const { token } = await tokenOf({ scope: 'READ' });
  const slow = new SlowClient(token);
  await expect.poll(() => server.api.deps.streams.count).toBe(1);
  const before = process.memoryUsage().heapUsed;
  // More events than sockets buffer.
  const count = 2500;
  await server.database.database.run(writeMany, [
    owner.id,
    locations.development.projectId,
    locations.development.environmentId,
    count,
  ]);
  await expect.poll(() => server.api.deps.streams.count, { timeout: 15_000 }).toBe(0);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(100_000_000);
  const numbers = Array.from({ length: count }, (_, index) => `${index + 1}`);
  const text = await slow.readAll();
  expect(text).toMatch(/event: END\ndata: \{"code":"TOO_SLOW".*"resume":true\}\n\n/);
  const reported = [...text.matchAll(/^id: (.*)\nevent: QUEUE\ndata: (.*)$/gm)].map(([, id = '', data = '']) => {
    const { triggered_by: name }: { triggered_by: string } = JSON.parse(data);
    return { id, number: name.trim() };
  });
  expect(reported.map(({ number }) => number)).toEqual(numbers.slice(0, reported.length));
  expect(reported.length).toBeLessThan(count);
  const lastEventId = reported.at(-1)?.id ?? '';
  const params = { organizationId: owner.id };
  const ear = new TestSubscriber((signal) => server.client(token).stream('streamOrganization', { params, signal, lastEventId }));
  await ear.until((received) => namesOf(received).length >= count - reported.length);
  expect(namesOf(ear.received).map((name) => name.trim())).toEqual(numbers.slice(reported.length));
  await ear.close();
});

test('a server that stops ends its streams at once, saying so', async () => {
  const beside = await startTestServer({ beside: server });
  const client = beside.client(owner.tokens.READ);
  const params = { organizationId: owner.id };
  const ears = [1, 2].map(() => new TestSubscriber((signal) => client.stream('streamOrganization', { params, signal })));
  for (const ear of ears) await ear.until(has('OPEN'));
  const begin = performance.now();
  await beside.close();
  expect(performance.now() - begin).toBeLessThan(5000);
  for (const ear of ears) {
    await ear.until(has('END'));
    await ear.close();
    expect(ear.received.at(-1)).toMatchObject({ event: 'END', data: { code: 'SERVER_STOPPING', resume: true } });
  }
});
