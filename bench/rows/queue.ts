import { makeEnvironment, MemoryCluster, type Cost } from '../memory-cluster.ts';
import type { Place } from '../place.ts';
import { toSeries } from '../statistics.ts';
import type { Measurement, Row } from '../row.ts';

const few = 100;
const many = 10_000;
const targets = { growth: 1.3, perSecond: 60, processorMilliseconds: 25 };

/**
 * The first deployments of a process compile its code and open its connections. They are not part of the measurement of
 * few deployments.
 */
const warmUp = 100;

export const queueRow: Row = {
  name: 'queue',
  about: `${few} and ${many.toLocaleString('en')} environments queued at once, on a cluster in memory: only Davit's own work`,
  run: async (location) => {
    const short = await measure(location, few);
    const long = await measure(location, location.isQuick ? 1_000 : many);
    const growth = each(long) / each(short);
    const text = long.deployments.toLocaleString('en');
    return [
      line(`deployments a second, ${few} queued`, 'deployments/s', short.deployments / short.cost.seconds, short),
      {
        ...line(`deployments a second, ${text} queued`, 'deployments/s', long.deployments / long.cost.seconds, long),
        target: `≥ ${targets.perSecond}`,
        isMet: long.deployments / long.cost.seconds >= targets.perSecond,
      },
      {
        ...line(`time for each, ${text} queued`, 'ms', each(long) * 1000, long),
        floor: toSeries([each(short) * 1000]),
        ratio: growth,
        target: `≤ ${targets.growth}`,
        isMet: growth <= targets.growth,
      },
      {
        ...line(`processor time for each, ${text} queued`, 'ms', processor(long), long),
        target: `≤ ${targets.processorMilliseconds} ms`,
        isMet: processor(long) <= targets.processorMilliseconds,
      },
      line(`processor time for each, ${few} queued`, 'ms', processor(short), short),
    ];
  },
};

interface Queued {
  readonly deployments: number;
  readonly cost: Cost;
}

async function measure(location: Place, deployments: number): Promise<Queued> {
  const cluster = await MemoryCluster.create(location);
  try {
    for (let index = 0; index < warmUp; index += 1) await cluster.queue(makeEnvironment());
    await cluster.start();
    await cluster.settled();
    await cluster.stop();
    for (let index = 0; index < deployments; index += 1) await cluster.queue(makeEnvironment());
    const cost = await cluster.cost(async () => {
      await cluster.start();
      await cluster.settled();
    });
    await cluster.assertSucceeded();
    return { deployments, cost };
  } finally {
    await cluster.close();
  }
}

function each({ deployments, cost }: Queued): number {
  return cost.seconds / deployments;
}

function processor({ deployments, cost }: Queued): number {
  return ((cost.nodeSeconds + cost.databaseSeconds) / deployments) * 1000;
}

function line(what: string, unit: Measurement['unit'], value: number, queued: Queued): Measurement {
  const { deployments, cost } = queued;
  const forEach = (total: number): number => Math.round((total / deployments) * 100) / 100;
  const details = {
    nodeMilliseconds: forEach(cost.nodeSeconds * 1000),
    databaseMilliseconds: forEach(cost.databaseSeconds * 1000),
    transactions: forEach(cost.transactions),
    statements: Object.fromEntries(Object.entries(cost.statements).map(([name, count]) => [name, forEach(count)])),
  };
  return { what, unit, davit: toSeries([value]), floor: null, ratio: null, target: '–', isMet: null, details };
}
