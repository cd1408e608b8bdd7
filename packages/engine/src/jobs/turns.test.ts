import { expect, test } from 'vitest';
import { Turns } from './turns.ts';

const { signal } = new AbortController();

test('answers what was done at its turn, or how that failed', async () => {
  const turns = new Turns(1);
  const failed = turns.use(() => Promise.reject(new Error('no')), signal);
  const done = turns.use(() => Promise.resolve('yes'), signal);
  await expect(failed).rejects.toThrow('no');
  expect(await done).toBe('yes');
});

test('what takes long goes on, and lets the next one begin', async () => {
  const turns = new Turns(1, 1);
  const slow = Promise.withResolvers<string>();
  const done = turns.use(() => slow.promise, signal);
  expect(await turns.use(() => Promise.resolve('next'), signal)).toBe('next');
  slow.resolve('slow');
  expect(await done).toBe('slow');
});

test('what takes long and fails then says so', async () => {
  const turns = new Turns(1, 1);
  const slow = Promise.withResolvers<string>();
  const done = turns.use(() => slow.promise, signal);
  await turns.use(() => Promise.resolve(), signal);
  slow.reject(new Error('late'));
  await expect(done).rejects.toThrow('late');
});

test('who is aborted while it waits for its turn leaves', async () => {
  const turns = new Turns(1);
  const slow = Promise.withResolvers<void>();
  const first = turns.use(() => slow.promise, signal);
  const abort = new AbortController();
  const left = turns.use(() => Promise.reject(new Error('it began')), abort.signal);
  abort.abort(new Error('enough'));
  await expect(left).rejects.toThrow('enough');
  slow.resolve();
  await first;
});
