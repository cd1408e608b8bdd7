import { expect, test } from 'vitest';
import { completeSince } from './complete.ts';

test('the line of time ends where the first of its lists is not read further', () => {
  expect(completeSince([{ hasOlder: false, oldest: '2026-01-01' }])).toBe('');
  const lists = [
    { hasOlder: true, oldest: '2026-01-02' },
    { hasOlder: true, oldest: '2026-01-05' },
    { hasOlder: false, oldest: '2026-01-09' },
    { hasOlder: false, oldest: undefined },
  ];
  expect(completeSince(lists)).toBe('2026-01-05');
});
