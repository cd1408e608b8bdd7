import { pause } from '@davit/base';
import { createFakeCluster, DriverError, type ClusterDriver } from '@davit/drivers';
import { expect, test } from 'vitest';
import { FixedStates } from './fixed-states.ts';

const { cluster } = createFakeCluster();
const facts = { cpuMillicores: expect.any(Number), memoryMiB: expect.any(Number) };
const slow: ClusterDriver = {
  ...cluster,
  describe: async (signal) => {
    await pause(60_000, signal);
    signal.throwIfAborted();
    return cluster.describe(signal);
  },
};
const away: ClusterDriver = {
  ...cluster,
  describe: () => Promise.reject(new DriverError({ cause: 'ENGINE_UNREACHABLE', message: 'gone' })),
};

test('an engine that answers slowly is as it was, and has what it had', async () => {
  const states = new FixedStates(20);
  await states.ask(cluster, 'docker');
  expect(await states.ask(slow, 'docker')).toMatchObject({ facts, failure: null });
});

test('an engine that is away has failed, and what it has is known all the same', async () => {
  const states = new FixedStates(20);
  await states.ask(cluster, 'docker');
  expect(await states.ask(away, 'docker')).toMatchObject({ facts, failure: { code: 'ENGINE_UNREACHABLE' } });
});

test('of an engine that has never answered nothing is known', async () => {
  const states = new FixedStates(20);
  expect(await states.ask(slow, 'docker')).toMatchObject({ facts: null, failure: { code: expect.any(String) } });
  expect(await states.ask(away, 'docker')).toMatchObject({ facts: null, failure: { code: 'ENGINE_UNREACHABLE' } });
});
