import { expect, test, vi } from 'vitest';
import type { Reference } from '../pages/graph/references.ts';
import { referencesIn } from './references.ts';

vi.mock('../api.ts', () => ({ api: () => ({}) }));
vi.mock('./queries.ts', () => ({ linksIn: () => ({}), queries: {} }));

test('the arrows of one environment are not shown in another one while that is read', () => {
  const before: Reference[] = [{ from: 'api', to: 'orders', keys: ['STORE'] }];
  const { placeholderData } = referencesIn('staging', []);
  if (typeof placeholderData !== 'function') throw new TypeError('the placeholder depends on the former query');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only the key of the former query is read
  const former = (environmentId: string) => ({ queryKey: ['references', environmentId, ['a']] }) as never;
  const shown = (environmentId: string) => placeholderData(before, former(environmentId));
  expect(shown('staging')).toBe(before);
  expect(shown('production')).toBeUndefined();
});
