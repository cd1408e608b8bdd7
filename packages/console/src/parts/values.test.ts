import { expect, test } from 'vitest';
import { editBody, filled } from './values.ts';

test('a text that was emptied is cleared; a secret that is never shown stays', () => {
  const before = { name: 'git', description: 'of the shop', workspace: '', type: 'GENERIC' };
  const values = { ...before, description: '', token: '', name: 'git' };
  expect(editBody(filled(values), values, before)).toEqual({ name: 'git', type: 'GENERIC', description: null });
  const labels = { name: 'a', labels: [{ key: 'k', value: '' }] };
  expect(editBody(labels, labels, labels)).toEqual(labels);
});
