import { expect, test } from 'vitest';
import { isOutdated } from './record-base.ts';

test('what was entered conflicts with a change of somebody else, but not with a change of one’s own', () => {
  const base = { version: '1', values: { name: 'shop', description: '' } };
  const entered = { name: 'store', description: '' };
  expect(isOutdated(base, base, entered)).toBe(false);
  expect(isOutdated(base, { version: '2', values: { name: 'shop', description: 'of Mira' } }, entered)).toBe(true);
  expect(isOutdated(base, { version: '2', values: { name: 'shop', description: 'of Mira' } }, base.values)).toBe(false);
  // The record as one has just saved it.
  expect(isOutdated(base, { version: '2', values: entered }, entered)).toBe(false);
});
