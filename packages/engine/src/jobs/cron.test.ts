import { describe, expect, test } from 'vitest';
import { cronFault, isTimeZone, nextRun } from './cron.ts';

const next = (expression: string, timezone: string, after: string): string | undefined =>
  nextRun({ expression, timezone }, new Date(after))?.toISOString();

describe('the next run of a schedule', () => {
  test('is read in its time zone', () => {
    expect(next('30 2 * * *', 'Etc/UTC', '2026-01-01T00:00:00Z')).toBe('2026-01-01T02:30:00.000Z');
    expect(next('30 2 * * *', 'America/New_York', '2026-01-01T00:00:00Z')).toBe('2026-01-01T07:30:00.000Z');
  });

  test('is after the given time, never at it', () => {
    expect(next('*/15 * * * *', 'Etc/UTC', '2026-01-01T00:15:00Z')).toBe('2026-01-01T00:30:00.000Z');
  });

  test('is once in the hour that comes twice', () => {
    const first = next('30 2 * * *', 'Europe/Paris', '2026-10-24T12:00:00Z') ?? '';
    expect(first.slice(0, 10)).toBe('2026-10-25');
    expect(next('30 2 * * *', 'Europe/Paris', first)?.slice(0, 10)).toBe('2026-10-26');
  });

  test('is on that day too when its hour is left out', () => {
    expect(next('30 2 * * *', 'Europe/Paris', '2026-03-28T12:00:00Z')?.slice(0, 10)).toBe('2026-03-29');
  });

  test('is on either day where day of month and day of week are both given', () => {
    expect(next('0 0 13 * 5', 'Etc/UTC', '2026-01-01T12:00:00Z')).toBe('2026-01-02T00:00:00.000Z');
  });
});

test.each(['* * * *', '* * * * * *', '61 * * * *', 'a * * * *', '@daily', '', '0 0 30 2 *'])(
  '%j is no schedule',
  (expression) => {
    expect(cronFault(expression)).toMatch(/five fields|never matches/);
  },
);
test.each(['* * * * *', '0 9-17/2 * * MON-FRI', '5,35 0 1 JAN *'])('%j is a schedule', (expression) => {
  expect(cronFault(expression)).toBeNull();
});
test('a time zone is known by its name only', () => {
  expect(['Etc/UTC', 'UTC', 'Europe/Paris'].map(isTimeZone)).toEqual([true, true, true]);
  expect(['Mars/Olympus', '', '+02:00', 'CESTX'].map(isTimeZone)).toEqual([false, false, false, false]);
});
