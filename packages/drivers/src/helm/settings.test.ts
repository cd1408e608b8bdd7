import { expect, test } from 'vitest';
import type { HelmValues } from '../helm-driver.ts';
import { toOverlay } from './settings.ts';

const variables = new Map([['PASSWORD', 'se"same']]);
const overlay = (values: Partial<HelmValues>) => {
  const { file, ...rest } = toOverlay({ files: [], set: [], setString: [], setJson: [], ...values }, variables);
  return { tree: file === null ? null : JSON.parse(file), ...rest };
};

test('values are typed as Helm types them', () => {
  const set = [
    ['a', 'true'],
    ['b', '12'],
    ['c', '012'],
    ['d', 'null'],
    ['e', '1.5'],
    ['f', '{1,x,y\\,z}'],
    ['g', '{}'],
    ['h', 'a\\,b'],
    ['i', '12345678901234567890'],
    ['j', ''],
  ] as const;
  expect(overlay({ set }).tree).toEqual({
    a: true,
    b: 12,
    c: '012',
    d: null,
    e: '1.5',
    f: [1, 'x', 'y,z'],
    g: [],
    h: 'a,b',
    i: '12345678901234567890',
    j: '',
  });
  expect(
    overlay({
      setString: [
        ['a', 'true'],
        ['b', '{1,2}'],
      ],
    }).tree,
  ).toEqual({ a: 'true', b: ['1', '2'] });
});

test('names lead through members, and a dot can be escaped', () => {
  const set = [
    ['image.tag', 'x'],
    ['annotations.example\\.org/a', 'y'],
    ['image.name', 'z'],
  ] as const;
  expect(overlay({ set }).tree).toEqual({ image: { tag: 'x', name: 'z' }, annotations: { 'example.org/a': 'y' } });
});

test('typed values go before JSON and texts before both, whatever the order of the lists', () => {
  const values = {
    setString: [['a.b', 'text']],
    set: [
      ['a.b', '1'],
      ['a.c', '2'],
    ],
    setJson: [['a', '{"b": 0, "c": 0, "d": 0}']],
  } as const;
  expect(overlay(values).tree).toEqual({ a: { b: 'text', c: 2, d: 0 } });
});

test('nothing of a value stands on the command line but what has an index and is no text', () => {
  const found = overlay({
    set: [
      ['hosts[0].name', 'a'],
      ['hosts[0].port', '80'],
      ['plain', 'secret'],
    ],
    setJson: [['list[1]', '{"a": 1}']],
  });
  expect(found).toEqual({
    tree: { plain: 'secret' },
    texts: [['hosts[0].name', 'a']],
    words: ['--set-json', 'list[1]={"a":1}', '--set-json', 'hosts[0].port=80'],
  });
});

test('variables are texts, also inside of JSON, and never on the command line', () => {
  const found = overlay({
    set: [
      ['a', 'davit.env.PASSWORD'],
      ['list[0]', 'x-davit.env.PASSWORD'],
    ],
    setJson: [['b', '{"c": "davit.env.PASSWORD"}']],
  });
  expect(found).toEqual({ tree: { a: 'se"same', b: { c: 'se"same' } }, texts: [['list[0]', 'x-se"same']], words: [] });
  expect(() => overlay({ setJson: [['a[0]', '{"b": "davit.env.PASSWORD"}']] })).toThrow(/set it in a values file/);
  expect(() => overlay({ setJson: [['a', '{']] })).toThrow(/not valid JSON/);
});

test('a name such as __proto__ is a name', () => {
  expect(toOverlay({ files: [], set: [['__proto__.polluted', 'x']], setString: [], setJson: [] }, variables).file).toBe(
    '{"__proto__":{"polluted":"x"}}',
  );
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
});

test.each(['set', 'setString', 'setJson'] as const)('a name of %s that Helm would read further is refused', (way) => {
  for (const name of ['x[0]=/proc/self/environ,y[0]', 'a,b', 'a=b', '{"a":1}', 'a..b']) {
    expect(() => overlay({ [way]: [[name, '"v"']] })).toThrow(expect.objectContaining({ code: 'HELM_VALUES_INVALID' }));
  }
});
