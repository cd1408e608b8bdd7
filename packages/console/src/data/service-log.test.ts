import type { Received } from '@davit/client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { followLog, newSince, type ServiceLog } from './service-log.ts';

const { stream } = vi.hoisted(() => ({ stream: vi.fn<() => AsyncGenerator<Partial<Received>>>() }));
vi.mock('../api.ts', () => ({ api: () => ({ stream }) }));
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

// oxlint-disable typescript/no-unsafe-type-assertion -- only these fields are read
const line = (id: string, level: string | null = null) =>
  ({ event: 'SERVICE_LOG', data: { id, at: '', message: id, pod_name: 'a', level } }) as Partial<Received>;
const opened = (resumed: boolean) => ({ event: 'OPEN', data: { resumed } }) as Partial<Received>;

// oxlint-enable typescript/no-unsafe-type-assertion
/** Follows the events; returns the lines that the page shows at the end. */
async function linesOf(events: readonly Partial<Received>[], signal = new AbortController().signal) {
  stream.mockImplementation(async function* () {
    for (const event of events) yield await Promise.resolve(event);
  });
  let log: ServiceLog = { lines: [], isReady: false, error: null };
  await followLog('s', (change) => void (log = change(log)), signal);
  await vi.runAllTimersAsync();
  return log.lines;
}
const shown = async (...input: Parameters<typeof linesOf>) => (await linesOf(...input)).map(({ id }) => id);

test('lines that are sent again after a reset are shown once', async () => {
  const reset: Partial<Received> = { event: 'RESET', data: { message: '' } };
  expect(await shown([opened(false), line('1'), line('2'), reset, line('1'), line('2'), line('3')])).toEqual(['1', '2', '3']);
  expect(await shown([opened(false), line('1'), opened(false), line('1'), line('2')])).toEqual(['1', '2']);
  expect(await shown([opened(false), line('1'), opened(true), line('2')])).toEqual(['1', '2']);
});

test('a line of a service does not appear on the page of the next one', async () => {
  const leave = new AbortController();
  const following = shown([opened(false), line('1')], leave.signal);
  leave.abort();
  expect(await following).toEqual([]);
});

test('a line looks as the API says, whatever words are in it', async () => {
  const lines = await linesOf([opened(false), line('no error', 'INFO'), line('1', 'ERROR'), line('2', 'WARNING'), line('error')]);
  expect(lines.map(({ level }) => level)).toEqual(['info', 'err', 'warn', 'info']);
});

test('new lines are counted from the last one that is shown, also when older ones were forgotten', () => {
  const lines = ['2', '3', '4', '5'].map((id) => ({ id, at: '', text: id, level: 'info' as const }));
  expect(newSince(lines, lines[1])).toBe(2);
  expect(newSince(lines, { id: '1', at: '', text: '1', level: 'info' })).toBe(4);
  expect(newSince(lines, undefined)).toBe(4);
  expect(newSince([], lines[0])).toBe(0);
});
