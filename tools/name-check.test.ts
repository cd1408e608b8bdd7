import { expect, test } from 'vitest';
import { findNameProblems } from './name-check.ts';

const problems = (text: string, file = 'packages/a/src/a.ts'): string[] =>
  findNameProblems(new Map([[file, text]])).map(({ line, message }) => `${line} ${message.split(':', 1)[0]}`);

test.each([
  ['a function', 'export function tellAll(): void {}', '1 the name tellAll has the word "tell"'],
  ['a type', 'interface VariableRoom {}', '1 the name VariableRoom has the word "room"'],
  ['a private field', 'class A {\n  #saidAt = 0;\n}', '2 the name saidAt has the word "said"'],
  ['a member', 'export const a = { is_told: true };', '1 the name is_told has the word "told"'],
  ['an element', 'export const a = <PlaceChoice />;', '1 the name PlaceChoice has the word "place"'],
])('%s with a former word of the glossary is refused', (_name, text, message) => {
  expect(problems(text, text.includes('<') ? 'packages/a/src/a.tsx' : undefined)).toEqual([message]);
});

test('other words that contain one, texts and tests are fine', () => {
  expect(problems(`export const placeholder = 'tell'; // The world.\nconst replacement = placedColumns;`)).toEqual([]);
  expect(problems('const world = 1;', 'packages/a/src/a.test.ts')).toEqual([]);
});
