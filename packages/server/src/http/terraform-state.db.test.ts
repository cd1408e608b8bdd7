import { createHash, randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { statement } from '@davit/db';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

/* The storage for the Terraform state of runs on clusters. */

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { DAVIT_BODY_LIMIT_BYTES: '20000' } });
});
afterAll(() => server.close());

const makeDeployment = statement(
  'test_state_deployment',
  `insert into deployment (id, organization_id, project_id, environment_id, cluster_id, driver, action, origin, triggered_by, actor, status)
   values ($1, $1, $1, $1, $1, 'docker', 'DEPLOY', 'API', 'tester', 'tester', 'RUNNING')`,
);
const endDeployment = statement('test_state_end', `update deployment set status = 'FAILED' where id = $1`);
const makeRun = statement(
  'test_state_run',
  `insert into terraform_run (id, deployment_id, service_id, organization_id, environment_id, token_hash) values ($1, $2, $3, $3, $3, $4)
   on conflict (id) do update set token_hash = excluded.token_hash`,
);
const endRun = statement('test_state_end_run', 'delete from terraform_run where id = $1');
const stored = statement<{ shows: boolean }>(
  'test_state_stored',
  `select position('canary'::bytea in sealed) > 0 as shows from terraform_state where service_id = $1`,
);

interface Run {
  readonly id: string;
  readonly deployment: string;
  readonly service: string;
  readonly token: string;
}

/** Creates a Terraform run of a service, with its running deployment. */
async function begin(service: string = randomUUID()): Promise<Run> {
  const run = { id: randomUUID(), deployment: randomUUID(), service, token: randomUUID() };
  const { database } = server.database;
  await database.run(makeDeployment, [run.deployment]);
  await database.run(makeRun, [run.id, run.deployment, service, createHash('sha256').update(run.token).digest()]);
  return run;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Sends a request as Terraform does; `fetch` cannot send a LOCK with a body. */
function ask(method: string, { id, token }: Pick<Run, 'id' | 'token'>, body = ''): Promise<Answer> {
  const authorization = `Basic ${Buffer.from(`davit:${token}`).toString('base64')}`;
  const headers = { authorization, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = request(`${server.baseUrl}/internal/terraform-state/${id}`, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

let run: Run;
beforeEach(async () => {
  run = await begin();
});
const lock = (id: string): string => JSON.stringify({ ID: id, Operation: 'OperationTypeApply', Who: 'somebody' });

test('a run reads and writes its state, which is stored sealed, also one of many MiB', async () => {
  expect(await ask('GET', run)).toEqual({ status: 204, text: '' });
  const state = JSON.stringify({ serial: 1, secret: 'canary', filling: 'x'.repeat(20 * 1024 * 1024) });
  expect(await ask('POST', run, state)).toEqual({ status: 200, text: '' });
  const read = await ask('GET', run);
  expect(read.status).toBe(200);
  expect(read.text === state).toBe(true);
  expect(await server.database.database.one(stored, [run.service])).toEqual({ shows: false });
});

test('a state that is too large is refused, and the one before it stays', async () => {
  await ask('POST', run, '{"serial":1}');
  expect(await ask('POST', run, 'x'.repeat(64 * 1024 * 1024 + 1))).toMatchObject({ status: 413 });
  expect(await ask('GET', run)).toEqual({ status: 200, text: '{"serial":1}' });
});

test('who has the lock is told to who asks for it, unless that is the same deployment; unlocked it is free', async () => {
  expect(await ask('LOCK', run, lock('one'))).toEqual({ status: 200, text: lock('one') });
  const other = await begin(run.service);
  const refused = await ask('LOCK', other, lock('two'));
  expect(refused.status).toBe(423);
  expect(JSON.parse(refused.text)).toMatchObject({ ID: 'one', Who: 'somebody' });
  expect(await ask('UNLOCK', other, lock('two'))).toMatchObject({ status: 409 });
  // The pod has crashed and restarted.
  expect(await ask('LOCK', run, lock('three'))).toMatchObject({ status: 200 });
  expect(await ask('UNLOCK', run, lock('three'))).toMatchObject({ status: 200 });
  // The response was lost, and the run retries.
  expect(await ask('UNLOCK', run, lock('three'))).toMatchObject({ status: 200 });
  expect(await ask('LOCK', other, lock('two'))).toMatchObject({ status: 200 });
});

test('nobody but the run comes to its state: no other run, no API token, nobody without', async () => {
  const other = await begin();
  await ask('POST', run, '{"serial":1}');
  for (const token of [other.token, server.adminToken, '', 'x']) {
    for (const method of ['GET', 'POST', 'LOCK', 'UNLOCK']) {
      expect(await ask(method, { id: run.id, token }, lock('two'))).toMatchObject({ status: 401 });
    }
  }
  expect(await ask('GET', { id: 'no-uuid', token: run.token })).toMatchObject({ status: 401 });
  const headers = { authorization: `Token ${server.adminToken}` };
  expect((await fetch(`${server.baseUrl}/internal/terraform-state/${run.id}`, { headers })).status).toBe(401);
  expect(await ask('GET', run)).toEqual({ status: 200, text: '{"serial":1}' });
});

test('a token is good for as long as its run, also after the deployment, and until the run gets another one', async () => {
  const { database } = server.database;
  const again = 'another-token';
  await database.run(makeRun, [run.id, run.deployment, run.service, createHash('sha256').update(again).digest()]);
  expect(await ask('GET', run)).toMatchObject({ status: 401 });
  expect(await ask('GET', { id: run.id, token: again })).toMatchObject({ status: 204 });
  await database.run(endDeployment, [run.deployment]);
  expect(await ask('POST', { id: run.id, token: again }, '{}')).toMatchObject({ status: 200 });
  const other = await begin();
  await database.run(endRun, [other.id]);
  expect(await ask('LOCK', other, lock('one'))).toMatchObject({ status: 401 });
});

test('a run behind which another deployment has one changes nothing, unless it holds the lock', async () => {
  const { database } = server.database;
  expect(await ask('LOCK', run, lock('one'))).toMatchObject({ status: 200 });
  await database.run(endDeployment, [run.deployment]);
  const next = await begin(run.service);
  // The running deployment can store its state, and locks out the other one.
  expect(await ask('LOCK', next, lock('two'))).toMatchObject({ status: 423 });
  expect(await ask('POST', run, '{"serial":1}')).toMatchObject({ status: 200 });
  expect(await ask('UNLOCK', run, lock('one'))).toMatchObject({ status: 200 });
  expect(await ask('POST', run, '{"serial":2}')).toMatchObject({ status: 401 });
  expect((await ask('LOCK', run, lock('three'))).status).not.toBe(200);
  expect(await ask('LOCK', next, lock('two'))).toMatchObject({ status: 200 });
  expect(await ask('GET', next)).toEqual({ status: 200, text: '{"serial":1}' });
});

/** A request whose body is still being sent. */
function sending({ id, token }: Run, length: number): { readonly answer: Promise<number>; finish(): void; cut(): void } {
  const authorization = `Basic ${Buffer.from(`davit:${token}`).toString('base64')}`;
  const headers = { authorization, 'content-type': 'application/json', 'content-length': length };
  const sent = request(`${server.baseUrl}/internal/terraform-state/${id}`, { method: 'POST', headers });
  const answer = new Promise<number>((resolve) => {
    sent.once('response', (response) => resolve(response.resume().statusCode ?? 0));
    sent.once('error', () => resolve(0));
  });
  sent.write('x');
  return { answer, finish: () => void sent.end('x'.repeat(length - 1)), cut: () => void sent.destroy() };
}

test('a run has one body at a time, and all together what the memory holds; others are told at once to come again', async () => {
  const whole = 64 * 1024 * 1024;
  const refused = async (of: Run, length = 10): Promise<boolean> => {
    const one = sending(of, length);
    const early = await Promise.race([one.answer, pause(500, null)]);
    one.cut();
    return early === 503;
  };
  /**
   * Sends a request until its body is being read. From outside, this is visible only because another request of the run
   * is refused.
   */
  const held = async (of: Run, length: number): Promise<ReturnType<typeof sending>> => {
    for (;;) {
      const one = sending(of, length);
      const othersAre = async (): Promise<null> => ((await refused(of)) ? null : othersAre());
      // The first request gets the slot.
      if ((await Promise.race([one.answer, othersAre()])) === null) return one;
      one.cut();
    }
  };
  const first = await held(run, 20);
  first.finish();
  expect(await first.answer).toBe(200);
  expect(await ask('POST', run, '{}')).toEqual({ status: 200, text: '' });
  const large = [await held(await begin(), whole), await held(await begin(), whole)];
  const other = await begin();
  await expect.poll(() => refused(other, whole), { timeout: 20_000 }).toBe(true);
  expect(await ask('GET', other)).toMatchObject({ status: 204 });
  for (const one of large) one.cut();
  await expect.poll(() => refused(other, whole), { timeout: 20_000 }).toBe(false);
});

test('it is no operation of the API', async () => {
  const document = await (await fetch(`${server.baseUrl}/openapi.json`)).text();
  expect(document).not.toContain('terraform-state');
  expect(await ask('DELETE', run)).toMatchObject({ status: 405 });
});
