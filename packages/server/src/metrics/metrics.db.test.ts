import { failingDatabase } from '@davit/testkit/failing-database';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PlatformMetrics } from './platform.ts';
import { hasPromtool, promtool, promtoolRemedy, Scrape } from './testing.ts';

let server: RunningServer;
beforeAll(async () => {
  server = await startRunningServer();
});
afterAll(() => server.close());

test.skipIf(!hasPromtool)(`promtool finds nothing to say about the page${promtoolRemedy}`, async () => {
  const { text, names } = await Scrape.of(server.baseUrl);
  expect(names).toContain('process_resident_memory_bytes');
  expect(promtool(['check', 'metrics'], text)).toBe('');
});

test('each name has a help and a type', async () => {
  const { text, names } = await Scrape.of(server.baseUrl);
  const isDeclared = (name: string): boolean =>
    [name, name.replace(/_(bucket|sum|count)$/, '')].some((family) =>
      new RegExp(`^# HELP ${family} \\S.*\n# TYPE ${family} `, 'm').test(text),
    );
  expect([...names].filter((name) => !isDeclared(name))).toEqual([]);
});

test('with a database that fails the page has what the process knows, and says what is missing', async () => {
  const { deps } = server.api;
  let isAway = true;
  const database = failingDatabase(deps.database, () => isAway);
  const warnings: object[] = [];
  const log = { warn: (details: object) => void warnings.push(details) };
  const metrics = new PlatformMetrics({ ...deps, ...deps.config, database, backupFolder: '/nowhere', version: '1', log });
  const away = new Scrape(await metrics.render());
  expect(away.value('davit_source_up{source="database"}')).toBe(0);
  expect(away.value('davit_source_up{source="state_disk"}')).toBe(1);
  expect(away.value('davit_disk_free_bytes{disk="state"}')).toBeGreaterThan(0);
  // A folder that does not exist yet does not count as unreadable.
  expect(away.value('davit_source_up{source="backups_disk"}')).toBe(1);
  expect(away.value('davit_disk_free_bytes{disk="backups"}')).toBeUndefined();
  expect(away.value('davit_build_info{version="1",role="all"}')).toBe(1);
  expect(away.names).not.toContain('davit_queue_length');
  // The failure is logged once per caching period, however often the metrics are scraped.
  await metrics.render();
  expect(warnings).toHaveLength(1);
  isAway = false;
  const back = async () => new Scrape(await metrics.render()).value('davit_queue_length{state="ready"}');
  await expect.poll(back, { interval: 500 }).toBe(0);
});

test('an engine that does not answer costs a scrape a second at most, and its own series', async () => {
  const { deps } = server.api;
  const engine = { clusterHealth: () => [], engineDisk: () => new Promise<null>(() => undefined) };
  const metrics = new PlatformMetrics({
    ...deps,
    ...deps.config,
    engine,
    backupFolder: '/',
    version: '1',
    log: { warn: () => undefined },
  });
  const began = performance.now();
  const seen = new Scrape(await metrics.render());
  expect(performance.now() - began).toBeLessThan(2500);
  expect(seen.value('davit_source_up{source="engine_disk"}')).toBe(0);
  expect(seen.value('davit_source_up{source="database"}')).toBe(1);
});
