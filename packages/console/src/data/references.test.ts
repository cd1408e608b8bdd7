import { beforeEach, expect, test, vi } from 'vitest';
import { queries } from './queries.ts';
import { keptIn, referencesIn, referrersOf } from './references.ts';

type Call = (id: string, input: { query: { parent_id: string } }) => Promise<object>;
const { call } = vi.hoisted(() => ({ call: vi.fn<Call>() }));
vi.mock('../api.ts', () => ({ api: () => ({ call }) }));
vi.mock('./queries.ts', async () => {
  const { QueryClient } = await import('@tanstack/react-query');
  return { linksIn: () => ({ queryKey: ['links'], queryFn: () => [] }), queries: new QueryClient() };
});

test('the arrows of one environment are not shown in another one while that is read', () => {
  const before = [{ from: 'api', to: 'orders', keys: ['STORE'] }];
  const shown = (environmentId: string) => keptIn('staging')(before, { queryKey: ['references', environmentId, ['a']] });
  expect(shown('staging')).toBe(before);
  expect(shown('production')).toBeUndefined();
});

const at = (id: string, updatedAt: string, type: 'APPLICATION' | 'DATABASE' = 'APPLICATION') => ({
  id,
  name: id,
  service_type: type,
  updated_at: updatedAt,
});
const services = (updatedAt: string) => [at('api', updatedAt), at('web', '1'), at('orders', '1', 'DATABASE')];
type Status = 'UP_TO_DATE' | 'OUT_OF_DATE';

/** Reads the references; returns whose variables the server was asked for. */
async function asked(updatedAt: string, ofWeb: Status = 'UP_TO_DATE', shared = 'a'): Promise<string[]> {
  call.mockClear();
  call.mockImplementation((_id, { query: { parent_id: id } }) => {
    const own = { id: id === 'env' ? shared : id, key: 'API', value: 'http://api:80', mount_path: null };
    return Promise.resolve({ results: [{ ...own, scope: id === 'env' ? 'ENVIRONMENT' : 'APPLICATION' }] });
  });
  const given = services(updatedAt);
  const found = await queries.fetchQuery(
    referencesIn('env', given, referrersOf(given, [{ id: 'web', service_deployment_status: ofWeb }])),
  );
  expect(found).toEqual([
    { from: 'web', to: 'api', keys: ['API'] },
    { from: null, to: 'api', keys: ['API'] },
  ]);
  return call.mock.calls.map(([, { query }]) => query.parent_id);
}

beforeEach(() => {
  queries.clear();
  call.mockClear();
});

test('a second opening of the graph reads nothing, and a change only what it may have changed', async () => {
  expect(await asked('1')).toEqual(['env', 'api', 'web']);
  expect(await asked('1')).toEqual([]);
  await queries.invalidateQueries({ queryKey: ['references'] });
  expect(await asked('1')).toEqual(['env']);
  expect(await asked('2')).toEqual(['env', 'api']);
  expect(await asked('2', 'OUT_OF_DATE')).toEqual(['env', 'web']);
  // All services may refer to the variables of the environment.
  await queries.invalidateQueries({ queryKey: ['references'] });
  expect(await asked('2', 'OUT_OF_DATE', 'b')).toEqual(['env', 'api', 'web']);
});

test('of many services, the variables of four are read at once', async () => {
  const given = Array.from({ length: 30 }, (_, index) => at(String(index), '1'));
  let [now, most] = [0, 0];
  call.mockImplementation(async () => {
    now += 1;
    most = Math.max(most, now);
    await Promise.resolve();
    now -= 1;
    return { results: [] };
  });
  await queries.fetchQuery(referencesIn('env', given, referrersOf(given, [])));
  expect([most, call.mock.calls.length]).toEqual([4, 31]);
});
