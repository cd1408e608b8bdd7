import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { statement } from '@davit/db';
import { createDockerDriver, openDockerEngine, type ClusterDriver, type Instance, type Workload } from '@davit/drivers';
import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { loadBusyboxImage } from '@davit/testkit/engine-images';
import { startTestEngine, testEngineKinds } from '@davit/testkit/engines';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { allKinds } from '../kinds/index.ts';
import { Kinds } from '../kinds/kinds.ts';
import type { EngineParts } from '../shared/parts.ts';
import { config } from '../testing/config.ts';
import { RedactorPool } from '../output/redactor-pool.ts';
import { LogCollector } from '../output/log-collector.ts';

const busybox = 'davit-test/busybox:1';
const context = { signal: new AbortController().signal, log: (): void => undefined };
const stored = statement<{ message: string }>(
  'test_flood_lines',
  'select message from service_log where service_id = $1 order by id desc limit 1',
);
const notices = statement<{ lines: number }>(
  'test_flood_notices',
  `select count(*)::integer as lines from service_log where service_id = $1 and message like 'Davit left out%'`,
);
const count = statement<{ lines: number }>(
  'test_flood_count',
  'select count(*)::integer as lines from service_log where service_id = $1',
);
const mebibyte = 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void; // oxlint-disable-line typescript/no-unsafe-type-assertion -- what the flag adds

/** Returns the memory that this process holds after a garbage collection. */
function heldMiB(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / mebibyte;
}

describe.each(testEngineKinds())('a flood in a log on %s', (kind) => {
  const installation = `test-${randomUUID()}`;
  const environment = randomUUID();
  let db: TestDatabase;
  let driver: ClusterDriver;
  let collector: LogCollector;
  beforeAll(async () => {
    db = await createTestDatabase();
    const engine = await openDockerEngine({ socket: (await startTestEngine(kind)).socketPath, stateFolder: '/nonexistent' });
    await loadBusyboxImage(engine.docker, busybox);
    driver = createDockerDriver({ ...engine, installation });
    const some = {
      database: db.database,
      drivers: { here: { cluster: driver } },
      kinds: new Kinds(allKinds),
      redactors: new RedactorPool({ secrets: () => Promise.resolve(new Map()) }),
      settings: { logLinesPerSecond: 1000 },
      archive: { stored: () => undefined },
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    };
    const parts = some as unknown as EngineParts; // oxlint-disable-line typescript/no-unsafe-type-assertion -- all that is looked at
    collector = new LogCollector(parts, 'here', { reportMilliseconds: 1000 });
  });
  afterAll(async () => {
    await collector.stop();
    await driver.removeEnvironment(environment, context);
    await db.drop();
  });

  const run = async (script: string): Promise<Instance> => {
    const workload: Workload = {
      name: 'Flood',
      owner: { installation, organization: 'o', project: 'p', environment, service: randomUUID() },
      release: randomUUID(),
      rollout: randomUUID(),
      image: busybox,
      entrypoint: ['/bin/sh', '-c'],
      arguments: [script],
      environment: [],
      files: [],
      ports: [],
      volumes: [],
      cpuMillicores: 500,
      memoryMiB: 64,
      instances: 1,
      hostnames: [],
      readiness: null,
      liveness: null,
      readyTimeoutSeconds: 30,
      terminationGraceSeconds: 0,
    };
    await driver.start(workload, context);
    const [instance] = await driver.awaitReady(workload, context);
    if (!instance) throw new Error('no instance');
    return instance;
  };

  test('costs neither the memory of the server nor the lines of others, and what is left out is counted', async () => {
    const calm = await run('while :; do date +%s; sleep 1; done');
    collector.follow(calm, config());
    const before = heldMiB();
    const flood = await run(`yes ${'x'.repeat(200)}`);
    const began = Date.now();
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, heldMiB())), 500);
    collector.follow(flood, config());
    try {
      await vi.waitFor(
        async () => {
          expect((await db.database.one(notices, [flood.service])).lines).toBeGreaterThan(5);
        },
        { timeout: 60_000, interval: 500 },
      );
      // The instance has printed hundreds of megabytes by now.
      const seconds = (Date.now() - began) / 1000;
      expect((await db.database.one(count, [flood.service])).lines).toBeLessThan((10 + seconds) * 1000 + 100);
      const [newest] = await db.database.many(stored, [calm.service]);
      expect(Date.now() / 1000 - Number(newest?.message)).toBeLessThan(5);
      expect(most - before).toBeLessThan(60);
      await driver.retire({ service: flood.service }, 0, context);
      await vi.waitFor(() => expect(collector.isReading(flood.id)).toBe(false), { timeout: 30_000, interval: 200 });
      await vi.waitFor(() => expect(heldMiB() - before).toBeLessThan(20), { timeout: 20_000, interval: 200 });
    } finally {
      clearInterval(watch);
      await driver.retire({ service: flood.service }, 0, context);
    }
  });
});
