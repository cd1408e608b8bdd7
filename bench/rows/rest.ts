import { setTimeout as pause } from 'node:timers/promises';
import { makeEnvironment, MemoryCluster, type Cost } from '../memory-cluster.ts';
import type { Place } from '../place.ts';
import { toSeries } from '../statistics.ts';
import type { Measurement, Row } from '../row.ts';

const running = 5_000;
const seconds = 30;
const targets = { processorPercent: 10, growth: 1.1 };
const services = { few: 100, many: 400 };

export const restRow: Row = {
  name: 'rest',
  about: `${running.toLocaleString('en')} running services at rest, and unchanged deploys of ${services.few} and ${services.many} services, on a cluster in memory`,
  run: async (location) => [await atRest(location), ...(await unchanged(location))],
};

async function atRest(location: Place): Promise<Measurement> {
  const count = location.isQuick ? running / 10 : running;
  const cluster = await MemoryCluster.create(location);
  try {
    await cluster.queue(makeEnvironment());
    await cluster.start();
    await cluster.settled();
    await cluster.stop();
    await cluster.query(copies.replaceAll('$COUNT', String(count - 1)));
    await cluster.start();
    // The keeper starts the missing instances, then looks at each of them for the first time.
    while (cluster.fake.instances.length < count) await pause(500);
    await pause(seconds * 1000);
    const cost = await cluster.cost(() => pause(seconds * 1000));
    const percent = ((cost.nodeSeconds + cost.databaseSeconds) / cost.seconds) * 100;
    return {
      what: `processor at rest, ${count.toLocaleString('en')} services`,
      unit: '%',
      davit: toSeries([percent]),
      floor: null,
      ratio: null,
      target: `≤ ${targets.processorPercent} %`,
      isMet: percent <= targets.processorPercent,
      details: cost,
    };
  } finally {
    await cluster.close();
  }
}

/** Services like the one that is deployed, each in an environment of its own. */
const copies = `
  create temp table copy as
    select gen_random_uuid() as service_id, gen_random_uuid() as release_id, gen_random_uuid() as rollout, gen_random_uuid() as environment_id
      from generate_series(1, $COUNT);
  insert into release select (jsonb_populate_record(r, jsonb_build_object(
      'id', c.release_id, 'service_id', c.service_id, 'environment_id', c.environment_id,
      'config', replace(r.config::text, r.service_id::text, c.service_id::text)::jsonb))).*
    from copy c cross join release r;
  insert into service_runtime select (jsonb_populate_record(t, jsonb_build_object(
      'service_id', c.service_id, 'release_id', c.release_id, 'rollout', c.rollout, 'environment_id', c.environment_id))).*
    from copy c cross join service_runtime t;
  drop table copy;
`;

async function unchanged(location: Place): Promise<Measurement[]> {
  const few = await deployTwice(location, services.few);
  const many = await deployTwice(location, services.many);
  const each = ({ seconds: total }: Cost, count: number): number => (total * 1000) / count;
  const growth = each(many, services.many) / each(few, services.few);
  return [
    {
      what: `unchanged deploy of ${services.many} services, time for each`,
      unit: 'ms',
      davit: toSeries([each(many, services.many)]),
      floor: toSeries([each(few, services.few)]),
      ratio: growth,
      target: `≤ ${targets.growth}`,
      isMet: growth <= targets.growth,
      details: { few, many },
    },
  ];
}

/** Returns what the second deployment of an environment costs, in which nothing has changed. */
async function deployTwice(location: Place, count: number): Promise<Cost> {
  const cluster = await MemoryCluster.create(location);
  try {
    const environment = makeEnvironment(count);
    await cluster.queue(environment);
    await cluster.start();
    await cluster.settled();
    const cost = await cluster.cost(async () => {
      await cluster.queue(environment);
      await cluster.settled();
    });
    await cluster.assertSucceeded();
    return cost;
  } finally {
    await cluster.close();
  }
}
