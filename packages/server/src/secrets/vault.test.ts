import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createVault } from './vault.ts';

const key = randomBytes(32);
const vault = createVault([key]);

test.each(['', 'sesame', 'ü€🦊\n', 'x'.repeat(500_000)])('a value opens as it was sealed', (value) => {
  expect(vault.open('a', vault.seal('a', value))).toBe(value);
});

test('the same value is never sealed to the same bytes, and these do not hold it', () => {
  const [one, two] = [vault.seal('a', 'sesame'), vault.seal('a', 'sesame')];
  expect(one.equals(two)).toBe(false);
  expect(one.toString('latin1')).not.toContain('sesame');
});

test('a sealed value does not open under another record, nor when any byte of it was changed', () => {
  const sealed = vault.seal('a', 'sesame');
  expect(() => vault.open('b', sealed)).toThrow('belongs to another record');
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed);
    changed[index] = (changed[index] ?? 0) ^ 1;
    expect(() => vault.open('a', changed)).toThrow('cannot be decrypted');
  }
  expect(() => vault.open('a', sealed.subarray(0, 20))).toThrow('cannot be decrypted');
});

test('after a rotation the new key seals and the old one still opens', () => {
  const newer = randomBytes(32);
  const rotated = createVault([newer, key]);
  expect(rotated.open('a', vault.seal('a', 'old'))).toBe('old');
  const sealed = rotated.seal('a', 'new');
  expect(createVault([newer]).open('a', sealed)).toBe('new');
  expect(() => vault.open('a', sealed)).toThrow('the key that sealed it is not among the keys');
});
