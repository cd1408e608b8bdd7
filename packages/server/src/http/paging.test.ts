import { expect, test, vi } from 'vitest';
import { pageOf } from './paging.ts';

const list = { results: [1, 2, 3], organization: 'kept' };

test('a page that is none is refused before anything is read', () => {
  // A read that fails while nobody awaits it would end the process.
  const read = vi.fn<() => Promise<unknown>>(() => Promise.reject(new Error('there is no such organization')));
  for (const query of [{ page: '0' }, { page: 'x' }, { pageSize: '-1' }, { pageSize: '1001' }, { page: ['1', '2'] }]) {
    expect(() => pageOf(query, read)).toThrow(/must be a whole number from 1 to/);
  }
  expect(read).not.toHaveBeenCalled();
});

test('a page is cut from the list, and the rest of the answer stays', async () => {
  const read = (): Promise<unknown> => Promise.resolve(list);
  expect(await pageOf({ page: '2', pageSize: '2' }, read)).toEqual({ ...list, results: [3] });
  expect(await pageOf({}, read)).toBe(list);
});
