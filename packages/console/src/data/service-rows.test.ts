import { QueryClient } from '@tanstack/react-query';
import { expect, test, vi } from 'vitest';
import type { EnvironmentDetails, Service } from '../words.ts';
import { byStages, emptyReason, inOneStage, isFirstAndOld, whenKnown, type ServiceRow } from './service-rows.ts';

vi.mock('./queries.ts', () => ({}));

const lists = { databases: [], terraforms: [], helms: [], jobs: [], containers: [], applications: [] };
// oxlint-disable typescript/no-unsafe-type-assertion -- only these fields are read
const detailsWith = (applications: readonly object[]): EnvironmentDetails =>
  ({ stages: [{ stage: { id: '1', name: 'All' }, ...lists, applications }] }) as never;
const service = { id: 'a' } as Service;
const row = (id: string): [string, ServiceRow] => [id, { id } as ServiceRow];
// oxlint-enable typescript/no-unsafe-type-assertion

test('an environment is not called empty while only its states or only its records have the first service', () => {
  expect(whenKnown([], detailsWith([]), [])).toEqual([]);
  expect(whenKnown([], detailsWith([]), [service])).toBeUndefined();
  expect(whenKnown([], detailsWith([{ id: 'a' }]), [])).toBeUndefined();
  expect([undefined, detailsWith([]), detailsWith([{ id: 'a' }])].map(emptyReason)).toEqual([
    'The states of the services are being read.',
    'The environment has no services.',
    null,
  ]);
});

test('rows come with the headings of their stages, and without them only where there are many', () => {
  const few = new Map([row('a'), row('b')]);
  expect(inOneStage(few)).toBeUndefined();
  const many = new Map(Array.from({ length: 100 }, (_, at) => row(String(at))));
  expect(inOneStage(many)?.map(({ name, rows }) => [name, rows.length])).toEqual([[null, 100]]);
  // The states of an answer may be old, its stages are not; the overview has a service more.
  const stages = byStages(detailsWith([{ id: 'a' }, { id: 'gone' }]), few);
  expect(stages?.map(({ name, rows }) => [name, ...rows.map(({ id }) => id)])).toEqual([
    ['All', 'a'],
    [null, 'b'],
  ]);
  expect(byStages(detailsWith([]), new Map())).toBeUndefined();
});

test('states stay on the page while they are read again after a pause, unless they are called old', async () => {
  const queries = new QueryClient();
  const queryKey = ['details', 'e'];
  let answer = (_states: string): void => undefined;
  const read = () =>
    queries.fetchQuery({ queryKey, queryFn: () => new Promise<string>((resolve) => void (answer = resolve)), staleTime: 0 });
  const isOld = (): boolean => isFirstAndOld(queries.getQueryState(queryKey));
  const finish = async (reading: Promise<string>): Promise<void> => {
    answer('states');
    await reading;
  };
  await finish(read());
  // Somebody has come back to the tab.
  const again = read();
  expect([queries.getQueryState(queryKey)?.fetchStatus, isOld()]).toEqual(['fetching', false]);
  await finish(again);
  queries.clear();
  await finish(read());
  // The stream has begun.
  await queries.invalidateQueries({ queryKey, refetchType: 'none' });
  const newer = read();
  expect([queries.getQueryState(queryKey)?.fetchStatus, isOld()]).toEqual(['fetching', true]);
  await finish(newer);
  expect(isOld()).toBe(false);
});
