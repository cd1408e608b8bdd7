import type { ValuePart } from '@davit/engine/port';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BuiltIn } from './builtin.ts';
import { circleOf, effective, type Effective } from './effective.ts';
import type { VariableRow } from './row.ts';

let number = 0;
type Level = 'PROJECT' | 'ENVIRONMENT' | 'SERVICE';

function row(key: string, value: string, changes: Partial<VariableRow> & { level?: Level } = {}): VariableRow {
  const { level = 'SERVICE', ...rest } = changes;
  return {
    id: `id-${(number += 1)}`,
    project_id: level === 'PROJECT' ? 'p' : null,
    environment_id: level === 'ENVIRONMENT' ? 'e' : null,
    service_id: level === 'SERVICE' ? 's' : null,
    key,
    type: 'VALUE',
    is_secret: false,
    value,
    secret_value_id: null,
    reference_keys: null,
    target_id: null,
    target_builtin: null,
    mount_path: null,
    description: null,
    enable_interpolation_in_file: null,
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
    ...rest,
  };
}

function secret(key: string, id: string, referenceKeys: readonly string[] = []): VariableRow {
  return row(key, '', { is_secret: true, value: null, secret_value_id: id, reference_keys: referenceKeys });
}

function builtIn(name: string, value: string, isSetAtStart = false): BuiltIn {
  return { id: name, name, key: `DAVIT_${name}`, value, secret: null, level: 2, owner: null, createdAt: '', isSetAtStart };
}

function values(result: Effective): Record<string, readonly ValuePart[]> {
  return Object.fromEntries(result.environment.map(({ name, parts }) => [name, parts]));
}

function text(parts: readonly ValuePart[]): string {
  return parts.map((part) => (typeof part === 'string' ? part : '<secret>')).join('');
}

test('the narrowest scope of a key wins', () => {
  const rows = [
    row('A', 'service'),
    row('A', 'project', { level: 'PROJECT' }),
    row('A', 'environment', { level: 'ENVIRONMENT' }),
    row('B', 'environment', { level: 'ENVIRONMENT' }),
    row('B', 'project', { level: 'PROJECT' }),
  ];
  expect(values(effective(rows, []))).toEqual({ A: ['service'], B: ['environment'] });
});

test('an alias has the value of its target, and of the override that replaces it here', () => {
  const target = row('URL', 'wide', { level: 'ENVIRONMENT' });
  const alias = row('ADDRESS', '', { type: 'ALIAS', value: null, target_id: target.id });
  expect(values(effective([target, alias], []))).toMatchObject({ ADDRESS: ['wide'] });
  const override = row('URL', 'narrow', { type: 'OVERRIDE', target_id: target.id });
  expect(values(effective([target, alias, override], []))).toEqual({ ADDRESS: ['narrow'], URL: ['narrow'] });
});

test('an alias of a built-in that is not there is not set', () => {
  const alias = row('HOST', '', { type: 'ALIAS', value: null, target_builtin: 'APP_HOST' });
  expect(values(effective([alias], [builtIn('APP_HOST', 'here')]))).toEqual({ DAVIT_APP_HOST: ['here'], HOST: ['here'] });
  expect(values(effective([alias], []))).toEqual({});
});

test('what is set at the start is no part of a release', () => {
  expect(effective([], [builtIn('COMMIT', 'abc', true)]).environment).toEqual([]);
});

test('references are replaced again and again, with blanks in the braces or without', () => {
  const rows = [row('A', 'a'), row('B', '{{A}}b{{ A }}'), row('C', '<{{  B\t}}>')];
  expect(values(effective(rows, []))).toEqual({ A: ['a'], B: ['aba'], C: ['<aba>'] });
});

test('unknown keys and braces that are no reference stay as written', () => {
  const text = '{{UNKNOWN}} {{}} {{ 1A }} {A} {{A';
  expect(values(effective([row('A', 'a'), row('B', text)], []))).toMatchObject({ B: [text] });
});

test('references that lead back to where they stand stay as written, whatever the order of the rows', () => {
  const rows = [row('A', '1{{B}}'), row('B', '2{{C}}'), row('C', '3{{A}}'), row('D', '4{{A}}'), row('E', '{{E}}')];
  const expected = { A: ['1{{B}}'], B: ['2{{C}}'], C: ['3{{A}}'], D: ['41{{B}}'], E: ['{{E}}'] };
  expect(values(effective(rows, []))).toEqual(expected);
  expect(values(effective(rows.toReversed(), []))).toEqual(expected);
});

test('a secret inside a value is a part of its own; its text is not needed', () => {
  const result = effective([secret('PASSWORD', 'v1'), row('URL', 'db://me:{{PASSWORD}}@host')], []);
  expect(values(result)).toEqual({ PASSWORD: [{ secret: 'v1' }], URL: ['db://me:', { secret: 'v1' }, '@host'] });
  expect(result.derived).toEqual([]);
});

test('a secret that names other variables becomes a version of its own, another one when those change', () => {
  const rows = (host: string): VariableRow[] => [row('HOST', host), secret('URL', 'v1', ['HOST', 'UNKNOWN'])];
  const first = effective(rows('a'), []);
  expect(first.derived).toMatchObject([{ baseId: 'v1', references: { HOST: ['a'] } }]);
  expect(values(first)['URL']).toEqual([{ secret: first.derived[0]?.id }]);
  expect(effective(rows('a'), []).derived).toEqual(first.derived);
  expect(effective(rows('b'), []).derived[0]?.id).not.toBe(first.derived[0]?.id);
});

test('derived secrets come after those that they refer to', () => {
  const rows = [secret('A', 'a', ['B']), secret('B', 'b', ['C']), secret('C', 'c')];
  const { derived } = effective(rows, []);
  expect(derived.map((one) => one.baseId)).toEqual(['b', 'a']);
  expect(derived[1]?.references).toEqual({ B: [{ secret: derived[0]?.id }] });
});

test('a file has the value, the environment its path; braces count only where that is enabled', () => {
  const rows = [
    row('NAME', 'x'),
    row('PLAIN', 'n={{NAME}}', { type: 'FILE', mount_path: '/etc/plain' }),
    row('FILLED', 'n={{NAME}}', { type: 'FILE', mount_path: '/etc/filled', enable_interpolation_in_file: true }),
    row('WHERE', 'at {{FILLED}}'),
  ];
  const result = effective(rows, []);
  expect(values(result)).toMatchObject({ PLAIN: ['/etc/plain'], FILLED: ['/etc/filled'], WHERE: ['at /etc/filled'] });
  expect(result.files).toEqual([
    { path: '/etc/filled', parts: ['n=x'] },
    { path: '/etc/plain', parts: ['n={{NAME}}'] },
  ]);
});

test('an alias of a file has the path and mounts nothing twice', () => {
  const file = row('CONFIG', 'text', { type: 'FILE', mount_path: '/etc/config' });
  const result = effective([file, row('SETTINGS', '', { type: 'ALIAS', value: null, target_id: file.id })], []);
  expect(values(result)).toEqual({ CONFIG: ['/etc/config'], SETTINGS: ['/etc/config'] });
  expect(result.files).toHaveLength(1);
});

test('values that multiply end at a bound instead of filling the memory', () => {
  const rows = [row('V0', 'x'.repeat(100))];
  for (let depth = 1; depth < 60; depth += 1) rows.push(row(`V${depth}`, `{{V${depth - 1}}}{{V${depth - 1}}}`));
  const lengths = effective(rows, []).environment.map(({ parts }) => text(parts).length);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(1_048_576);
});

test('a chain of ten thousand references is resolved', () => {
  const rows = [row('V0', 'end')];
  for (let depth = 1; depth < 10_000; depth += 1) rows.push(row(`V${depth}`, `{{V${depth - 1}}}`));
  expect(values(effective(rows, []))['V9999']).toEqual(['end']);
});

const keys = ['A', 'B', 'C', 'D', 'E'] as const;
const piece = fc.oneof(
  fc.constantFrom(...keys).map((key) => `{{${key}}}`),
  fc.constantFrom('x', '{{', '}}', '{{Z}}', ''),
);
const texts = fc.array(piece, { maxLength: 5 }).map((list) => list.join(''));
const sets = fc.uniqueArray(fc.record({ key: fc.constantFrom(...keys), text: texts }), { selector: (one) => one.key });

test('the order of rows never matters, and resolving ends for any references', () => {
  fc.assert(
    fc.property(sets, fc.func(fc.integer()), (set, weight) => {
      const rows = set.map(({ key, text }) => row(key, text));
      const shuffled = rows.toSorted((a, b) => weight(a.key) - weight(b.key));
      expect(effective(shuffled, [])).toEqual(effective(rows, []));
    }),
  );
});

test('values without a reference arrive unchanged, whatever they contain', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      fc.pre(!text.includes('{{'));
      expect(values(effective([row('A', text)], []))).toEqual({ A: text === '' ? [] : [text] });
    }),
  );
});

test('without cycles the result is what replacing again and again gives', () => {
  // A key may only reference later keys, so there is no cycle.
  const acyclic = fc.tuple(
    ...keys.map((_, index) => fc.array(fc.constantFrom('x', '-', ...keys.slice(index + 1)), { maxLength: 4 })),
  );
  fc.assert(
    fc.property(acyclic, (lists) => {
      const isKey = (item: string): boolean => keys.some((key) => key === item);
      const written = (list: readonly string[]): string => list.map((item) => (isKey(item) ? `{{${item}}}` : item)).join('');
      const worth = (key: string): string => {
        const list: readonly string[] = lists[keys.findIndex((one) => one === key)] ?? [];
        return list.map((item) => (isKey(item) ? worth(item) : item)).join('');
      };
      const result = values(
        effective(
          lists.map((list, index) => row(keys[index] ?? '', written(list))),
          [],
        ),
      );
      for (const key of keys) expect(text(result[key] ?? [])).toBe(worth(key));
    }),
  );
});

test('a circle is told as the way that leads back, the same whatever the order of the rows', () => {
  const rows = [row('A', '{{B}}'), row('B', '{{C}}{{X}}'), row('C', '{{A}}'), row('D', '{{A}}'), row('E', '{{E}}')];
  const expected = [
    ['A', 'B', 'C', 'A'],
    ['E', 'E'],
  ];
  expect(effective(rows, []).circles).toEqual(expected);
  expect(effective(rows.toReversed(), []).circles).toEqual(expected);
  expect(circleOf(rows, [], 'B')).toEqual(['B', 'C', 'A', 'B']);
  expect(circleOf(rows, [], 'D')).toBeUndefined();
});

test('a file may name itself: what others see of it is its path', () => {
  const options = { type: 'FILE', enable_interpolation_in_file: true } as const;
  const rows = [row('CONFIG', 'I am {{CONFIG}}, {{OTHER}}', { ...options, mount_path: '/c' }), row('OTHER', 'near {{CONFIG}}')];
  const result = effective(rows, []);
  expect(result.circles).toEqual([]);
  expect(result.files).toEqual([{ path: '/c', parts: ['I am /c, near /c'] }]);
});

test('an alias of an override follows what replaces the same variable here', () => {
  const wide = row('URL', 'wide', { level: 'PROJECT' });
  const middle = row('URL', 'middle', { level: 'ENVIRONMENT', type: 'OVERRIDE', target_id: wide.id });
  const alias = row('ADDRESS', '', { level: 'ENVIRONMENT', type: 'ALIAS', value: null, target_id: middle.id });
  expect(values(effective([wide, middle, alias], []))).toEqual({ URL: ['middle'], ADDRESS: ['middle'] });
  const own = row('URL', 'own', { type: 'OVERRIDE', target_id: wide.id });
  expect(values(effective([wide, middle, alias, own], []))).toEqual({ URL: ['own'], ADDRESS: ['own'] });
});

const levels = ['PROJECT', 'ENVIRONMENT', 'SERVICE'] as const;
const anyText = fc.string({ unit: 'binary', maxLength: 30 });
const placed = fc.uniqueArray(
  fc.record({ key: fc.constantFrom(...keys), level: fc.constantFrom(...levels), text: anyText, isOverride: fc.boolean() }),
  { selector: (one) => `${one.level} ${one.key}`, maxLength: 15 },
);
type Placed = { key: string; level: Level; text: string; isOverride: boolean };

/** Returns rows of all scopes. A row with `isOverride` overrides the wider variable of its key, if there is one. */
function placedRows(list: readonly Placed[]): VariableRow[] {
  const rows: VariableRow[] = [];
  for (const one of list.toSorted((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level))) {
    const wider = rows.find((other) => other.key === one.key && other.type === 'VALUE');
    const overrides = one.isOverride && wider !== undefined ? { type: 'OVERRIDE' as const, target_id: wider.id } : {};
    rows.push(row(one.key, one.text, { level: one.level, ...overrides }));
  }
  return rows;
}

test('of any set the narrowest scope wins, be it by an override or not, and its text arrives unchanged', () => {
  fc.assert(
    fc.property(placed, (list) => {
      fc.pre(list.every(({ text }) => !text.includes('{{')));
      const result = values(effective(placedRows(list), []));
      for (const key of keys) {
        const narrowest = levels.findLast((level) => list.some((one) => one.key === key && one.level === level));
        const winner = list.find((one) => one.key === key && one.level === narrowest);
        expect(text(result[key] ?? [])).toBe(winner?.text ?? '');
        expect(key in result).toBe(winner !== undefined);
      }
    }),
  );
});

test('an alias is always worth what its target is worth, and an alias more changes nothing else', () => {
  fc.assert(
    fc.property(placed, fc.nat(), fc.constantFrom(...levels), (list, pick, level) => {
      fc.pre(list.length > 0);
      const rows = placedRows(list.map((one) => ({ ...one, isOverride: true })));
      const target = rows[pick % rows.length];
      if (target === undefined) return;
      const alias = row('ALIAS', '', { level, type: 'ALIAS', value: null, target_id: target.id });
      const { ALIAS, ...others } = values(effective([alias, ...rows], []));
      const { ALIAS: _none, ...without } = values(effective(rows, []));
      expect(others).toEqual(without);
      expect(ALIAS).toEqual(others[target.key]);
    }),
  );
});

const anyReferences = fc.dictionary(
  fc.constantFrom(...keys),
  fc.array(
    fc.oneof(
      fc.constantFrom(...keys, 'UNKNOWN').map((key) => `{{${key}}}`),
      fc.constantFrom('é', '𝒳', ' ', '{', '}'),
    ),
    {
      maxLength: 6,
    },
  ),
);

test('any references end, cycles included; what is not in a circle has no known reference left', () => {
  fc.assert(
    fc.property(anyReferences, (texts) => {
      const rows = Object.entries(texts).map(([key, list]) => row(key, list.join('')));
      const result = effective(rows, []);
      expect(effective(rows, [])).toEqual(result);
      for (const [first, ...way] of result.circles) {
        expect(way.at(-1)).toBe(first);
        for (const [index, key] of way.entries()) {
          const from = index === 0 ? first : way[index - 1];
          expect(texts[from ?? '']?.join('')).toContain(`{{${key}}}`);
        }
      }
      if (result.circles.length > 0) return;
      // Resolving a resolved text changes nothing, unless braces of the texts formed a new reference.
      const again = result.environment.map(({ name, parts }) => row(name, text(parts)));
      fc.pre(!Object.values(texts).some((list) => list.includes('{') || list.includes('}')));
      expect(values(effective(again, []))).toEqual(values(result));
      for (const { parts } of result.environment)
        for (const key of Object.keys(texts)) expect(text(parts)).not.toContain(`{{${key}}}`);
    }),
  );
});
