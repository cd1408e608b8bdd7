import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { addGrams, entriesOf, gramEntries, requiredTexts } from './grams.ts';
import { decodeFrame, encodeSegment, frameText, lineId, numberOfLine, type ArchivedLine, type Segment } from './segment.ts';

const service = '0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d';

function decoded({ frames, messages, details }: Segment): ArchivedLine[] {
  let message = 0;
  let detail = 0;
  return frames.flatMap(([, messageBytes, detailBytes]) => {
    const text = frameText(messages.subarray(message, (message += messageBytes)));
    return decodeFrame(service, text, details.subarray(detail, (detail += detailBytes)));
  });
}

const anyMessage = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }).map((text) => text.toWellFormed().replaceAll('\0', '')),
  fc.constantFrom('', '\n', '\n\n', 'a\nb\r\n', '\u001B[31mred\u001B[0m', '👩‍👩‍👧 ok', '\uFEFFbom'),
);
const anyLines = fc
  .array(
    fc.record({
      step: fc.integer({ min: 1, max: 5000 }),
      id: fc.option(fc.uuid(), { nil: null }),
      at: fc.integer({ min: 0, max: 4e12 }),
      message: anyMessage,
      instance: fc.constantFrom('web-1', 'web-2', 'davit'),
      release: fc.option(fc.constantFrom(service, 'ffffffff-4e5f-4a6b-8c7d-9e0f1a2b3c4d'), { nil: null }),
      stream: fc.constantFrom('stdout', 'stderr'),
    }),
    { minLength: 1, maxLength: 60 },
  )
  .map((lines) => {
    let number = 0;
    return lines.map(({ step, id, ...line }) => {
      number += step;
      return { ...line, number, id: id ?? lineId(service, number) };
    });
  });

test('lines of any text come back from a segment as they were', () => {
  fc.assert(
    fc.property(anyLines, (lines) => {
      expect(decoded(encodeSegment(service, lines).segment)).toEqual(lines);
    }),
  );
});

function line(number: number, message: string): ArchivedLine {
  return { number, id: lineId(service, number), at: number, message, instance: 'web', release: null, stream: 'stdout' };
}

test('a segment takes what fits into 16 frames of 1,000 lines', () => {
  const lines = Array.from({ length: 16_500 }, (_, index) => line(index + 7, `line ${index}`));
  const { segment, isFull } = encodeSegment(service, lines);
  expect({ isFull, lines: segment.lines, first: segment.firstNumber, last: segment.lastNumber }).toEqual({
    isFull: true,
    lines: 16_000,
    first: 7,
    last: 16_006,
  });
  expect(decoded(segment)).toEqual(lines.slice(0, 16_000));
  expect(encodeSegment(service, lines.slice(0, 15_999)).isFull).toBe(false);
});

test('each line of 1 MB fills a frame', () => {
  const lines = Array.from({ length: 20 }, (_, index) => line(index + 1, `${index}`.repeat(1_000_000).slice(0, 1_000_000)));
  const { segment, isFull } = encodeSegment(service, lines);
  expect([isFull, segment.lines]).toEqual([true, 16]);
  expect(decoded(segment)).toEqual(lines.slice(0, 16));
});

test('the number of a line follows from its id, and only of this service', () => {
  expect(numberOfLine(service, lineId(service, 123_456_789_012))).toBe(123_456_789_012);
  expect(numberOfLine(service, lineId('ffffffff-4e5f-4a6b-8c7d-9e0f1a2b3c4d', 5))).toBeNull();
  expect(numberOfLine(service, '5b8f7d0e-7d0c-4a53-9d5e-3c1f6d2b7a11')).toBeNull();
});

test('the filter of a segment never denies a text that a frame has, in any case', () => {
  fc.assert(
    fc.property(anyMessage, fc.nat(15), fc.nat(300), fc.integer({ min: 1, max: 40 }), (message, frame, start, length) => {
      const grams = new Uint8Array(gramEntries * 2);
      addGrams(grams, 2, frame, Buffer.from(message));
      const part = message.slice(start % (message.length + 1)).slice(0, length);
      const one = part.replaceAll('\n', '');
      if (!message.includes(one)) return;
      // Upper case of other letters, such as "ß", is not what an expression without case compares.
      const upper = one.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase());
      for (const entry of [...entriesOf([one]), ...entriesOf([upper])])
        expect((grams[entry * 2 + (frame >> 3)] ?? 0) & (1 << (frame & 7))).not.toBe(0);
    }),
  );
});

test.each([
  ['timeout', ['timeout']],
  ['status=5\\d\\d error', ['status=5', ' error']],
  ['time(?:out|r) expired', ['time', ' expired']],
  ['first|second', []],
  ['(first|second) attempt', [' attempt']],
  ['colou?red cars', ['colo', 'red cars']],
  ['abcdef*ghijk', ['abcde', 'ghijk']],
  ['abcdef{0}ghijk', ['abcde', 'ghijk']],
  ['abcdef+ghijk', ['abcdef', 'ghijk']],
  ['\\[error\\] at', ['[error] at']],
  ['[error]abcd', ['abcd']],
  ['[a\\]bcdef]ghij', ['ghij']],
  ['(a(b[)]c)d)?efgh', ['efgh']],
  ['\\x41bcde\\u0041bcde\\dbcde', ['bcde', 'bcde', 'bcde']],
  ['^warning$', ['warning']],
  ['(nothing)*', []],
])('the texts that the expression %s requires', (expression, texts) => {
  expect(requiredTexts(expression)).toEqual(texts);
});
