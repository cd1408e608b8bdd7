import { assert, date, integer, property } from 'fast-check';
import { expect, test } from 'vitest';
import { isoTimestamp } from './types.ts';

test.each([
  ['2026-01-02 03:04:05+00', '2026-01-02T03:04:05.000Z'],
  ['2026-01-02 03:04:05.6+00', '2026-01-02T03:04:05.600Z'],
  ['2026-01-02 03:04:05.678901+00', '2026-01-02T03:04:05.678Z'],
  ['2026-01-02 03:04:05.678901+05:30', '2026-01-01T21:34:05.678Z'],
  ['2026-01-02 03:04:05-08', '2026-01-02T11:04:05.000Z'],
  ['infinity', 'infinity'],
])('timestamp %s arrives as %s', (text, expected) => {
  expect(isoTimestamp(text)).toBe(expected);
});

test('any instant keeps its milliseconds', () => {
  const instants = date({ min: new Date('1970-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
  assert(
    property(instants, integer({ min: 0, max: 999 }), (instant, microseconds) => {
      const iso = instant.toISOString();
      const text = `${iso.slice(0, 10)} ${iso.slice(11, -1)}${String(microseconds).padStart(3, '0')}`
        .replace(/0+$/, '')
        .replace(/\.$/, '');
      expect(isoTimestamp(`${text}+00`)).toBe(iso);
    }),
  );
});
