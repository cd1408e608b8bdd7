import { expect, test } from 'vitest';
import { parseDotenv, writeDotenv } from './dotenv.ts';

const read = (text: string) => Object.fromEntries(parseDotenv(text).entries.map(({ key, value }) => [key, value]));

test('a .env file is read as shells read it: export, comments, quotes, several lines', () => {
  const text = [
    '\u{feff}# the shop',
    'HOST=localhost # where it listens',
    'export PORT = 8080',
    'EMPTY=',
    'URL=https://x.example/#part',
    `NAME='it is "so" # $HOME'`,
    'LINES="one\\ntwo\\t\\"three\\" C:\\dir"',
    'KEY="-----BEGIN',
    'abc # no comment',
    '-----END" # a comment',
    'BACK=`a\'b"c`',
    '',
  ].join('\r\n');
  expect(read(text)).toEqual({
    HOST: 'localhost',
    PORT: '8080',
    EMPTY: '',
    URL: 'https://x.example/#part',
    NAME: 'it is "so" # $HOME',
    LINES: 'one\ntwo\t"three" C:\\dir',
    KEY: '-----BEGIN\nabc # no comment\n-----END',
    BACK: 'a\'b"c',
  });
  expect(parseDotenv(text).problems).toEqual([]);
});

test('a comment may contain line separators of Unicode', () => {
  expect(read('A=1 # \u2028 x\nB="2" # \u2029 x')).toEqual({ A: '1', B: '2' });
});

test('what cannot be read is named by its line, and the rest is read', () => {
  const { entries, problems } = parseDotenv('just words\n1A=b\nA="open\nB=2\nC="x" y\nB=3\nD=${B}/x\n=x');
  expect(entries).toEqual([
    { key: 'B', value: '3', line: 6 },
    { key: 'D', value: '${B}/x', line: 7 },
  ]);
  expect(problems.map(({ line, isNote }) => [line, isNote])).toEqual([
    [1, false],
    [2, false],
    [3, false],
    [5, false],
    [6, true],
    [7, true],
    [8, false],
  ]);
});

test('every value that is written as text is read back', () => {
  for (const value of ['', 'plain', 'a b', `it's`, '"', `'"\`$x\\n`, 'one\ntwo', `'\r\n`, '# no comment', '{"a": [1]}', '  ']) {
    expect(read(writeDotenv('A', value))).toEqual({ A: value });
  }
});
