import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import { hasMacro, replaced, replacedInYaml, unknownNames } from './macro.ts';

const nasty = `a: "b" 'c' #d {e}`;
const variables = new Map([
  ['PORT', '8080'],
  ['HOST', 'db.internal'],
  ['PASSWORD', nasty],
  ['LINES', 'one\ntwo: "2"'],
]);
const yaml = (text: string): unknown => load(replacedInYaml(text, variables, 'values.yaml'));

test.each([
  ['port: davit.env.PORT', { port: 8080 }],
  ['port: "davit.env.PORT"', { port: '8080' }],
  ['password: davit.env.PASSWORD', { password: nasty }],
  ['password: davit.env.PASSWORD  # of the database', { password: nasty }],
  ['password: "davit.env.PASSWORD"', { password: nasty }],
  ["password: 'davit.env.PASSWORD'", { password: nasty }],
  ['- davit.env.PASSWORD', [nasty]],
  ['- name: davit.env.PASSWORD', [{ name: nasty }]],
  ['db: {host: davit.env.HOST, password: davit.env.PASSWORD}', { db: { host: 'db.internal', password: nasty } }],
  ['list: [davit.env.PASSWORD, davit.env.PORT]', { list: [nasty, 8080] }],
  ['url: postgres://davit.env.HOST:davit.env.PORT/db', { url: 'postgres://db.internal:8080/db' }],
  ['url: "postgres://u:davit.env.PASSWORD@davit.env.HOST"', { url: `postgres://u:${nasty}@db.internal` }],
  ["note: it's davit.env.HOST", { note: "it's db.internal" }],
  [
    'text: |\n  before\n  davit.env.LINES\n  davit.env.PASSWORD\nafter: 1',
    { text: `before\none\ntwo: "2"\n${nasty}\n`, after: 1 },
  ],
  ['# set davit.env.PASSWORD\na: 1 # not davit.env.LINES', { a: 1 }],
  ['a: "x # davit.env.PASSWORD"', { a: `x # ${nasty}` }],
  ['lines: davit.env.LINES', { lines: 'one\ntwo: "2"' }],
])('%j gets its variables as values', (text, expected) => {
  expect(yaml(text)).toEqual(expected);
});

test('a value that cannot stand where it is wanted is refused, with its place and without the value', () => {
  expect(() => yaml('a: 1\nurl: postgres://u:davit.env.PASSWORD@h')).toThrow(/values\.yaml:2: PASSWORD .* double quotes/);
  expect(() => yaml("lines: 'davit.env.LINES'")).toThrow(/values\.yaml:1: LINES .* double quotes/);
});

test('an unknown name stays as it is written', () => {
  expect(yaml('a: davit.env.NOPE')).toEqual({ a: 'davit.env.NOPE' });
  expect(unknownNames('davit.env.NOPE davit.env.PORT davit.env.NOPE', variables)).toEqual(['NOPE']);
  expect(replaced('davit.env.HOST:davit.env.NOPE', variables)).toBe('db.internal:davit.env.NOPE');
  expect([hasMacro('davit.env.A'), hasMacro('davit.environment'), hasMacro('xdavit.env.A')]).toEqual([true, false, false]);
});
