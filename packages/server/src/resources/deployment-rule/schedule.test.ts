import { expect, test } from 'vitest';
import { isTimezone, turnAfter, turnUntil, type Window } from './schedule.ts';

const office: Window = {
  timezone: 'Europe/Paris',
  startMinute: 8 * 60,
  stopMinute: 18 * 60 + 30,
  weekdays: ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY'],
};

function turn(found: ReturnType<typeof turnAfter>): string | undefined {
  return found === undefined ? undefined : `${found.what} ${found.at.toISOString()}`;
}

test.each([
  // 2026-11-20 is a Friday; Paris is an hour ahead of UTC in winter and two in summer.
  ['2026-11-20T06:59:59Z', 'START 2026-11-20T07:00:00.000Z'],
  ['2026-11-20T07:00:00Z', 'STOP 2026-11-20T17:30:00.000Z'],
  ['2026-11-20T17:30:00Z', 'START 2026-11-23T07:00:00.000Z'],
  ['2026-07-01T03:00:00Z', 'START 2026-07-01T06:00:00.000Z'],
])('after %s comes %s', (moment, expected) => {
  expect(turn(turnAfter(office, new Date(moment)))).toBe(expected);
});

test.each([
  ['2026-11-22T12:00:00Z', 'STOP 2026-11-20T17:30:00.000Z'],
  ['2026-11-23T07:00:00Z', 'START 2026-11-23T07:00:00.000Z'],
])('until %s the last was %s', (moment, expected) => {
  expect(turn(turnUntil(office, new Date(moment)))).toBe(expected);
});

test('a window of the night ends on the named day and begins again in its evening', () => {
  const night: Window = { ...office, startMinute: 22 * 60, stopMinute: 6 * 60, weekdays: ['SUNDAY'] };
  expect(turn(turnAfter(night, new Date('2026-11-21T12:00:00Z')))).toBe('STOP 2026-11-22T05:00:00.000Z');
  expect(turn(turnAfter(night, new Date('2026-11-22T05:00:00Z')))).toBe('START 2026-11-22T21:00:00.000Z');
});

test('a time that clocks skip or show twice comes once on its day', () => {
  const early: Window = { ...office, startMinute: 2 * 60 + 30, stopMinute: 12 * 60, weekdays: ['SUNDAY'] };
  for (const [saturday, noon] of [
    ['2026-03-28T12:00:00Z', '2026-03-29T10:00:00.000Z'],
    ['2026-10-24T12:00:00Z', '2026-10-25T11:00:00.000Z'],
  ] as const) {
    const start = turnAfter(early, new Date(saturday));
    expect(start?.what).toBe('START');
    const stop = turnAfter(early, start?.at ?? new Date(saturday));
    expect(turn(stop)).toBe(`STOP ${noon}`);
  }
});

test('the day is the day of the zone, however far it is from here', () => {
  const far: Window = { timezone: 'Pacific/Kiritimati', startMinute: 60, stopMinute: 120, weekdays: ['MONDAY'] };
  expect(turn(turnAfter(far, new Date('2026-11-21T00:00:00Z')))).toBe('START 2026-11-22T11:00:00.000Z');
});

test('without days there is no turn', () => {
  expect(turnAfter({ ...office, weekdays: [] }, new Date())).toBeUndefined();
});

test.each([
  ['Europe/Paris', true],
  ['UTC', true],
  ['Europe/Atlantis', false],
  ['', false],
])('%s is a time zone: %s', (name, expected) => {
  expect(isTimezone(name)).toBe(expected);
});
