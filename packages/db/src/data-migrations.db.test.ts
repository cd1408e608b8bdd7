import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from './index.ts';

const migrations = fileURLToPath(new URL('../migrations', import.meta.url));

let home: TestDatabase;
let folder: string;
let client: Client;
beforeEach(async () => {
  home = await createTestDatabase({ isMigrated: false });
  folder = await mkdtemp(path.join(tmpdir(), 'davit-migrations-'));
  client = new Client({ connectionString: home.connectionString });
  await client.connect();
});
afterEach(async () => {
  await client.end();
  await home.drop();
  await rm(folder, { recursive: true });
});

/** Migrates an empty database up to and including a migration. */
async function migrateUpTo(number: string): Promise<void> {
  for (const name of await readdir(migrations)) {
    if (name.slice(0, 4) <= number) await cp(path.join(migrations, name), path.join(folder, name));
  }
  await migrate({ connectionString: home.connectionString, folder });
  // Rows of one table alone: the test needs no others that they belong to.
  await client.query(`set session_replication_role = replica`);
}

const migrateTheRest = (): Promise<unknown> => migrate({ connectionString: home.connectionString, folder: migrations });

/** Inserts a row, with a value of its type for each column that has to have one and is not named. */
async function insert(table: string, row: Readonly<Record<string, unknown>>): Promise<void> {
  const { rows: columns } = await client.query<{ name: string; type: string }>(
    `select attname as name, format_type(atttypid, null) as type from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped and attnotnull and not atthasdef and attidentity = ''`,
    [table],
  );
  const values: Readonly<Record<string, () => unknown>> = {
    uuid: randomUUID,
    bytea: () => Buffer.from('sealed'),
    jsonb: () => '{}',
    boolean: () => false,
    integer: () => 1,
    bigint: () => 1,
  };
  const others = columns
    .filter(({ name }) => !(name in row))
    .map(({ name, type }) => [name, values[type]?.() ?? 'some'] as const);
  const all = [...Object.entries(row), ...others];
  await client.query(
    `insert into ${table} (${all.map(([name]) => name).join(', ')}) values (${all.map((_, index) => `$${index + 1}`).join(', ')})`,
    all.map(([, value]) => value),
  );
}

test('git tokens of before belong to the hosts of the services and clusters that use them', async () => {
  await migrateUpTo('0034');
  const [used, ownApi, known, unused] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  await insert('git_token', { id: used, type: 'GENERIC' });
  await insert('git_token', { id: ownApi, type: 'GENERIC', git_api_url: 'https://api.example.org' });
  await insert('git_token', { id: known, type: 'HOSTA' });
  await insert('git_token', { id: unused, type: 'GENERIC' });
  const repository = (url: string, token: string): object => ({ url, git_token_id: token });
  await insert('service', {
    spec: JSON.stringify({ git_repository: repository('https://me@Git.Example.org:8443/a/b.git', used) }),
  });
  await insert('service', {
    spec: JSON.stringify({
      values_override: { file: { git: { git_repository: repository('http://values.example.org/c', used) } } },
    }),
  });
  await insert('service', { spec: JSON.stringify({ git_repository: repository('https://elsewhere.example.org/a', ownApi) }) });
  await insert('service', { spec: JSON.stringify({ git_repository: repository('https://elsewhere.example.org/a', known) }) });
  await insert('cluster', {
    spec: JSON.stringify({
      infrastructure_charts_parameters: {
        eks_anywhere_parameters: { git_repository: repository('https://clusters.example.org/x', used) },
      },
    }),
  });
  await migrateTheRest();
  const { rows } = await client.query<{ id: string; hosts: string[] }>('select id, hosts from git_token');
  const hosts = new Map(rows.map((row) => [row.id, row.hosts.toSorted()]));
  expect(hosts.get(used)).toEqual(['clusters.example.org', 'git.example.org', 'values.example.org']);
  for (const id of [ownApi, known, unused]) expect(hosts.get(id)).toEqual([]);
});

test('what kept requests apart is no part of who asked any more', async () => {
  await migrateUpTo('0037');
  const token = randomUUID();
  const actors = [token, `${token} DIFF`, `${token} PLAN FORCE_UNLOCK`, 'A person with spaces'];
  for (const actor of actors) {
    await insert('deployment', { actor, action: 'DEPLOY', origin: 'API', status: 'QUEUED' });
    await insert('audit_event', { actor, origin: 'API' });
  }
  await migrateTheRest();
  const deployments = await client.query('select actor, merge_key from deployment order by merge_key, actor <> $1', [token]);
  expect(deployments.rows).toEqual([
    { actor: token, merge_key: '' },
    { actor: 'A person with spaces', merge_key: '' },
    { actor: token, merge_key: 'DIFF' },
    { actor: token, merge_key: 'PLAN FORCE_UNLOCK' },
  ]);
  const events = await client.query<{ actor: string }>('select distinct actor from audit_event order by 1');
  expect(events.rows.map(({ actor }) => actor).toSorted()).toEqual([token, 'A person with spaces'].toSorted());
});

test('steps that were left running end as their services did, and those of running deployments do not', async () => {
  await migrateUpTo('0058');
  const cases = [
    { status: 'CANCELED', phase: 'CANCELED', expected: 'CANCELED' },
    { status: 'FAILED', phase: 'FAILED', expected: 'FAILED' },
    { status: 'RUNNING', phase: 'BUILDING', expected: 'RUNNING' },
  ];
  for (const { status, phase } of cases) {
    const ids = { deployment_id: randomUUID(), service_id: randomUUID() };
    await insert('deployment', { id: ids.deployment_id, action: 'DEPLOY', origin: 'API', status, finished_at: '2026-11-01' });
    await insert('deployment_service', { ...ids, phase });
    await insert('deployment_step', { ...ids, position: 0, name: phase, status: 'RUNNING' });
    await insert('deployment_step', { ...ids, position: 1, name: 'later' });
  }
  await migrateTheRest();
  const { rows } = await client.query(`select name as phase, status from deployment_step where name <> 'later' order by name`);
  expect(rows).toEqual(
    cases.map(({ phase, expected }) => ({ phase, status: expected })).toSorted((a, b) => a.phase.localeCompare(b.phase)),
  );
  const later = await client.query(`select 1 from deployment_step where name = 'later' and status = 'PENDING'`);
  expect(later.rowCount).toBe(cases.length);
});
