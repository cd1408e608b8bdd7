import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { piecesOf, plainText } from './ansi.ts';

test('colours become classes, and everything else that a terminal would obey is left out', () => {
  expect(piecesOf('\u001b[1;31mError\u001b[0m: \u001b[33mslow\u001b[39m query')).toEqual([
    { text: 'Error', className: 'ansi-1 ansi-b' },
    { text: ': ', className: '' },
    { text: 'slow', className: 'ansi-3' },
    { text: ' query', className: '' },
  ]);
  expect(plainText('\u001b]0;owned\u0007a\u001b[2J\u001b[10;10Hb\r')).toBe('ab');
  expect(piecesOf('\u001b[38;5;196mred\u001b[38;2;1;2;3mother')).toEqual([
    { text: 'red', className: '' },
    { text: 'other', className: '' },
  ]);
});

test('no line lets a control character through', () => {
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.constantFrom(
          '\u001b',
          '[',
          ']',
          ';',
          'm',
          '3',
          '1',
          'H',
          '\u0007',
          '\r',
          '\u009b',
          '\u0000',
          '\u007f',
          '\u202e',
        ),
        maxLength: 80,
      }),
      (line) => {
        // oxlint-disable-next-line no-control-regex -- these are the characters that must not be there
        expect(plainText(line)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f]/);
      },
    ),
  );
});
