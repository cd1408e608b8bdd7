import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { encodedForms } from './encoded-forms.ts';
import { redactor } from './redactor.ts';

// Limits of the contract: the longest value of a variable, and the maximum of one deployment.
const longestValue = 524_288;
const maxCharacters = 16 * 1024 * 1024;

const printable = (length: number): string => randomBytes(length).toString('base64').slice(0, length);

describe('a redactor', () => {
  test.each([
    ['a short value', 'tops'],
    ['a value with every character that an encoding changes', 'a b+c/d"e\\f\tg%h&i=é√😀ÿ>?'],
    ['a value that is just not long', printable(63)],
    ['a long value', printable(64)],
    ['a long value of odd length', printable(1001)],
    ['a long value with every character that an encoding changes', `${'a b+c/d"e\\f\tg%h&i=é√😀ÿ>?'.repeat(40)}end`],
    ['the longest value', printable(longestValue)],
    ['a very long value of characters that take three bytes', '√'.repeat(longestValue / 8)],
    ['half of a surrogate pair', `secret${String.fromCharCode(0xd800)}value`],
  ])('hides %s in each of its forms, and nothing around it', async (_what, value) => {
    const redact = await redactor([value]);
    for (const form of new Set(encodedForms(value))) {
      if (form.length < 4) continue;
      expect(redact(`before ${form} after`) === 'before [REDACTED] after', `${form.slice(0, 40)} of ${form.length}`).toBe(true);
      expect(redact(form) === '[REDACTED]').toBe(true);
    }
    expect(redact('before and after')).toBe('before and after');
  });

  test('leaves values of fewer than four characters alone', async () => {
    const redact = await redactor(['', '1', 'abc']);
    expect(redact('1 abc')).toBe('1 abc');
  });

  test('hides each line of a value with several lines, with its encodings', async () => {
    const key = `-----BEGIN KEY-----\r\n${printable(64)}\n  ${printable(40)}  \nshort\n-----END KEY-----\n`;
    const redact = await redactor([key]);
    for (const line of key.split(/\r?\n/).map((one) => one.trim())) {
      if (line.length < 8) continue;
      expect(redact(`| ${line} |`)).toBe('| [REDACTED] |');
      expect(redact(Buffer.from(line).toString('hex'))).toBe('[REDACTED]');
    }
    expect(redact('short')).toBe('short');
  });

  test('hides a value that contains another one as a whole, and both of two that overlap', async () => {
    const redact = await redactor(['pass', 'password-of-ada', 'of-ada-and-bob']);
    expect(redact('password-of-ada')).toBe('[REDACTED]');
    expect(redact('pass the salt')).toBe('[REDACTED] the salt');
    expect(redact('password-of-ada-and-bob!')).toBe('[REDACTED]!');
    expect(redact('passpass')).toBe('[REDACTED][REDACTED]');
  });

  test('hides what is printed of a long value over several lines, but for its edges', async () => {
    const value = printable(5000);
    const redact = await redactor([value]);
    const lines =
      Buffer.from(value)
        .toString('base64')
        .match(/.{1,76}/g) ?? [];
    for (const line of lines.slice(0, -1)) {
      const left = redact(line).split('[REDACTED]');
      expect(left.length).toBeGreaterThan(1);
      for (const part of left) expect(part.length).toBeLessThan(32);
    }
    expect(redact(value.slice(100, 4000)).length).toBeLessThan(75);
  });

  test('hides hundreds of secrets with many lines each', async () => {
    const values = Array.from({ length: 200 }, () => Array.from({ length: 100 }, () => printable(48)).join('\n'));
    const redact = await redactor(values);
    for (const value of values) {
      expect(redact(value)).toBe('[REDACTED]');
      expect(redact(JSON.stringify({ value }))).toBe('{"value":"[REDACTED]"}');
      expect(redact(value.split('\n').join(' '))).toMatch(/^(\[REDACTED\] ?)+$/);
    }
  });

  test('takes as many characters as fit, and refuses more without a word of them', async () => {
    const line = printable(100);
    const most = Array.from({ length: maxCharacters / longestValue }, (_, index) => `${index}`.padEnd(longestValue, line));
    const redact = await redactor(most);
    expect(redact(most[7] ?? '') === '[REDACTED]').toBe(true);
    const failure = await redactor([...most, 'more']).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'SECRETS_TOO_LARGE', message: expect.stringContaining('16777216 characters') });
    expect(String(failure)).not.toContain(line.slice(0, 10));
  }, 60_000);

  test('takes time that grows with the text alone, where text and values repeat themselves', async () => {
    const nearly = Array.from({ length: 60 }, (_, index) => `${'a'.repeat(4 + index)}${index % 10}`);
    const redact = await redactor([nearly.join('\n'), `${'a'.repeat(longestValue - 1)}b`]);
    const time = (length: number): number => {
      const text = `${'a'.repeat(31)}c`.repeat(length / 32);
      redact(text);
      const from = performance.now();
      redact(text);
      return performance.now() - from;
    };
    // The text is sixteen times as long; a quadratic scan would take 256 times as long. The measured time includes
    // other work of the machine.
    expect(time(1 << 20)).toBeLessThan(100 * Math.max(time(1 << 16), 1));
  });
});
