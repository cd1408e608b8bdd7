import { statement } from '@davit/db';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { looksAt, startWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 60_000);
afterAll(() => world.close());

/** Writes an hour of measurements, as the meter would have. */
const measured = statement<{ count: number }>(
  'test_metrics_add',
  `with step as (
     insert into service_metric (service_id, seconds, at, samples, measured_seconds, instances_sum, instances_max, cpu_ms, memory_sum,
                                 memory_max, received_bytes, sent_bytes, volume_bytes, requests, responses, latency)
     select $1::uuid, 60, date_trunc('minute', now()) - make_interval(mins => n), 4, 60, 8, 2, 60000 * (0.2 + 0.15 * sin(n / 6.0)),
            4 * 300 * 1048576.0, 330 * 1048576.0, 5000000 + 60000 * n, 9000000, null, 600 + 10 * n,
            array[0, 570 + 10 * n, 10, 15, 5], array[100, 300 + 10 * n, 120, 50, 20, 5, 3, 1, 1, 0, 0, 0]
       from generate_series(1, 58) n where n not between 20 and 24
     on conflict do nothing returning 1)
   select count(*)::integer as count from step`,
);

test('what a service uses is drawn on one axis of time, said in words, and listed in tables', async () => {
  const { production, services, server } = world;
  const address = `/environment/${production}/service/${services.web}/metrics`;
  const page = await world.open(`/environment/${production}/service/${services.worker}/metrics`);
  await page.getByText('Nothing measured').waitFor();
  expect((await server.database.database.one(measured, [services.web])).count).toBeGreaterThan(50);
  await page.goto(`${world.proxy.baseUrl}/console${address}`);
  const latency = page.getByRole('region', { name: 'Latency' });
  await latency.getByText(/average .* ms, highest/).waitFor();
  await page.getByRole('region', { name: 'Processor' }).locator('canvas').waitFor();
  // A service without volumes has no chart of them, and a gap in the measurements stays a gap.
  expect(await page.getByRole('region', { name: 'Volumes' }).count()).toBe(0);
  await looksAt(page, 'metrics');
  const cpu = page.getByRole('region', { name: 'Processor' });
  await cpu.getByText('As a table').click();
  expect(await cpu.getByRole('cell', { name: '–' }).count()).toBeGreaterThan(3);
  await page.getByRole('button', { name: '1 day' }).click();
  await expect.poll(() => page.getByRole('button', { name: '1 day' }).getAttribute('aria-pressed')).toBe('true');
  expect(page.url()).toContain('minutes=1440');
  expect(world.complaints).toEqual([]);
  await page.close();
}, 60_000);
