import { expect, test } from 'vitest';
import { lossOf } from './loss.ts';

test('the deletion of an environment names what is lost, and does not say "no services" of what was not read', () => {
  expect(lossOf(undefined)).toEqual({
    verb: 'Delete it and its services',
    words: 'Its services are lost with all their data.',
  });
  expect(lossOf([])).toEqual({ verb: 'Delete', words: 'It has no services.' });
  expect(lossOf([{ name: 'api' }, { name: 'orders' }])).toEqual({
    verb: 'Delete it and 2 services',
    words: 'Lost with all their data: api, orders.',
  });
});
