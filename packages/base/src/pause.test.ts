import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { abortablePause, neverAborted, pause } from './pause.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const outcomeOf = (promise: Promise<void>): { value: unknown } => {
  const outcome: { value: unknown } = { value: 'pending' };
  promise.then(
    () => (outcome.value = 'resolved'),
    (error: unknown) => (outcome.value = error),
  );
  return outcome;
};

test.each([
  ['pause', pause],
  ['abortablePause', abortablePause],
])('%s resolves after its time, and leaves no listener', async (_, action) => {
  const { signal } = new AbortController();
  const outcome = outcomeOf(action(100, signal));
  await vi.advanceTimersByTimeAsync(99);
  expect(outcome.value).toBe('pending');
  await vi.advanceTimersByTimeAsync(1);
  expect(outcome.value).toBe('resolved');
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

test.each([
  ['before', 0],
  ['during', 50],
])('an abort %s the pause ends it: pause resolves, abortablePause rejects with the reason', async (_, milliseconds) => {
  const controller = new AbortController();
  const reason = new Error('the user canceled');
  if (milliseconds === 0) controller.abort(reason);
  const [resolving, rejecting] = [pause(100, controller.signal), abortablePause(100, controller.signal)].map(outcomeOf);
  await vi.advanceTimersByTimeAsync(milliseconds);
  controller.abort(reason);
  await vi.advanceTimersByTimeAsync(0);
  expect([resolving?.value, rejecting?.value]).toEqual(['resolved', reason]);
  expect(vi.getTimerCount()).toBe(0);
});

test('a pause without a signal lasts its time', async () => {
  // Other tests of this process may use the signal as well.
  const before = getEventListeners(neverAborted, 'abort').length;
  const outcome = outcomeOf(pause(100));
  await vi.advanceTimersByTimeAsync(100);
  expect(outcome.value).toBe('resolved');
  expect(getEventListeners(neverAborted, 'abort')).toHaveLength(before);
});
