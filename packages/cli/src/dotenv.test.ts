import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { environmentLine, parseEnvironmentFile } from './dotenv.ts';

test('a .env file is read with comments, quotation marks, several lines and export', () => {
  const text = `
# a comment
export HOST=0.0.0.0   # another
PORT = 8080
EMPTY=
NOTHING= # to be filled in
NAME="a \\"b\\"\\nc"
RAW='$HOME # no comment'  # a comment
FOLDER="C:\\path\\of"
KEY="-----BEGIN
END-----"
PORT=9090
`;
  expect(Object.fromEntries(parseEnvironmentFile(text))).toEqual({
    HOST: '0.0.0.0',
    PORT: '9090',
    EMPTY: '',
    NOTHING: '',
    NAME: 'a "b"\nc',
    RAW: '$HOME # no comment',
    FOLDER: String.raw`C:\path\of`,
    KEY: '-----BEGIN\nEND-----',
  });
});

test('a line that is no variable is refused with its number', () => {
  expect(() => parseEnvironmentFile('A=1\nwhat\n')).toThrow('Line 2');
  expect(() => parseEnvironmentFile('A="1\n')).toThrow('line 1');
  expect(() => parseEnvironmentFile('A="1" 2\n')).toThrow('text after the quotation mark');
});

test('what is written is read back', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (value) => {
      expect(parseEnvironmentFile(environmentLine('KEY', value)).get('KEY')).toBe(value);
    }),
  );
});

test.each(['\u2028', 'a\u2029b', '# \u2028'])('a line separator of Unicode is part of a value: %j', (value) => {
  expect(parseEnvironmentFile(environmentLine('KEY', value)).get('KEY')).toBe(value);
  expect(parseEnvironmentFile('A=1 # \u2028 comment').get('A')).toBe('1');
});

test('a value with a dollar sign stays as it is in a shell', () => {
  expect(environmentLine('PASSWORD', 'a$b c')).toBe("PASSWORD='a$b c'");
});
