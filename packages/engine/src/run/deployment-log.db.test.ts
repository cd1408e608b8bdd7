import { statement } from '@davit/db';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestEngine, service, type TestEngine } from '../testing/test-engine.ts';
import { DeploymentLog } from './deployment-log.ts';

let fixture: TestEngine;
let log: DeploymentLog;
beforeEach(async () => {
  fixture = await createTestEngine();
  const one = service({});
  await fixture.deploy([one]);
  await fixture.reaches(one.serviceId, 'DEPLOYED');
  const { id } = await fixture.database.database.one(newest);
  log = new DeploymentLog(fixture.database.database, id, (text) => text);
});
afterEach(() => fixture.close());

const newest = statement<{ id: string }>('test_newest_deployment', 'select id from deployment');
const kept = statement<{ lines: number; bytes: number; last: string }>(
  'test_kept_lines',
  `select count(*)::integer as lines, sum(length(message))::integer as bytes,
     (select message from deployment_log where step = $1 order by id desc limit 1) as last from deployment_log where step = $1`,
);
const keptOf = async (step: string) => {
  await log.flush();
  return fixture.database.database.one(kept, [step]);
};

test('a step that prints without end is cut, with one line that says so, and others are not', { timeout: 60_000 }, async () => {
  for (let index = 0; index < 200_000; index += 1) log.add('short', 'y');
  const long = 'x'.repeat(10_000);
  for (let index = 0; index < 2_000; index += 1) log.add('long', long);
  log.add('after', 'done');
  const last = (step: string): string => `The output of ${step} exceeds 2 MiB or 20000 lines: the rest is not stored.`;
  expect(await keptOf('short')).toMatchObject({ lines: 20_001, last: last('short') });
  const { bytes, last: output } = await keptOf('long');
  expect(output).toBe(last('long'));
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
