import { expect, test } from 'vitest';
import {
  conflictOf,
  idOf,
  looksSecret,
  refusalAt,
  slotsOf,
  textOf,
  withEdit,
  withoutSaved,
  withText,
  type Variable,
} from './draft.ts';

const variable = (key: string, value: string | null, scope: Variable['scope'], more: Partial<Variable> = {}): Variable => ({
  id: `${scope} ${key}`,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  key,
  value,
  scope,
  variable_type: scope === 'BUILT_IN' ? 'BUILT_IN' : 'VALUE',
  is_secret: value === null,
  ...more,
});
const slots = slotsOf([
  variable('LEVEL', 'debug', 'PROJECT'),
  variable('HOST', 'a b', 'APPLICATION'),
  variable('LEVEL', 'info', 'ENVIRONMENT'),
  variable('TOKEN', null, 'APPLICATION'),
  variable('NAME', '', 'APPLICATION', { variable_type: 'ALIAS' }),
  variable('DAVIT_X', '1', 'BUILT_IN'),
]);
const slot = (key: string) => slots.find((one) => one.key === key);
const input = { slots, draft: new Map(), level: 'SERVICE', isSecret: looksSecret } as const;

test('the narrowest variable of a key is what the process gets', () => {
  expect(slot('LEVEL')?.layers.map(({ value }) => value)).toEqual(['info', 'debug']);
  expect(refusalAt(slot('DAVIT_X'), 'SERVICE')).toContain('built-in');
  expect(refusalAt(slot('NAME'), 'SERVICE')).toContain('alias');
  expect(refusalAt(slot('LEVEL'), 'SERVICE')).toBeNull();
});

test('a pasted text sets what differs, and names the lines that cannot be set', () => {
  const { draft, problems, count } = withText({
    ...input,
    text: "HOST='a b'\nLEVEL=warn\nAPI_KEY=x\nDAVIT_X=2\nNAME=y\nTOKEN=new",
    doesReplace: false,
  });
  expect([...draft.values()].map(({ key, value, isSecret }) => [key, value, isSecret])).toEqual([
    ['LEVEL', 'warn', false],
    ['API_KEY', 'x', true],
    ['TOKEN', 'new', true],
  ]);
  expect(problems.map(({ line }) => line)).toEqual([4, 5]);
  expect(count).toEqual({ added: 2, changed: 1, removed: 0 });
});

test('a place as text has neither secrets nor aliases, and taking a line out deletes that variable only', () => {
  expect(textOf(slots, new Map(), 'SERVICE')).toBe("HOST='a b'\n");
  const unchanged = withText({ ...input, text: textOf(slots, new Map(), 'SERVICE'), doesReplace: true });
  expect(unchanged.draft.size).toBe(0);
  const { draft, count } = withText({ ...input, text: 'NEW=1', doesReplace: true });
  expect([...draft.values()].map(({ key, change }) => [key, change])).toEqual([
    ['NEW', 'SET'],
    ['HOST', 'DELETE'],
  ]);
  expect(count).toEqual({ added: 1, changed: 0, removed: 1 });
  expect(textOf(slots, draft, 'SERVICE')).toBe('NEW=1\n');
});

test('an edit is in conflict when somebody else changes, deletes or creates the same record', () => {
  const edit = { level: 'SERVICE', key: 'HOST', change: 'SET', value: 'mine', isSecret: false, mountPath: null } as const;
  const base = slot('HOST')?.layers[0] ?? null;
  expect(conflictOf({ ...edit, base }, slot('HOST'))).toBeNull();
  const theirs = variable('HOST', 'theirs', 'APPLICATION', { updated_at: '2026-01-02T00:00:00.000Z' });
  expect(conflictOf({ ...edit, base }, slotsOf([theirs])[0])).toEqual({ now: theirs });
  expect(conflictOf({ ...edit, base }, undefined)).toEqual({ now: null });
  expect(conflictOf({ ...edit, base: null }, slotsOf([theirs])[0])).toEqual({ now: theirs });
  expect(withEdit(new Map([[idOf(edit), { ...edit, base }]]), { ...edit, base, value: 'a b' }).size).toBe(0);
});

test('what is entered while an edit is being saved stays', () => {
  const { draft } = withText({ ...input, text: 'NEW=1', doesReplace: false });
  const [sent] = draft.values();
  if (sent === undefined) throw new Error('there is no edit');
  expect(withoutSaved(draft, sent).size).toBe(0);
  const meanwhile = withEdit(draft, { ...sent, value: '2' });
  expect([...withoutSaved(meanwhile, sent).values()]).toMatchObject([{ key: 'NEW', value: '2' }]);
});
