import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { commandLine } from '../../shared/command-line.ts';
import { parseCommand } from './command.ts';

const words = (text: string): unknown => parseCommand(text);

test('blanks separate words, quotes and backslashes keep them together', () => {
  expect(words('/bin/app  --name "a b" \'$HOME "x"\' c\\ d')).toEqual({
    words: ['/bin/app', '--name', 'a b', '$HOME "x"', 'c d'],
  });
});

test('inside double quotes a backslash only keeps what a shell would expand there', () => {
  expect(words(String.raw`"\n \" \\ \$x"`)).toEqual({ words: [String.raw`\n " \ $x`] });
});

test('empty quotes are an empty word, an empty text is no word', () => {
  expect(words(`a "" ''`)).toEqual({ words: ['a', '', ''] });
  expect(words(' \t\n')).toEqual({ words: [] });
});

test('a quote that is not closed and a backslash at the end are faults', () => {
  expect(words('say "hello')).toEqual({ fault: 'has an opening " without a closing one' });
  expect(words("it's")).toEqual({ fault: "has an opening ' without a closing one" });
  expect(words('a\\')).toEqual({ fault: 'ends in a backslash with nothing after it' });
});

test('any words, quoted for a shell, come back as they were', () => {
  const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;
  fc.assert(
    fc.property(fc.array(fc.string()), (list) => {
      expect(words(list.map(quoted).join(' '))).toEqual({ words: list });
    }),
  );
});

test('texts without expansions are split as /bin/sh splits them', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '"', "'", '\\', '\t') });
  fc.assert(
    fc.property(text, (command) => {
      const parsed = parseCommand(command);
      if ('fault' in parsed) return;
      const script = `for word in ${command}\ndo printf '%s\\0' "$word"; done`;
      const output = execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' });
      expect(parsed.words).toEqual(output.split('\0').slice(0, -1));
    }),
    { numRuns: 60 },
  );
});

test('words become a command line that has the same words again', () => {
  expect(commandLine(['/bin/app', 'a b', ''])).toBe("/bin/app 'a b' ''");
  const property = fc.property(fc.array(fc.string({ unit: 'binary' })), (list) => {
    expect(parseCommand(commandLine(list))).toEqual({ words: list });
  });
  fc.assert(property);
});
