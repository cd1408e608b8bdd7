import { statement } from '@davit/db';
import { createTestDatabase } from '@davit/testkit/database';
import { expect, test } from 'vitest';
import { LivenessLock } from './liveness-lock.ts';

const signs = statement<{ pid: number }>(
  'test_life_signs',
  `select pid from pg_stat_activity where datname = current_database() and application_name = 'davit lock sign'`,
);
const endSession = statement('test_end_life_sign', 'select pg_terminate_backend($1)');

test('what asks for it at once takes it once; it comes back when its session was lost, and goes with the process', async () => {
  const made = await createTestDatabase();
  const pids = async (): Promise<number[]> => (await made.database.many(signs)).map(({ pid }) => pid);
  const crowd = new LivenessLock(made.connectionString, 'sign');
  const sign = new LivenessLock(made.connectionString, 'sign');
  try {
    await Promise.all(Array.from({ length: 5 }, () => crowd.hold()));
    await expect.poll(pids).toHaveLength(1);
    await crowd.close();
    await expect.poll(pids).toEqual([]);

    await sign.hold();
    const [first] = await pids();
    await made.database.run(endSession, [first]);
    const isBack = async (): Promise<boolean> => {
      await sign.hold();
      const now = await pids();
      return now.length === 1 && now[0] !== first;
    };
    await expect.poll(isBack).toBe(true);
  } finally {
    await sign.close();
    await made.drop();
  }
});
