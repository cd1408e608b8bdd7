import { describe, expect, test } from 'vitest';
import { causeOfEnd, describeEnd, isLoop, quietSeconds, severityOfEnd } from './instance-end.ts';

const start = Date.parse('2026-01-01T00:00:00Z');
/** Returns exits of one instance, at these seconds after the start, newest first. */
const ends = (...seconds: readonly number[]) =>
  seconds
    .toSorted((a, b) => b - a)
    .map((at) => ({ instance_id: 'one', ended_at: new Date(start + at * 1_000).toISOString(), ends: 1 }));
const end = { code: 3, outOfMemory: false, at: new Date(start).toISOString() };

describe('a crash loop', () => {
  test('is three ends of an instance within ten minutes, those that were not seen included', () => {
    expect(isLoop('one', ends(0, 60))).toBe(false);
    expect(isLoop('one', ends(0, 60, 599))).toBe(true);
    expect(isLoop('one', ends(0, 60, 700))).toBe(false);
    expect(isLoop('two', ends(0, 60, 120))).toBe(false);
    expect(
      isLoop(
        'one',
        ends(0).map((one) => ({ ...one, ends: 3 })),
      ),
    ).toBe(true);
  });

  test('is an ERROR where no other instance serves', () => {
    expect(severityOfEnd('one', ends(0, 1, 2), 0)).toBe('ERROR');
    expect(severityOfEnd('one', ends(0, 1, 2), 1)).toBe('WARNING');
    expect(severityOfEnd('one', ends(0), 0)).toBe('WARNING');
  });

  test('says how often, and when next', () => {
    const input = { instance: { id: 'one', name: 'one' }, end, cause: 'PROCESS_EXITED' as const, memoryMiB: 64, lines: [] };
    const message = (pauseSeconds: number | null, restartPauseSeconds?: number): string => {
      const instance = { ...input.instance, ...(restartPauseSeconds !== undefined && { restartPauseSeconds }) };
      return describeEnd({ ...input, instance, pauseSeconds, recent: ends(0, 1, 2, 3) }).message;
    };
    expect(message(4)).toContain('It ended 4 times within 10 minutes. It is restarted after 4 s.');
    expect(message(null, 16)).toContain('It is restarted after 16 s.');
    expect(message(null)).toContain('It is restarted immediately.');
  });
});

test('quiet is needed for at least so long, and twice as long as between the last two ends, an hour at most', () => {
  expect(quietSeconds(ends(0), 60)).toBe(60);
  expect(quietSeconds(ends(0, 10), 60)).toBe(60);
  expect(quietSeconds(ends(0, 300), 60)).toBe(600);
  expect(quietSeconds(ends(0, 3_500), 60)).toBe(3_600);
});

test('the cause of an end is memory, a probe, the cluster, or the process', () => {
  expect(causeOfEnd({ ...end, code: 137, outOfMemory: true }, true)).toBe('OUT_OF_MEMORY');
  expect(causeOfEnd({ ...end, code: 143 }, true)).toBe('PROBE_FAILED');
  expect(causeOfEnd({ ...end, words: 'Evicted: memory' }, false)).toBe('INSTANCE_EVICTED');
  expect(causeOfEnd({ ...end, code: null }, false)).toBe('PROCESS_EXITED');
  expect(causeOfEnd(end, false)).toBe('PROCESS_EXITED');
});
