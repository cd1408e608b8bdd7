import { expect, test, vi } from 'vitest';
import type { EnvironmentDetails, Service } from '../words.ts';
import { whenKnown } from './service-rows.ts';

vi.mock('./queries.ts', () => ({}));

const lists = { databases: [], terraforms: [], helms: [], jobs: [], containers: [], applications: [] };
// oxlint-disable typescript/no-unsafe-type-assertion -- only these fields are read
const detailsWith = (applications: readonly object[]): EnvironmentDetails =>
  ({ stages: [{ stage: { id: '1', name: 'All' }, ...lists, applications }] }) as never;
const service = { id: 'a' } as Service;
// oxlint-enable typescript/no-unsafe-type-assertion

test('an environment is not called empty while only its states or only its records have the first service', () => {
  expect(whenKnown([], detailsWith([]), [])).toEqual([]);
  expect(whenKnown([], detailsWith([]), [service])).toBeUndefined();
  expect(whenKnown([], detailsWith([{ id: 'a' }]), [])).toBeUndefined();
});
