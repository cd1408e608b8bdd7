import { expect, test } from 'vitest';
import { withoutTurns } from './text.ts';

test('characters that would turn a text around are seen, and other languages stay as they are', () => {
  expect(withoutTurns('exe.\u202egpj.doc\u2066x\u2069')).toBe('exe.‹202e›gpj.doc‹2066›x‹2069›');
  expect(withoutTurns('שלום, العربية \u200e✓')).toBe('שלום, العربية \u200e✓');
});
