import { randomUUID } from 'node:crypto';
import { createFakeCluster, type FakeCluster } from '../packages/drivers/src/index.ts';
import { statement } from '../packages/db/src/index.ts';
import { createTestDatabase, type TestDatabase } from '../packages/testkit/src/database.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from './support/eventually.ts';
import { ForkedServer } from './support/forked-server.ts';

/*
 * Three API servers and three workers share one database, and one of them is killed every few seconds. Every queued
 * deployment runs once, in order, to its end.
 */

const token = 'several-administrator-token';
// Each action differs from the one before, because the queue merges equal actions.
const actions = ['deploy', 'stop', 'deploy', 'stop'] as const;
const environmentCount = 250;
const killEveryMilliseconds = 2_500;

const deployments = statement<{
  environment_id: string;
  action: string;
  status: string;
  started_at: string;
  finished_at: string;
  failures: readonly unknown[] | null;
}>(
  'e2e_several_deployments',
  `SELECT environment_id, action, status, started_at, finished_at,
      (SELECT jsonb_agg(failure) FROM deployment_service s WHERE s.deployment_id = d.id AND failure IS NOT NULL) AS failures
     FROM deployment d ORDER BY environment_id, sequence`,
);

let database: TestDatabase;
let servers: readonly ForkedServer[];
let fake: FakeCluster;
beforeAll(async () => {
  database = await createTestDatabase({ isMigrated: false });
  fake = createFakeCluster();
  const make = (role: string) => new ForkedServer({ fake, database, token, environment: { DAVIT_ROLE: role } });
  servers = ['api', 'worker', 'api', 'worker', 'api', 'worker'].map(make);
  // The first server creates the schema.
  await servers[0]?.start();
  await Promise.all(servers.slice(1).map((server) => server.start()));
}, 180_000);
afterAll(async () => {
  for (const server of servers) await server.kill();
  await database.drop();
  for (const server of servers) server.remove();
});

/** Sends a request to any server that is up, and retries. A change is made once, however often the request is sent. */
async function ask(method: 'GET' | 'POST', path: string, body?: object): Promise<Readonly<Record<string, unknown>>> {
  const key = randomUUID();
  return eventually(async () => {
    const up = servers.filter(({ address }) => address !== null);
    const { address } = up[Math.floor(Math.random() * up.length)] ?? {};
    if (address === undefined) return undefined;
    const answer = await fetch(`${address}${path}`, {
      method,
      headers: {
        authorization: `Token ${token}`,
        'content-type': 'application/json',
        ...(method === 'POST' && { 'idempotency-key': key }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).catch(() => null);
    const text = await answer?.text().catch(() => null);
    if (!answer || answer.status >= 500 || typeof text !== 'string' || text.includes('IDEMPOTENCY_KEY_BUSY')) return undefined;
    // The server was killed between the change and its response. The change is done.
    if (text.includes('IDEMPOTENCY_ANSWER_LOST')) return {};
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    const record: Readonly<Record<string, unknown>> = JSON.parse(text);
    return record;
  }, `an answer to ${method} ${path}`);
}

async function inParallel<T>(many: readonly T[], action: (one: T) => Promise<void>): Promise<void> {
  const waiting = [...many];
  const worker = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await action(one);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

async function allEnded(): Promise<true | undefined> {
  const rows = await database.database.many(deployments);
  const isEnd = rows.length === environmentCount * actions.length && rows.every(({ finished_at: at }) => at !== null);
  return isEnd ? true : undefined;
}

test('a worker answers for its health, and nothing else', async () => {
  const worker = servers.find(({ address }) => address === null);
  const statusOf = async (path: string): Promise<number> => (await fetch(`${worker?.health}${path}`)).status;
  // The worker is ready only once its engine works.
  await expect.poll(() => statusOf('/readyz')).toBe(200);
  expect(await Promise.all(['/healthz', '/organization'].map(statusOf))).toEqual([200, 404]);
});

test('every queued deployment runs once, in its order, to its end, while servers are killed', { timeout: 600_000 }, async () => {
  const organization = await ask('POST', '/organization', { name: 'Shipyard' });
  const project = await ask('POST', `/organization/${String(organization['id'])}/project`, { name: 'Dock' });
  const locations: { readonly environmentId: string; readonly applicationId: string }[] = [];
  await inParallel(
    Array.from({ length: environmentCount }, (_, index) => `environment ${index}`),
    async (name) => {
      const environment = await ask('POST', `/project/${String(project['id'])}/environment`, { name });
      const environmentId = String(environment['id']);
      const body = {
        name: 'web',
        dockerfile_path: 'Dockerfile',
        git_repository: { url: 'https://git.example.org/web.git', branch: 'main' },
        healthchecks: {},
      };
      const application = await ask('POST', `/environment/${environmentId}/application`, body);
      locations.push({ environmentId, applicationId: String(application['id']) });
    },
  );

  const stop = new AbortController();
  let kills = 0;
  const kill = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const begun = Date.now();
      const victim = servers[kills % servers.length];
      await victim?.kill();
      kills += 1;
      await victim?.start();
      await eventually(
        async () => (stop.signal.aborted || Date.now() - begun > killEveryMilliseconds ? true : undefined),
        'the next one to be killed',
      );
    }
  };
  const request = async (): Promise<void> => {
    try {
      await inParallel(locations, async ({ applicationId }) => {
        for (const action of actions) await ask('POST', `/application/${applicationId}/${action}`);
      });
      await eventually(allEnded, 'the end of all deployments', 400_000);
    } finally {
      stop.abort();
    }
  };
  await Promise.all([request(), kill()]);

  expect(kills).toBeGreaterThan(1);
  const rows = await database.database.many(deployments);
  expect(rows.flatMap(({ failures }) => failures ?? [])).toEqual([]);
  const byEnvironment = Map.groupBy(rows, ({ environment_id: id }) => id);
  expect(byEnvironment.size).toBe(environmentCount);
  for (const list of byEnvironment.values()) {
    expect(list.map(({ action, status }) => `${action} ${status}`)).toEqual(
      actions.map((action) => `${action.toUpperCase()} SUCCEEDED`),
    );
    // The deployments of an environment do not overlap.
    const times = list.flatMap((one) => [Date.parse(one.started_at), Date.parse(one.finished_at)]);
    expect(times).toEqual(times.toSorted((x, y) => x - y));
  }
  // All services are stopped, and nothing remains of runs that other workers took over.
  expect(fake.instances).toEqual([]);
});
