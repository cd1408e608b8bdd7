import { expect, test } from 'vitest';
import { Wake } from './wake.ts';

const forever = 2_000_000_000;

test('news ends a wait', async () => {
  const news = new Wake();
  const waiting = news.wait(forever);
  news.wake();
  await expect(waiting).resolves.toBeUndefined();
});

test('news that arrived before the wait counts once', async () => {
  const news = new Wake();
  news.wake();
  await news.wait(forever);
  let isOver = false;
  const second = news.wait(forever).then(() => (isOver = true));
  await new Promise(setImmediate);
  expect(isOver).toBe(false);
  news.wake();
  await second;
});
