import { randomUUID } from 'node:crypto';
import { acquireSessionLock, statement } from '@davit/db';
import { failingDatabase } from '@davit/testkit/failing-database';
import { expect, test } from 'vitest';
import { createEngine, type RequestedService } from '../index.ts';
import { journalVersion, registerRunner, takeOver } from '../store/journal.ts';
import { config } from '../testing/config.ts';
import { createTestEngine, eventually, formerGone, service, type TestEngine } from '../testing/test-engine.ts';

const endLockOfRunner = statement(
  'test_end_lock_of_runner',
  `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'davit lock runner%'`,
);

const newestOfService = statement<{ runner_id: string; status: string; phase: string }>(
  'test_newest_of_service',
  `select d.runner_id, d.status, s.phase from deployment d join deployment_service s on s.deployment_id = d.id
    where s.service_id = $1 order by d.sequence desc limit 1`,
);

const seenAt = statement<{ at: string }>('test_seen_at', 'select seen_at::text as at from runner where id = $1');

const leaseOf = statement<{ until: string }>(
  'test_lease_of',
  `select d.lease_until::text as until from deployment d join deployment_service s on s.deployment_id = d.id where s.service_id = $1`,
);

const newest = (fixture: TestEngine, serviceId: string) => fixture.database.database.one(newestOfService, [serviceId]);
const ownerOf = async (fixture: TestEngine, serviceId: string): Promise<string> => (await newest(fixture, serviceId)).runner_id;

/**
 * Makes another runner take over this one's deployment, as if this runner had been frozen for longer than its lease.
 */
async function usurp(fixture: TestEngine, serviceId: string): Promise<{ readonly id: string; end(): Promise<void> }> {
  const { database, connectionString } = fixture.database;
  const other = randomUUID();
  const lock = await acquireSessionLock(connectionString, `runner ${other}`);
  await database.run(registerRunner, [other]);
  await database.many(takeOver, [other, await ownerOf(fixture, serviceId), false]);
  return { id: other, end: async () => lock?.release() };
}

test('a runner that loses its session goes on with its deployments, also when the database goes away again meanwhile', async () => {
  const fixture = await createTestEngine();
  await fixture.engine.stop();
  let failures = 0;
  const database = failingDatabase(fixture.database.database, (requested) => requested === takeOver && (failures -= 1) >= 0);
  const engine = createEngine({ ...fixture.input, database });
  try {
    await engine.start();
    const owners = new Set<string>();
    // Runs twice: a runner without a new session of its own would resume nothing the second time.
    for (const name of ['first', 'second']) {
      let begun = 0;
      fixture.fake.script = {
        before: async ({ method }) => {
          if (method === 'build' && (begun += 1) === 1) await new Promise(() => undefined);
        },
      };
      const shop = service({ name });
      await fixture.deploy([shop]);
      await eventually(() => Promise.resolve(begun === 1 || undefined), 'the build');
      owners.add(await ownerOf(fixture, shop.serviceId));
      failures = 3;
      await fixture.database.database.run(endLockOfRunner);
      await fixture.reaches(shop.serviceId, 'DEPLOYED');
      expect(failures).toBeLessThan(0);
      expect(begun).toBe(2);
      owners.add(await ownerOf(fixture, shop.serviceId));
    }
    // The server may keep the former session, because it does not notice a lost network. The owner is therefore another
    // runner each time.
    expect(owners.size).toBe(3);
  } finally {
    await engine.stop();
    await fixture.close();
  }
});

test('an engine whose database goes away while it starts works when that is back', async () => {
  const fixture = await createTestEngine();
  await fixture.engine.stop();
  let failures = 2;
  const database = failingDatabase(
    fixture.database.database,
    (requested) => requested === registerRunner && (failures -= 1) >= 0,
  );
  const engine = createEngine({ ...fixture.input, database });
  try {
    await engine.start();
    expect(failures).toBeLessThan(0);
    const shop = service();
    await fixture.deploy([shop]);
    await fixture.reaches(shop.serviceId, 'DEPLOYED');
  } finally {
    await engine.stop();
    await fixture.close();
  }
});

test('a runner whose deployment another one took over lets go of it in the middle of a step', async () => {
  const fixture = await createTestEngine();
  let building: AbortSignal | undefined;
  fixture.fake.script = {
    before: async ({ method }, signal) => {
      if (method !== 'build' || building !== undefined) return;
      building = signal;
      await new Promise(() => undefined);
    },
  };
  try {
    const shop = service();
    await fixture.deploy([shop]);
    await eventually(() => Promise.resolve(building), 'the build');
    const usurper = await usurp(fixture, shop.serviceId);
    await expect.poll(() => building?.aborted).toBe(true);
    // The usurper ends like a process that exits, and the deployment returns to this runner.
    await usurper.end();
    await fixture.reaches(shop.serviceId, 'DEPLOYED');
  } finally {
    await fixture.close();
  }
});

test('a runner that was taken over while it looked at the former instances stops none of them', async () => {
  // The first process follows the cluster. So the second one, which deploys, stops the former instances by itself.
  const fixture = await createTestEngine({ maximumDeployments: 0 });
  const second = createEngine({ ...fixture.input, settings: { ...fixture.input.settings, maximumDeployments: 8 } });
  await second.start();
  try {
    const shop = service();
    await fixture.ends(await fixture.deploy([shop]));
    let usurper: Awaited<ReturnType<typeof usurp>> | undefined;
    const owners: string[] = [];
    fixture.fake.script = {
      before: async ({ method, service: of }) => {
        if (method === 'retire' && of === shop.serviceId) owners.push(await ownerOf(fixture, shop.serviceId));
      },
      after: async ({ method, service: of }) => {
        if (method !== 'observe' || of !== shop.serviceId || usurper !== undefined) return;
        if ((await newest(fixture, shop.serviceId)).phase === 'SUCCEEDED') usurper = await usurp(fixture, shop.serviceId);
      },
    };
    const own = await ownerOf(fixture, shop.serviceId);
    await fixture.deploy([{ ...shop, release: { config: { ...config(), cpuMillicores: 250 }, commitId: null } }]);
    const other = await eventually(() => Promise.resolve(usurper), 'the look at the former instances');
    // The runner renews its leases every three seconds. After the second renewal it has done whatever it was about to
    // do.
    for (let seen = 0; seen < 2; seen += 1) {
      const { at } = await fixture.database.database.one(seenAt, [own]);
      const isSeen = async () => (await fixture.database.database.one(seenAt, [own])).at !== at || undefined;
      await eventually(isSeen, 'the runner to live on');
    }
    await other.end();
    const isOver = async () => (await newest(fixture, shop.serviceId)).status === 'SUCCEEDED' || undefined;
    await eventually(isOver, 'the end');
    await formerGone(fixture.fake);
    expect(owners.length).toBeGreaterThan(0);
    expect(owners).not.toContain(other.id);
  } finally {
    await second.stop();
    await fixture.close();
  }
});

test('a runner that is to stop keeps what takes its time to end, until it has ended', async () => {
  const fixture = await createTestEngine();
  await fixture.engine.stop();
  const [reached, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const secrets = async (): Promise<Map<string, string>> => {
    reached.resolve();
    await release.promise;
    return new Map();
  };
  const engine = createEngine({ ...fixture.input, hooks: { ...fixture.input.hooks, secrets } });
  await engine.start();
  try {
    const one = service();
    await fixture.deploy([one]);
    await reached.promise;
    const stopped = engine.stop();
    const lease = async (): Promise<string> => (await fixture.database.database.one(leaseOf, [one.serviceId])).until;
    for (let renewed = 0; renewed < 2; renewed += 1) {
      const former = await lease();
      await eventually(async () => (await lease()) !== former || undefined, 'the lease to be renewed');
    }
    release.resolve();
    await stopped;
    expect(await newest(fixture, one.serviceId)).toMatchObject({ status: 'RUNNING' });
  } finally {
    release.resolve();
    await fixture.close();
  }
});

test('what a later version recorded waits for a runner of that version, and holds up no other environment', async () => {
  const fixture = await createTestEngine();
  const recordedBy = statement(
    'test_recorded_by',
    `update deployment d set journal_version = $2 from deployment_service s where s.deployment_id = d.id and s.service_id = $1`,
  );
  const recorded = async (one: RequestedService, version: number): Promise<void> => {
    await fixture.database.database.run(recordedBy, [one.serviceId, version]);
  };
  try {
    const [begun, queued, other] = [service(), service(), service()];
    let isBuilding = false;
    fixture.fake.script = {
      before: async ({ method }) => {
        if (method !== 'build' || isBuilding) return;
        isBuilding = true;
        await new Promise(() => undefined);
      },
    };
    await fixture.deploy([begun]);
    await eventually(() => Promise.resolve(isBuilding || undefined), 'the build');
    await fixture.deploy([queued]);
    await recorded(begun, journalVersion + 1);
    await recorded(queued, journalVersion + 1);
    const owner = await ownerOf(fixture, begun.serviceId);
    const reported: unknown[] = [];
    await fixture.engine.stop();
    const log = { ...fixture.input.log, warn: (fields: unknown) => void reported.push(fields) };
    const engine = createEngine({ ...fixture.input, log });
    await engine.start();
    try {
      const elsewhere = { environment: { ...fixture.environment, environmentId: randomUUID() } };
      expect(await fixture.ends(await fixture.deploy([other], elsewhere))).toBe('SUCCEEDED');
      expect(await newest(fixture, begun.serviceId)).toMatchObject({ status: 'RUNNING', runner_id: owner });
      expect(reported).toEqual([{ deployments: [expect.any(String), expect.any(String)] }]);
      await recorded(begun, journalVersion);
      await fixture.reaches(begun.serviceId, 'DEPLOYED');
      // The environment of `begun` is free now, and `queued` is its next request.
      expect(await fixture.ends(await fixture.deploy([service()], elsewhere))).toBe('SUCCEEDED');
      expect(await newest(fixture, queued.serviceId)).toMatchObject({ status: 'QUEUED' });
      // A request that is merged into it does not change what it needs.
      await fixture.deploy([{ ...queued, release: { config: { ...config(), cpuMillicores: 250 }, commitId: null } }]);
      expect(await newest(fixture, queued.serviceId)).toMatchObject({ status: 'QUEUED' });
      await recorded(queued, journalVersion);
      await fixture.reaches(queued.serviceId, 'DEPLOYED');
    } finally {
      await engine.stop();
    }
  } finally {
    await fixture.close();
  }
});
