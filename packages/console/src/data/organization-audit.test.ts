import { afterEach, expect, test, vi } from 'vitest';

vi.stubGlobal('window', new EventTarget());
const { startOf } = await import('./organization-audit.ts');
const zone = process.env['TZ'];
afterEach(() => {
  if (zone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zone;
});

test('a day of the audit log ends at midnight, also when the clocks change', () => {
  process.env['TZ'] = 'Europe/Berlin';
  expect(startOf('2026-03-29', 1).toISOString()).toBe('2026-03-29T22:00:00.000Z');
  expect(startOf('2026-10-25', 1).toISOString()).toBe('2026-10-25T23:00:00.000Z');
  expect(startOf('2026-12-31', 1).toISOString()).toBe('2026-12-31T23:00:00.000Z');
  expect(startOf('yesterday', 1).getTime()).toBe(0);
});
