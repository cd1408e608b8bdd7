import { startRunningServer, makeTestEnvironment, type RunningServer } from '@davit/testkit/running-server';
import { testDatabaseVariable } from '@davit/testkit/global-database';
import { setTimeout as pause } from 'node:timers/promises';
import type { Measurement, Row } from '../row.ts';
import { ratioOf, toSeries, type Series } from '../statistics.ts';

const sizes = [10, 100, 400] as const;
const rounds = 40;
const targets = { milliseconds: 2, growth: 1.3, ofServices: 1.5 };
/** The first reads of a process compile its code. */
const warmUp = 50;
const reads = ['status', 'statuses', 'services'] as const;
type Answers = Readonly<Record<(typeof reads)[number], Series>>;

export const statusRow: Row = {
  name: 'status',
  about: `GET of the status, the statuses and the services of environments with ${sizes.join(', ')} services, on a cluster in memory`,
  run: async (location) => {
    process.env[testDatabaseVariable] ??= await location.database('status');
    const server = await startRunningServer();
    try {
      const measured: { size: number; answers: Answers }[] = [];
      const small = await measure(server, sizes[0]);
      for (const size of sizes) measured.push({ size, answers: size === sizes[0] ? small : await measure(server, size) });
      return measured.flatMap(({ size, answers }) => toLines(size, answers, small));
    } finally {
      await server.close();
    }
  },
};

function toLines(size: number, { status, statuses, services }: Answers, small: Answers): Measurement[] {
  const growth = status.median / small.status.median;
  const toServices = ratioOf(statuses, services);
  return [
    {
      what: `status of an environment, ${size} services`,
      unit: 'ms',
      davit: status,
      floor: small.status,
      ratio: growth,
      target: `≤ ${targets.milliseconds} ms, ≤ ${targets.growth}`,
      isMet: status.median <= targets.milliseconds && growth <= targets.growth,
    },
    {
      what: `statuses against services, ${size} services`,
      unit: 'ms',
      davit: statuses,
      floor: services,
      ratio: toServices,
      target: `≤ ${targets.ofServices}`,
      isMet: toServices <= targets.ofServices,
    },
  ];
}

/** Deploys an environment with so many containers, and reads it in turns. */
async function measure(server: RunningServer, size: number): Promise<Answers> {
  const { api, environmentId, organization } = await makeTestEnvironment(server);
  const params = { environmentId };
  const registry = { name: 'shared', kind: 'GENERIC_CR' as const, url: 'https://registry.example.org', config: {} };
  const admin = server.client(organization.tokens.ADMIN);
  const { id: registryId } = await admin.call('createContainerRegistry', {
    params: { organizationId: organization.id },
    body: registry,
  });
  for (let index = 0; index < size; index += 1) {
    const port = { internal_port: 80, publicly_accessible: true, protocol: 'HTTP' as const };
    const body = {
      name: `web-${index}`,
      registry_id: registryId,
      image_name: 'acme/web',
      tag: '1',
      ports: [port],
      healthchecks: {},
    };
    await api.call('createContainer', { params, body });
  }
  await api.call('deployEnvironment', { params });
  while ((await api.call('getEnvironmentStatus', { params })).last_deployment_state !== 'DEPLOYED') await pause(100);
  const read = async (what: (typeof reads)[number]): Promise<number> => {
    const began = performance.now();
    const response = await fetch(`${server.baseUrl}/environment/${environmentId}/${what}`, {
      headers: { authorization: `Token ${organization.tokens.READ}` },
    });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`${what} answered ${response.status}`);
    return performance.now() - began;
  };
  for (let round = 0; round < warmUp; round += 1) for (const what of reads) await read(what);
  const taken: Record<(typeof reads)[number], number[]> = { status: [], statuses: [], services: [] };
  for (let round = 0; round < rounds; round += 1) for (const what of reads) taken[what].push(await read(what));
  return { status: toSeries(taken.status), statuses: toSeries(taken.statuses), services: toSeries(taken.services) };
}
