import { expect, test } from 'vitest';
import { findCommentProblems } from './comment-check.ts';

const problems = (text: string): string[] =>
  findCommentProblems(new Map([['a.ts', text]])).map(({ line, message }) => `${line} ${message.split(':', 1)[0]}`);

test.each([
  ['a docstring that begins with Of', '/** Of which cluster. */', '"Of"'],
  ['one of several lines', '/**\n * What a rule means\n * to do.\n */', '"What"'],
  ['a line comment', '// Whoever asks for it.', '"Whoever"'],
  ['a word in the middle', '/** The keeper tells the status. */', '"tells"'],
  ['a word in the second line', '// The database is away,\n// which others are told.', '"told"'],
])('%s is refused', (_name, text, message) => {
  expect(problems(`${text}\nexport const a = 1;`)[0]).toBe(`1 ${message}`);
});

test('a comment that is wider than 120 columns is refused, whatever its words', () => {
  expect(problems(`// ${'word '.repeat(24)}\nexport const a = 1;`)).toEqual(['1 is 123 columns wide; comments end at 120']);
});

test('plain sentences, code and strings are fine', () => {
  const text = `/** Returns the lease. */\nexport const told = 'Of whoever tells';\n// oxlint-disable-next-line ${'x'.repeat(120)}\n`;
  expect(problems(text)).toEqual([]);
});
