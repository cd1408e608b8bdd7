import { expect, test, vi } from 'vitest';
import { keptIn } from './references.ts';

vi.mock('../api.ts', () => ({ api: () => ({}) }));
vi.mock('./queries.ts', () => ({ linksIn: () => ({}), queries: {} }));

test('the arrows of one environment are not shown in another one while that is read', () => {
  const before = [{ from: 'api', to: 'orders', keys: ['STORE'] }];
  const shown = (environmentId: string) => keptIn('staging')(before, { queryKey: ['references', environmentId, ['a']] });
  expect(shown('staging')).toBe(before);
  expect(shown('production')).toBeUndefined();
});
