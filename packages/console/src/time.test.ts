import { expect, test } from 'vitest';
import { ago, duration, milliseconds, noteServerTime, serverNow } from './time.ts';

test('ages and durations are short and exact enough', () => {
  const now = Date.parse('2026-11-26T12:00:00Z');
  const ages = [
    '2026-11-26T12:00:05Z',
    '2026-11-26T11:56:00Z',
    '2026-11-26T09:00:00Z',
    '2026-11-25T08:00:00Z',
    '2026-11-14T12:00:00Z',
  ];
  expect(ages.map((at) => ago(at, now))).toEqual(['now', '4 min ago', '3 h ago', 'yesterday', '12 days ago']);
  expect([400, 4100, 38_000, 112_000, 7_500_000].map(duration)).toEqual(['400 ms', '4.1 s', '38 s', '1:52', '2 h 5 min']);
  expect(['PT0.07S', 'PT1M2.5S', 'PT2H', 'nonsense'].map(milliseconds)).toEqual([70, 62_500, 7_200_000, 0]);
});

test('no minute is the sixtieth, and yesterday is a day of the calendar, not 24 to 48 hours', () => {
  const now = new Date(2026, 10, 26, 10).getTime();
  const before = (hours: number): string => ago(new Date(now - hours * 3_600_000).toISOString(), now);
  expect([0.999, 23.9, 33, 35, 47].map(before)).toEqual(['59 min ago', '23 h ago', 'yesterday', '2 days ago', '2 days ago']);
});

test('ages are those of the server’s clock, where the clock of this machine is wrong', () => {
  const hour = 3_600_000;
  noteServerTime(new Date(Date.now() + hour).toUTCString());
  expect(Math.abs(serverNow() - Date.now() - hour)).toBeLessThan(60_000);
  noteServerTime(null);
  noteServerTime('no time');
  expect(serverNow() - Date.now()).toBeGreaterThan(hour / 2);
  noteServerTime(new Date().toUTCString());
  expect(Math.abs(serverNow() - Date.now())).toBeLessThan(1000);
});
