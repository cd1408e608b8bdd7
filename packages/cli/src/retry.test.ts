import type { Send } from '@davit/client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { retrying } from './retry.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const read = { headers: { accept: 'application/json' } };

/** Returns a function that sends nothing: it answers these statuses in turn, the last one again and again. */
function answering(statuses: readonly number[], headers: Readonly<Record<string, string>> = {}) {
  const times: number[] = [];
  const send: Send = () => {
    times.push(performance.now());
    const status = statuses[Math.min(times.length, statuses.length) - 1] ?? 200;
    return Promise.resolve(new Response(`answer ${times.length}`, { status, headers }));
  };
  const pauses = (): number[] => times.slice(1).map((time, index) => Math.round(time - (times[index] ?? 0)));
  return { send: retrying(send), pauses, count: (): number => times.length };
}

test('a read that an overloaded server refuses is sent again, after the seconds that the server names', async () => {
  const { send, pauses } = answering([503, 429, 200], { 'retry-after': '5' });
  const answer = send('http://davit.test/', read);
  await vi.runAllTimersAsync();
  expect([(await answer).status, await (await answer).text()]).toEqual([200, 'answer 3']);
  expect(pauses()).toEqual([5000, 5000]);
});

test('a read whose server stays overloaded fails with its refusal, within half a minute', async () => {
  const { send, pauses } = answering([503], { 'retry-after': '0' });
  const answer = send('http://davit.test/', read);
  await vi.runAllTimersAsync();
  expect([(await answer).status, await (await answer).text()]).toEqual([503, 'answer 6']);
  expect(pauses()).toEqual([500, 1000, 2000, 4000, 8000]);
});

test('a wait that is too long is not begun', async () => {
  const { send, count } = answering([429], { 'retry-after': '60' });
  expect((await send('http://davit.test/', read)).headers.get('retry-after')).toBe('60');
  expect(count()).toBe(1);
});

test('writes, streams and other failures are sent once', async () => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    const { send, count } = answering([503, 200]);
    expect((await send('http://davit.test/', { ...read, method })).status).toBe(503);
    expect(count()).toBe(1);
  }
  const stream = answering([503, 200]);
  expect((await stream.send('http://davit.test/', { headers: { accept: 'text/event-stream' } })).status).toBe(503);
  const other = answering([500, 200]);
  expect((await other.send('http://davit.test/', read)).status).toBe(500);
  expect([stream.count(), other.count()]).toEqual([1, 1]);
});

test('a caller that leaves does not wait for the next attempt', async () => {
  const { send, count } = answering([503], { 'retry-after': '5' });
  const leave = new AbortController();
  const failed = send('http://davit.test/', { ...read, signal: leave.signal }).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(1000);
  const reason = new Error('enough');
  leave.abort(reason);
  expect(await failed).toBe(reason);
  expect([count(), vi.getTimerCount()]).toEqual([1, 0]);
});
