import { makeTestEnvironment, startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { testDatabaseVariable } from '@davit/testkit/global-database';
import type { Client } from '@davit/client';
import { setTimeout as pause } from 'node:timers/promises';
import type { Measurement, Row } from '../row.ts';
import { toSeries } from '../statistics.ts';
import { fill, servicesPerEnvironment } from './fill.ts';

const services = 1000;
const rounds = 200;
const target = 50;

export const overviewRow: Row = {
  name: 'overview',
  about: `p99 of the overview of an organization with ${services} services, over HTTP, one reader; and after a change of one of them`,
  run: async (location) => {
    process.env[testDatabaseVariable] ??= await location.database('overview');
    const server = await startRunningServer();
    try {
      return await measure(server, location.rounds(rounds, 40));
    } finally {
      await server.close();
    }
  },
};

async function measure(server: RunningServer, count: number): Promise<Measurement[]> {
  const { api, environmentId, organizationId, organization } = await makeTestEnvironment(server);
  await oneService(api, environmentId);
  const { applicationIds } = await fill(server.database.connectionString, environmentId, services / servicesPerEnvironment);
  let bytes = 0;
  const read = async (): Promise<number> => {
    const began = performance.now();
    const response = await fetch(`${server.baseUrl}/organization/${organizationId}/overview`, {
      headers: { authorization: `Token ${organization.tokens.READ}`, 'accept-encoding': 'identity' },
    });
    bytes = (await response.arrayBuffer()).byteLength;
    if (response.status !== 200) throw new Error(`the overview answered ${response.status}`);
    return performance.now() - began;
  };
  const began = performance.now();
  await read();
  const first = performance.now() - began;
  for (let round = 0; round < 20; round += 1) await read();
  const quiet: number[] = [];
  for (let round = 0; round < count; round += 1) quiet.push(await read());
  const changing: number[] = [];
  for (let round = 0; round < count; round += 1) {
    const applicationId = applicationIds[round % applicationIds.length] ?? '';
    await api.call('editApplication', { params: { applicationId }, body: { memory: 300 + (round % 2) } });
    changing.push(await read());
  }
  const details = { bytes, firstMilliseconds: first };
  return [
    toLine('overview', quiet, details),
    { ...toLine('overview, after an edit of a service', changing, details), isMet: null },
  ];
}

/** Deploys a service and stops it, so that no copy of it runs. */
async function oneService(api: Client, environmentId: string): Promise<void> {
  const git_repository = { url: 'https://git.example.org/acme/shop.git', branch: 'main' };
  const ports = [{ internal_port: 80, publicly_accessible: true }];
  const body = { name: 'web', dockerfile_path: 'Dockerfile', git_repository, ports };
  const { id: applicationId } = await api.call('createApplication', { params: { environmentId }, body });
  for (const [key, value] of [
    ['MODE', 'fast'],
    ['STORE', 'redis://store:6379'],
  ] as const)
    await api.call('createApplicationEnvironmentVariable', { params: { applicationId }, body: { key, value } });
  for (const [call, state] of [
    ['deployApplication', 'DEPLOYED'],
    ['stopApplication', 'STOPPED'],
  ] as const) {
    await api.call(call, { params: { applicationId } });
    while ((await api.call('getApplicationStatus', { params: { applicationId } })).state !== state) await pause(100);
  }
}

function toLine(what: string, taken: readonly number[], details: object): Measurement {
  const p99 = taken.toSorted((a, b) => a - b)[Math.ceil(taken.length * 0.99) - 1] ?? 0;
  const davit = toSeries([p99]);
  return {
    what: `p99, ${what}, ${services} services`,
    unit: 'ms',
    davit,
    floor: null,
    ratio: null,
    target: `≤ ${target} ms`,
    isMet: p99 <= target,
    details: { ...details, median: toSeries([...taken]).median },
  };
}
