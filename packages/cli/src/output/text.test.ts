import { expect, test } from 'vitest';
import { ago, cut, duration, milliseconds, printable, size, table, width, wrap } from './text.ts';

test('times, durations and sizes read like those of the console', () => {
  const now = Date.parse('2026-11-27T12:00:00Z');
  const before = (seconds: number): string => ago(new Date(now - seconds * 1000).toISOString(), now);
  expect([3, 240, 7200, 90_000, 6 * 86_400].map(before)).toEqual(['now', '4 min ago', '2 h ago', 'yesterday', '6 days ago']);
  // The clock of the server is ahead.
  expect(before(-60)).toBe('now');
  expect([400, 38_000, 112_000, 7_500_000].map(duration)).toEqual(['0.4 s', '38 s', '1:52', '2 h 5 min']);
  expect(['PT1M2.5S', 'PT2H', 'nonsense'].map(milliseconds)).toEqual([62_500, 7_200_000, 0]);
  expect([900, 2100, 2_100_000].map(size)).toEqual(['900 bytes', '2.1 kB', '2.1 MB']);
});

test('a table is cut in the column that identifies least, and not at all where there is room', () => {
  const columns = [{ title: 'NAME' }, { title: 'NOTE', cutFirst: 1 }, { title: 'COUNT', align: 'right' as const }];
  const rows = [['api', 'a note that is rather long for this terminal', '3']];
  const narrow = table(columns, rows, 30);
  expect(narrow.map(width)).toEqual([30, 30]);
  expect(narrow[1]).toMatch(/^api {3}a note.*… {6}3$/);
  expect(table(columns, rows, Infinity)[1]).toContain('this terminal');
});

test('texts are cut and wrapped by letters, colours do not count', () => {
  expect(cut('größer', 4)).toBe('grö…');
  expect(width('\u001B[31m✗\u001B[39m')).toBe(1);
  expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
  expect(wrap('unbreakable', 4)).toEqual(['unbreakable']);
});

test('names and messages of others cannot act on the terminal', () => {
  expect(printable('a\u001B]0;title\u0007b\u001B[2Jc\u009Bd\re')).toBe('a]0;titleb[2Jcde');
  expect(printable('\u001B[31mred\u001B[39m\nnext\tword')).toBe('\u001B[31mred\u001B[39m\nnext word');
  const rows = table([{ title: 'NAME' }, { title: 'VERSION' }], [['api\u001B[8A', 'first\nsecond']], Infinity);
  expect(rows).toEqual(['NAME    VERSION', 'api[8A  first second']);
});
