import { toKubernetesCron } from '@davit/drivers/kubernetes';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { cronFault, nextRun } from './cron.ts';

/*
 * Compares Davit's schedules with those of Kubernetes for five fields, minute by minute. The rules of Kubernetes are
 * those of github.com/robfig/cron v3.
 */

const bounds = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 6],
] as const;

/**
 * Returns the values of a field, and whether the field is a star, which does not restrict the day. Throws for fields
 * that Kubernetes rejects.
 */
function readField(text: string, [least, most]: readonly [number, number]): { values: Set<number>; isStar: boolean } {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const [, star, first, last, step] = /^(?:(\*|\?)|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/.exec(part) ?? [];
    if (star === undefined && first === undefined) throw new Error(`${part} is no part of a field`);
    const from = star === undefined ? Number(first) : least;
    const to = star === undefined ? Number(last ?? (step === undefined ? first : most)) : most;
    if (from < least || to > most || from > to || Number(step ?? 1) < 1) throw new Error(`${part} is out of bounds`);
    for (let value = from; value <= to; value += Number(step ?? 1)) values.add(value);
  }
  return { values, isStar: text.split(',').some((part) => /^[*?](?:\/1)?$/.test(part)) };
}

/** Returns the first minute after `after`, in UTC, at which Kubernetes runs the expression. */
function nextOnKubernetes(expression: string, after: Date): Date | null {
  const fields = expression.split(' ');
  expect(fields).toHaveLength(5);
  const [minutes, hours, days, months, weekdays] = bounds.map((bound, index) => readField(fields[index] ?? '', bound));
  if (!minutes || !hours || !days || !months || !weekdays) throw new Error('too few fields');
  const isDay = (at: Date): boolean => {
    const [month, week] = [days.values.has(at.getUTCDate()), weekdays.values.has(at.getUTCDay())];
    return days.isStar || weekdays.isStar ? month && week : month || week;
  };
  const day = new Date(Date.UTC(after.getUTCFullYear(), after.getUTCMonth(), after.getUTCDate()));
  for (let count = 0; count < 366 * 9; count += 1, day.setUTCDate(day.getUTCDate() + 1)) {
    if (!months.values.has(day.getUTCMonth() + 1) || !isDay(day)) continue;
    for (const hour of [...hours.values].toSorted((a, b) => a - b)) {
      for (const minute of [...minutes.values].toSorted((a, b) => a - b)) {
        const at = new Date(day.getTime() + (hour * 60 + minute) * 60_000);
        if (at > after) return at;
      }
    }
  }
  return null;
}

const names = {
  month: ['jan', 'FEB', 'Mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'DEC'],
  week: ['sun', 'MON', 'Tue', 'wed', 'thu', 'fri', 'sat'],
};

function field([least, most]: readonly [number, number], words: readonly string[] = []): fc.Arbitrary<string> {
  const value = fc.integer({ min: least, max: most });
  const step = fc.integer({ min: 1, max: Math.min(most, 12) });
  const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const one = fc.oneof(
    value.map(String),
    range,
    fc.tuple(range, step).map(([whole, by]) => `${whole}/${by}`),
    step.map((by) => `*/${by}`),
    ...(words.length > 0 ? [fc.constantFrom(...words)] : []),
  );
  const list = fc.array(one, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(','));
  return fc.oneof({ weight: 2, arbitrary: fc.constantFrom('*', '?') }, { weight: 3, arbitrary: list });
}

const anyExpression = fc
  .tuple(field([0, 59]), field([0, 23]), field([1, 31]), field([1, 12], names.month), field([0, 7], names.week))
  .map((fields) => fields.join(' '));

test('a schedule is due at the same times for Davit and for Kubernetes', () => {
  fc.assert(
    fc.property(
      anyExpression,
      fc.date({ min: new Date('2024-01-01'), max: new Date('2032-01-01'), noInvalidDate: true }),
      (text, from) => {
        const there = toKubernetesCron(text);
        if ('unknown' in there) throw new Error(there.unknown);
        let after = from;
        for (let count = 0; count < 4; count += 1) {
          const next = nextRun({ expression: text, timezone: 'Etc/UTC' }, after);
          expect(nextOnKubernetes(there.expression, after)?.toISOString()).toBe(next?.toISOString());
          if (next === null) return;
          after = next;
        }
      },
    ),
    { numRuns: 2_000 },
  );
});

test.each(['0 0 L * *', '0 0 LW * *', '0 0 15W * *', '0 0 * * 5#2', '0 0 * * 5L', '0 0 * * friL', '0 0 13 * +5'])(
  '%j is nothing that Kubernetes knows',
  (text) => {
    // Davit accepts the expression.
    expect(cronFault(text)).toBeNull();
    expect(toKubernetesCron(text)).toEqual({ unknown: expect.any(String) });
  },
);
