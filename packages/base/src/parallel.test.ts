import { expect, test } from 'vitest';
import { allEnded } from './parallel.ts';

test('all results are returned in their order', async () => {
  expect(await allEnded([Promise.resolve(1), Promise.resolve('two')])).toEqual([1, 'two']);
});

test('a failure is thrown only when the others have ended, also if they fail', async () => {
  const slow = Promise.withResolvers<number>();
  let isOver = false;
  const all = allEnded([Promise.reject(new Error('first')), slow.promise]).finally(() => (isOver = true));
  all.catch(() => undefined);
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  slow.reject(new Error('second'));
  await expect(all).rejects.toThrow('first');
});
