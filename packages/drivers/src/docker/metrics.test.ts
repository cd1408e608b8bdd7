import { expect, test } from 'vitest';
import { toUsage, type Statistics } from './metrics.ts';

const labels = { 'davit.environment': 'e', 'davit.service': 's', 'davit.rollout': 'r', 'davit.index': '2' };
const statistics: Statistics = {
  read: '2026-11-21T12:43:03.833110334Z',
  cpu_stats: { cpu_usage: { total_usage: 21_166_267 } },
  memory_stats: { usage: 5_000, stats: { inactive_file: 1_000 } },
  networks: { eth0: { rx_bytes: 1, tx_bytes: 2 }, eth1: { rx_bytes: 10, tx_bytes: 20 } },
};

test('what an engine answers becomes the usage of an instance, without the file cache that can be given up', () => {
  expect(toUsage(statistics, { id: 'c', labels })).toEqual({
    id: 'c',
    environment: 'e',
    service: 's',
    rollout: 'r',
    index: 2,
    at: Date.parse('2026-11-21T12:43:03.833Z'),
    cpuMilliseconds: 21.166267,
    memoryBytes: 4_000,
    receivedBytes: 11,
    sentBytes: 22,
  });
});

test('members that an engine leaves out count nothing', () => {
  const { networks: _networks, ...without } = statistics;
  const usage = toUsage({ ...without, memory_stats: { usage: 5_000, stats: null } }, { id: 'c', labels });
  expect(usage).toMatchObject({ memoryBytes: 5_000, receivedBytes: 0 });
});

test('a container that does not run has no usage', () => {
  expect(toUsage({ ...statistics, read: '0001-01-01T00:00:00Z' }, { id: 'c', labels })).toBeNull();
  expect(toUsage({ ...statistics, memory_stats: {} }, { id: 'c', labels })).toBeNull();
});
