import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import type { operations, Query } from '@davit/contract';
import { makeTestEnvironment, startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

let server: RunningServer;
let api: Client;
let serviceId: string;

const printed = [
  ...Array.from({ length: 5 }, (_, index) => `before ${index + 1}`),
  'ERROR Payment failed: connection closed',
  '{"level":"warn","msg":"slow payment"}',
  ...Array.from({ length: 5 }, (_, index) => `after ${index + 1}`),
];

beforeAll(async () => {
  server = await startRunningServer({});
  const made = await makeTestEnvironment(server);
  ({ api } = made);
  const git_repository = { url: 'https://git.example.org/acme/shop.git', branch: 'main' };
  const body = { name: 'shop', dockerfile_path: 'Dockerfile', git_repository };
  ({ id: serviceId } = await api.call('createApplication', { params: { environmentId: made.environmentId }, body }));
  await api.call('deployApplication', { params: { applicationId: serviceId } });
  const instance = await vi.waitUntil(
    () => server.fake.instances.find(({ service, state }) => service === serviceId && state === 'RUNNING'),
    20_000,
  );
  for (const line of printed) server.fake.print(instance.id, line);
  await vi.waitUntil(async () => (await search({ text: 'after 5' })).lines.length === 1, 20_000);
});
afterAll(() => server.close());

function search(query: Query<(typeof operations)['searchServiceLog']>) {
  return api.call('searchServiceLog', { params: { serviceId }, query });
}

test('the log of a service is searched by text, expression, level and time, a page at a time', async () => {
  const { lines } = await search({ text: 'payment', context: 1 });
  expect(lines.map(({ message, level, before, after }) => [before[0]?.message, message, level, after[0]?.message])).toEqual([
    ['before 5', 'ERROR Payment failed: connection closed', 'ERROR', '{"level":"warn","msg":"slow payment"}'],
    ['ERROR Payment failed: connection closed', '{"level":"warn","msg":"slow payment"}', 'WARNING', 'after 1'],
  ]);
  expect((await search({ level: 'ERROR' })).lines.map(({ message }) => message)).toEqual([printed[5]]);
  const newest = await search({ expression: '^(before|after) \\d$', limit: 4 });
  expect(newest.lines.map(({ message }) => message)).toEqual(['after 2', 'after 3', 'after 4', 'after 5']);
  const older = await search({ expression: '^(before|after) \\d$', limit: 4, before: newest.older ?? '' });
  expect(older.lines.map(({ message }) => message)).toEqual(['before 3', 'before 4', 'before 5', 'after 1']);
  const newer = await search({ expression: '^(before|after) \\d$', limit: 4, after: older.newer ?? '' });
  expect(newer.lines).toEqual(newest.lines);
  expect((await search({ text: 'payment', to: '2020-01-01T00:00:00Z' })).lines).toEqual([]);
});

test('a line has an id that a link can name, which is that of the newest lines', async () => {
  const { results } = await api.call('listApplicationLog', { params: { applicationId: serviceId } });
  const line = results.find(({ message }) => message === printed[5]);
  const around = await search({ line: line?.id ?? '', limit: 3 });
  expect(around.lines.map(({ message }) => message)).toEqual(printed.slice(4, 7));
  expect(around.lines[1]).toMatchObject(line ?? {});
  await expect(search({ line: randomUUID() })).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' });
});

test.each([
  ['expression', { expression: '(' }],
  ['from', { from: '2026-12-31T23:59:60Z' }],
  ['before', { before: 'x' }],
  ['limit', { limit: 1001 }],
])('a search with a wrong %s is refused', async (path, query) => {
  await expect(search(query)).rejects.toMatchObject({ status: 400, errors: [{ path }] });
});
