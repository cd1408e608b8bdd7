import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodePosition, encodePosition, parseSnapshot, sees, type Position, type Snapshot } from './position.ts';

const xid = fc.nat(5000);
const snapshots: fc.Arbitrary<Snapshot> = fc.tuple(xid, fc.uniqueArray(xid, { maxLength: 20 })).map(([from, some]) => {
  const underway = some.map((one) => from + one).toSorted((a, b) => a - b);
  return { xmin: underway[0] ?? from, xmax: (underway.at(-1) ?? from) + 1, underway };
});

/** A snapshot and a later one: some of the transactions in progress have ended, others have begun. */
const pairs = fc.tuple(snapshots, fc.nat(50), fc.func(fc.boolean())).map(([earlier, further, isOpen]) => {
  const begun = Array.from({ length: further }, (_, index) => earlier.xmax + index);
  const underway = [...earlier.underway, ...begun].filter((one) => isOpen(one));
  const xmax = earlier.xmax + further;
  return { earlier, later: { xmin: underway[0] ?? xmax, xmax, underway } };
});

test('a position is the same after it was an id', () => {
  const positions: fc.Arbitrary<Position> = fc.oneof(
    snapshots.map((seen) => ({ seen })),
    fc.tuple(snapshots, fc.maxSafeNat()).map(([seen, line]) => ({ seen, line })),
    fc
      .tuple(pairs, fc.maxSafeNat(), fc.nat(500))
      .map(([{ earlier, later }, sequence, parts]) => ({ seen: earlier, within: { upTo: later, sequence, parts } })),
  );
  fc.assert(
    fc.property(positions, (position) => {
      const id = encodePosition(position);
      expect(id).toMatch(/^[0-9a-z.~-]+$/);
      expect(decodePosition(id)).toEqual(position);
    }),
  );
});

test('what is no id is never taken for one, and never throws', () => {
  for (const id of [
    '',
    'x',
    '1',
    's',
    's1',
    's1.',
    's1.2.9',
    's1.9.3.2',
    's5.1-1.1-1-1',
    's1.1-',
    `s1.${'z'.repeat(20)}`,
    'S1.1',
  ]) {
    expect([id, decodePosition(id)]).toEqual([id, undefined]);
  }
  fc.assert(fc.property(fc.string(), (id) => void decodePosition(id)));
});

test('a later snapshot sees what an earlier one does, and not the other way round unless they are the same', () => {
  const visible = ({ xmax, underway }: Snapshot, id: number): boolean => id < xmax && !underway.includes(id);
  fc.assert(
    fc.property(pairs, ({ earlier, later }) => {
      expect(sees(later, earlier)).toBe(true);
      const ids = Array.from({ length: later.xmax }, (_, index) => index);
      const seesMore = ids.some((id) => visible(later, id) && !visible(earlier, id));
      expect(seesMore && sees(earlier, later)).toBe(false);
    }),
    { numRuns: 30 },
  );
});

test('a snapshot is read as PostgreSQL writes it', () => {
  expect(parseSnapshot('10:20:10,14,15')).toEqual({ xmin: 10, xmax: 20, underway: [10, 14, 15] });
  expect(parseSnapshot('10:10:')).toEqual({ xmin: 10, xmax: 10, underway: [] });
});
