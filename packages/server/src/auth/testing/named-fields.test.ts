import { operationList } from '@davit/contract';
import { expect, test } from 'vitest';
import { namedFields, rules, withValue } from './named-fields.ts';

const fields = namedFields(operationList);

test('every field of a request that may name a place is in the table, and every line of the table has a field', () => {
  const unknown = fields.filter(({ rule }) => rule === undefined).map(({ name }) => name);
  expect(unknown, 'say in testing/named-fields.ts which place these name, or why they name none').toEqual([]);
  const used = new Set(fields.map(({ rule }) => rule));
  expect(rules.filter((rule) => !used.has(rule)).map(({ fields: pattern }) => pattern)).toEqual([]);
});

test('a value is put where its path leads, beside what is there', () => {
  expect(withValue({ a: { b: 1 }, c: [{ d: 2, e: 3 }] }, 'c[].d', 'x')).toEqual({ a: { b: 1 }, c: [{ d: 'x', e: 3 }] });
  expect(withValue(undefined, 'ids[]', 'x')).toEqual({ ids: ['x'] });
  expect(withValue({ a: { b: 1 } }, 'a.f.g', 'x')).toEqual({ a: { b: 1, f: { g: 'x' } } });
});
