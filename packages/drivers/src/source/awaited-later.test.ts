import { expect, test } from 'vitest';
import { awaitedLater } from './awaited-later.ts';

test('a rejection before anybody awaits it is not unhandled, and still reaches who awaits it', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  try {
    const promise = awaitedLater(Promise.reject(new Error('early')));
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    expect(unhandled).toEqual([]);
    await expect(promise).rejects.toThrow('early');
  } finally {
    process.off('unhandledRejection', note);
  }
});
