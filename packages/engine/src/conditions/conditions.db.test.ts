import { statement } from '@davit/db';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RequestedService } from '../index.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';
import { clearCondition, raiseCondition, type Observed } from './conditions.ts';

let fixture: TestEngine;
beforeEach(async () => {
  fixture = await createTestEngine();
});
afterEach(() => fixture.close());

const failure = {
  code: 'DISK_FULL',
  message: 'The disk of the volume /data is full.',
  hint: 'Free space.',
  evidence: { original: 'no space left on device' },
};

async function deployed(): Promise<{ one: RequestedService; observed: Observed }> {
  const one = service();
  expect(await fixture.ends(await fixture.deploy([one]))).toBe('SUCCEEDED');
  const rollout = fixture.fake.instances.find((instance) => instance.service === one.serviceId)?.rollout ?? '';
  const observed: Observed = {
    serviceId: one.serviceId,
    rollout,
    kind: 'DISK',
    severity: 'WARNING',
    failure,
    instance: 'shop-0',
    at: new Date().toISOString(),
    occurrences: 1,
    clearAfterSeconds: null,
  };
  return { one, observed };
}

const reported = statement<{ fact: Record<string, unknown> }>(
  'test_condition_events',
  `select fact from stream_event where kind = 'CONDITION' and service_id = $1 order by sequence`,
);
const lines = statement<{ message: string; instance_name: string }>(
  'test_service_lines',
  'select message, instance_name from service_log where service_id = $1 order by id',
);
const backdate = statement('test_condition_seen', `update service_condition set seen_at = seen_at - interval '1 hour'`);
const db = (): TestEngine['database']['database'] => fixture.database.database;
/** The keeper looks every ten seconds, and at each event. */
const wake = (one: RequestedService): void => {
  const found = fixture.fake.instances.find((instance) => instance.service === one.serviceId);
  fixture.fake.kill(found?.id ?? '', 0);
};
const statusOf = (one: RequestedService, ...words: readonly (string | null)[]) =>
  eventually(
    async () => {
      const view = await fixture.view(one.serviceId);
      return words.includes(view.runningStatus) ? view : undefined;
    },
    `running status ${words.join(' or ')}`,
  );

test('a condition is on the status, in the log and on the stream, until it is cleared', async () => {
  const { one, observed } = await deployed();
  expect(await raiseCondition(db(), observed)).toMatchObject({ occurrences: 1 });
  wake(one);
  const view = await statusOf(one, 'WARNING');
  expect(view.conditions.find(({ kind }) => kind === 'DISK')).toMatchObject({
    severity: 'WARNING',
    failure,
    instance: 'shop-0',
    occurrences: 1,
    since: observed.at,
    seenAt: observed.at,
  });
  const line = 'Davit: WARNING DISK_FULL: shop-0: The disk of the volume /data is full. Free space.';
  expect(await db().many(lines, [one.serviceId])).toContainEqual({ message: line, instance_name: 'davit' });
  await clearCondition(db(), one.serviceId, 'DISK');
  expect((await fixture.view(one.serviceId)).conditions.map(({ kind }) => kind)).not.toContain('DISK');
  const facts = (await db().many(reported, [one.serviceId])).map(({ fact }) => fact).filter(({ kind }) => kind === 'DISK');
  expect(facts).toMatchObject([
    { severity: 'WARNING', code: 'DISK_FULL', message: failure.message, hint: 'Free space.', instance: 'shop-0', occurrences: 1 },
    { severity: null, code: 'DISK_FULL' },
  ]);
});

test('what goes on is written once, what happens again is counted', async () => {
  const { one, observed } = await deployed();
  await raiseCondition(db(), observed);
  expect(await raiseCondition(db(), { ...observed, occurrences: 0 })).toBeNull();
  expect(await raiseCondition(db(), { ...observed, occurrences: 2 })).toMatchObject({ occurrences: 3 });
  expect(await raiseCondition(db(), { ...observed, occurrences: 0, severity: 'ERROR' })).toMatchObject({ occurrences: 3 });
  expect((await db().many(reported, [one.serviceId])).map(({ fact }) => fact['severity'])).toEqual([
    'WARNING',
    'WARNING',
    'ERROR',
  ]);
});

test('a condition of another rollout is not written, and a new rollout forgets those of the former one', async () => {
  const { one, observed } = await deployed();
  expect(await raiseCondition(db(), { ...observed, rollout: observed.serviceId })).toBeNull();
  await raiseCondition(db(), observed);
  expect(await fixture.ends(await fixture.deploy([one], { action: 'RESTART' }))).toBe('SUCCEEDED');
  expect((await fixture.view(one.serviceId)).conditions).toEqual([]);
});

test('the keeper clears what was not observed for as long as the condition says, and nothing before', async () => {
  const { one, observed } = await deployed();
  await raiseCondition(db(), { ...observed, clearAfterSeconds: 60 });
  await fixture.restart();
  await statusOf(one, 'WARNING');
  await db().run(backdate);
  await fixture.restart();
  await statusOf(one, 'RUNNING');
  expect((await fixture.view(one.serviceId)).conditions).toEqual([]);
  expect((await db().many(lines, [one.serviceId])).at(-1)?.message).toMatch(/^Davit: DISK_FULL is over: the service runs/);
});
