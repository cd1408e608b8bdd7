import { expect, test } from 'vitest';
import { matchingStep, newTotpSecret, toBase32, totpCode, totpStep } from './totp.ts';

test('codes are those of RFC 6238', () => {
  const secret = toBase32(Buffer.from('12345678901234567890'));
  expect(secret).toBe('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
  // The last six of the eight digits in appendix B.
  const expected = { 59: '287082', 1_111_111_109: '081804', 1_234_567_890: '005924', 20_000_000_000: '353130' };
  for (const [seconds, code] of Object.entries(expected)) expect(totpCode(secret, totpStep(Number(seconds) * 1000))).toBe(code);
});

test('a code is accepted in its step and the neighbouring ones only', () => {
  const secret = newTotpSecret();
  const step = 1_000_000;
  const at = step * 30_000;
  for (const near of [-1, 0, 1]) expect(matchingStep(secret, totpCode(secret, step + near), at)).toBe(step + near);
  const near = [-1, 0, 1].map((one) => totpCode(secret, step + one));
  for (const far of [-3, -2, 2, 3].map((one) => totpCode(secret, step + one)).filter((code) => !near.includes(code))) {
    expect(matchingStep(secret, far, at)).toBeUndefined();
  }
  for (const wrong of ['', '12345', '1234567', 'abcdef', '１２３４５６']) expect(matchingStep(secret, wrong, at)).toBeUndefined();
});
