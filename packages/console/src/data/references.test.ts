import { expect, test, vi } from 'vitest';
import type { Reference } from '../pages/graph/references.ts';
import { referencesIn } from './references.ts';

vi.mock('../api.ts', () => ({ api: () => ({}) }));
vi.mock('./queries.ts', () => ({ linksIn: () => ({}), queries: {} }));

test('the arrows of one environment are not shown in another one while that is read', () => {
  const before: Reference[] = [{ from: 'api', to: 'orders', keys: ['STORE'] }];
  const { placeholderData } = referencesIn('staging', []);
  if (typeof placeholderData !== 'function') throw new TypeError('the placeholder depends on the former query');
  const shown = (environmentId: string) => placeholderData(before, { queryKey: ['references', environmentId, ['a']] } as never);
  expect(shown('staging')).toBe(before);
  expect(shown('production')).toBeUndefined();
});
