import { alternate } from '../alternate.ts';
import { openListeners } from '../load/listeners.ts';
import { makeEnvironment, MemoryCluster, type Cost } from '../memory-cluster.ts';
import { memoryOf } from '../processes.ts';
import { toSeries } from '../statistics.ts';
import type { Row } from '../row.ts';

const people = 20;
const streamsOfEach = 20;
const targets = { rate: 0.75, megabytes: 100 };

export const streamsRow: Row = {
  name: 'streams',
  about: `deployments of environments queued at once, with ${people * streamsOfEach} open streams of their organization and with none, on a cluster in memory`,
  run: async (location) => {
    const cluster = await MemoryCluster.create(location);
    try {
      const organization = await cluster.organization(people);
      const deployments = location.isQuick ? 100 : 400;
      // The first deployments compile the code.
      await deploy(cluster, { organization, deployments: 100, isWatched: true });
      const costs = { davit: new Array<Measured>(), floor: new Array<Measured>() };
      const measure = async (side: 'davit' | 'floor'): Promise<number> => {
        const measured = await deploy(cluster, { organization, deployments, isWatched: side === 'davit' });
        costs[side].push(measured);
        return deployments / measured.cost.seconds;
      };
      const compared = await alternate(location.rounds(5, 3), { davit: () => measure('davit'), floor: () => measure('floor') });
      await cluster.assertSucceeded();
      const memory = costs.davit.map(({ megabytes }, index) => megabytes - (costs.floor[index]?.megabytes ?? 0));
      const details = { deployments, ...costs };
      return [
        {
          what: `deployments a second, ${people * streamsOfEach} streams`,
          unit: 'deployments/s',
          ...compared,
          target: `≥ ${targets.rate}`,
          isMet: compared.ratio >= targets.rate,
          details,
        },
        {
          what: `memory of ${people * streamsOfEach} streams`,
          unit: 'MB',
          davit: toSeries(memory),
          floor: null,
          ratio: null,
          target: `≤ ${targets.megabytes}`,
          isMet: toSeries(memory).median <= targets.megabytes,
        },
      ];
    } finally {
      await cluster.close();
    }
  },
};

interface Measured {
  readonly cost: Cost;
  /** The most that the process of the server had while it deployed. */
  readonly megabytes: number;
}

interface Work {
  readonly organization: { readonly id: string; readonly tokens: readonly string[] };
  readonly deployments: number;
  readonly isWatched: boolean;
}

async function deploy(cluster: MemoryCluster, { organization, deployments, isWatched }: Work): Promise<Measured> {
  const { id: organizationId, tokens } = organization;
  for (let index = 0; index < deployments; index += 1) await cluster.queue(makeEnvironment(1, organizationId));
  const path = `/organization/${organizationId}/stream`;
  const plan = { port: cluster.port, path, tokens, perToken: streamsOfEach };
  const listeners = isWatched ? await openListeners(plan) : null;
  let megabytes = 0;
  const look = (): void => void (megabytes = Math.max(megabytes, memoryOf(process.pid).resident));
  const timer = setInterval(look, 100);
  const cost = await cluster.cost(async () => {
    await cluster.start();
    await cluster.settled();
  });
  clearInterval(timer);
  const received = (await listeners?.close()) ?? [];
  await cluster.stop();
  // Each stream must have received what there was of each deployment, or it would cost nothing.
  const least = Math.min(...received) / deployments;
  if (isWatched && least < 1000) throw new Error(`a stream received ${least} bytes for each deployment only`);
  return { cost, megabytes };
}
