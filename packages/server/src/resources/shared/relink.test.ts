import { expect, test } from 'vitest';
import { relinker } from './relink.ts';

const relink = relinker(new Map([['1a2b3c4d-0000-4000-8000-000000000000', '9f8e7d6c-0000-4000-8000-000000000000']]));

test.each([
  ['{{DAVIT_APPLICATION_Z1A2B3C4D_HOST_INTERNAL}}:80', '{{DAVIT_APPLICATION_Z9F8E7D6C_HOST_INTERNAL}}:80'],
  ['http://app-z1a2b3c4d/x', 'http://app-z9f8e7d6c/x'],
  ['app-z1a2b3c4d,app-z1a2b3c4d', 'app-z9f8e7d6c,app-z9f8e7d6c'],
  ['app-z1a2b3c4e', 'app-z1a2b3c4e'],
  ['xz1a2b3c4d z1a2b3c4d0', 'xz1a2b3c4d z1a2b3c4d0'],
  ['1a2b3c4d', '1a2b3c4d'],
])('%s becomes %s', (text, expected) => {
  expect(relink(text)).toBe(expected);
});
