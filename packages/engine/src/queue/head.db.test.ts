import { randomUUID } from 'node:crypto';
import { createTestDatabase } from '@davit/testkit/database';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { claimNext, useIndexes } from '../store/journal.ts';

async function open() {
  const database = await createTestDatabase();
  const clients: Client[] = [];
  onTestFinished(async () => {
    for (const client of clients) await client.end();
    await database.drop();
  });
  const connect = async (): Promise<Client> => {
    const client = new Client({ connectionString: database.connectionString });
    clients.push(client);
    await client.connect();
    return client;
  };
  return { connect, sql: await connect() };
}

/** Queues a request. The statement is one of a version that knows nothing of the head of a queue. */
async function queue(sql: Client, environment: string, version = 1): Promise<string> {
  const id = randomUUID();
  await sql.query(
    `insert into deployment (id, organization_id, project_id, environment_id, cluster_id, driver, action, origin, triggered_by, actor, journal_version)
     values ($1, $1, $1, $2, $1, 'fake', 'DEPLOY', 'API', 'tester', 'tester', $3)`,
    [id, environment, version],
  );
  return id;
}

const setStatus = (sql: Client, id: string, status: string) =>
  sql.query('update deployment set status = $2 where id = $1', [id, status]);

/** Claims as a runner does. */
async function claim(sql: Client, most = 10): Promise<string[]> {
  await sql.query('begin');
  await sql.query(useIndexes.text);
  const { rows } = await sql.query<{ id: string }>(claimNext.text, [randomUUID(), most]);
  await sql.query('commit');
  return rows.map(({ id }) => id);
}

test('requests of an environment begin one after the other, those of several environments at once', async () => {
  const { sql } = await open();
  const [one, other] = [randomUUID(), randomUUID()];
  const first = await queue(sql, one);
  const second = await queue(sql, one);
  const elsewhere = await queue(sql, other);
  expect(new Set(await claim(sql))).toEqual(new Set([first, elsewhere]));
  expect(await claim(sql)).toEqual([]);
  await setStatus(sql, first, 'FAILED');
  expect(await claim(sql)).toEqual([second]);
});

test('a request that is withdrawn makes room for the next one', async () => {
  const { sql } = await open();
  const environment = randomUUID();
  const [first, second, third] = [await queue(sql, environment), await queue(sql, environment), await queue(sql, environment)];
  await setStatus(sql, second, 'WITHDRAWN');
  await setStatus(sql, first, 'WITHDRAWN');
  expect(await claim(sql)).toEqual([third]);
});

test('a request that is deleted makes room for the next one', async () => {
  const { sql } = await open();
  const environment = randomUUID();
  const [first, second] = [await queue(sql, environment), await queue(sql, environment)];
  await sql.query('delete from deployment where id = $1', [first]);
  expect(await claim(sql)).toEqual([second]);
});

test('a request of a later version of Davit keeps those behind it waiting', async () => {
  const { sql } = await open();
  const environment = randomUUID();
  const later = await queue(sql, environment, 1_000);
  const second = await queue(sql, environment);
  expect(await claim(sql)).toEqual([]);
  await setStatus(sql, later, 'RUNNING');
  expect(await claim(sql)).toEqual([]);
  await setStatus(sql, later, 'SUCCEEDED');
  expect(await claim(sql)).toEqual([second]);
});

test('a request that is queued while the running one ends is not forgotten', async () => {
  const { sql, connect } = await open();
  const environment = randomUUID();
  const first = await queue(sql, environment);
  await claim(sql);
  const ending = await connect();
  await ending.query('begin');
  await setStatus(ending, first, 'SUCCEEDED');
  const queued = queue(sql, environment);
  await ending.query('commit');
  expect(await claim(await connect())).toEqual([await queued]);
});

test('a running deployment ends after a request is queued that it did not see', async () => {
  const { sql, connect } = await open();
  const environment = randomUUID();
  const first = await queue(sql, environment);
  await claim(sql);
  const queueing = await connect();
  await queueing.query('begin');
  const second = await queue(queueing, environment);
  const ended = setStatus(sql, first, 'SUCCEEDED');
  await queueing.query('commit');
  await ended;
  expect(await claim(sql)).toEqual([second]);
});

test('two runners never claim the same request', async () => {
  const { sql, connect } = await open();
  const ids = new Set<string>();
  for (let index = 0; index < 40; index += 1) ids.add(await queue(sql, randomUUID()));
  const runners = await Promise.all(Array.from({ length: 4 }, connect));
  const claimed = (await Promise.all(runners.map((runner) => claim(runner, 10)))).flat();
  expect(new Set(claimed)).toEqual(ids);
  expect(claimed.length).toBe(ids.size);
});

test('a claim reads as little of a long queue as of a short one, with a plan for an empty table', async () => {
  const { sql } = await open();
  // PostgreSQL keeps one plan for all values once a statement was executed five times. There are no statistics.
  await sql.query('alter table deployment set (autovacuum_enabled = off)');
  const read = async (): Promise<number> => {
    // The counters also contain what earlier transactions of this session read and have not published yet.
    await sql.query('select pg_stat_force_next_flush()');
    await sql.query('begin');
    await sql.query(useIndexes.text);
    await sql.query({ ...claimNext, values: [randomUUID(), 1] });
    const { rows } = await sql.query<{ rows: string }>(
      `select seq_tup_read + coalesce(idx_tup_fetch, 0) as rows from pg_stat_xact_user_tables where relname = 'deployment'`,
    );
    await sql.query('rollback');
    return Number(rows[0]?.rows);
  };
  for (let index = 0; index < 6; index += 1) await read();
  await queue(sql, randomUUID());
  const short = await read();
  await sql.query(
    `insert into deployment (id, organization_id, project_id, environment_id, cluster_id, driver, action, origin, triggered_by, actor)
     select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), case when n % 4 = 0 then gen_random_uuid() else md5((n % 7)::text)::uuid end,
            gen_random_uuid(), 'fake', 'DEPLOY', 'API', 'tester', 'tester' from generate_series(1, 3000) n`,
  );
  expect(short).toBeGreaterThan(0);
  expect(await read()).toBe(short);
});
