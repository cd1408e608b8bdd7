import { statement } from '@davit/db';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createWorld, service, type World } from '../testing/world.ts';
import { DeploymentLog } from './deployment-log.ts';

let world: World;
let log: DeploymentLog;
beforeEach(async () => {
  world = await createWorld();
  const one = service({});
  await world.deploy([one]);
  await world.reaches(one.serviceId, 'DEPLOYED');
  const { id } = await world.database.database.one(newest);
  log = new DeploymentLog(world.database.database, id, (text) => text);
});
afterEach(() => world.close());

const newest = statement<{ id: string }>('test_newest_deployment', 'select id from deployment');
const kept = statement<{ lines: number; bytes: number; last: string }>(
  'test_kept_lines',
  `select count(*)::integer as lines, sum(length(message))::integer as bytes,
     (select message from deployment_log where step = $1 order by id desc limit 1) as last from deployment_log where step = $1`,
);
const keptOf = async (step: string) => {
  await log.flush();
  return world.database.database.one(kept, [step]);
};

test('a step that prints without end is cut, with one line that says so, and others are not', { timeout: 60_000 }, async () => {
  for (let index = 0; index < 200_000; index += 1) log.add('short', 'y');
  const long = 'x'.repeat(10_000);
  for (let index = 0; index < 2_000; index += 1) log.add('long', long);
  log.add('after', 'done');
  const last = (step: string): string => `The output of ${step} exceeds 2 MiB or 20000 lines: the rest is not stored.`;
  expect(await keptOf('short')).toMatchObject({ lines: 20_001, last: last('short') });
  const { bytes, last: said } = await keptOf('long');
  expect(said).toBe(last('long'));
  expect(bytes).toBeGreaterThan(2_000_000);
  expect(bytes).toBeLessThan(2_200_000);
  expect(await keptOf('after')).toMatchObject({ lines: 1 });
});

test('what Davit itself warns of is told behind the cut, and another service has an output of its own', async () => {
  const serviceId = crypto.randomUUID();
  for (let index = 0; index < 300; index += 1) log.add('told', 'x'.repeat(10_000));
  log.add('told', 'it failed', { level: 'ERROR' });
  log.add('told', 'the other one', { serviceId });
  expect(await keptOf('told')).toMatchObject({ last: 'the other one' });
  expect((await keptOf('told')).lines).toBe(209 + 3);
});
