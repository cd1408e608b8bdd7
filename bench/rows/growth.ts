import { alternate } from '../alternate.ts';
import { startDavit, type Davit } from '../davit.ts';
import { load } from '../load/load.ts';
import type { LoadResult, PlannedRequest } from '../load/plan.ts';
import type { Place } from '../place.ts';
import { ratioVerdict, type Measurement, type Row } from '../row.ts';
import { BenchApplication, busyboxApplication, createProject } from './applications.ts';
import { fill, servicesPerEnvironment, type Filled } from './fill.ts';
import { measureCreates } from './creates.ts';
import { measureReads } from './reads.ts';
import { addRecords, reads } from './records.ts';

const target = { atMost: 1.3 };

export const growthRow: Row = {
  name: 'growth',
  about:
    'with 100,000 services in the database: p99 of reads against one environment of 20, reads and creates against their floors',
  run: async (location) => {
    const few = await openFilled(location, 'few', 1);
    const services = location.isQuick ? 10_000 : 100_000;
    const many = await openFilled(location, 'many', services / servicesPerEnvironment);
    const sides = { davit: many, floor: few };
    const found = [
      await compare(location, sides, { what: 'p99, read of an application', requests: (side) => applicationReads(side) }),
      await compare(location, sides, {
        what: 'p99, status of an application',
        requests: (side) => applicationReads(side, '/status'),
      }),
      await compare(location, sides, { what: 'p99, lists of an environment', requests: environmentReads }),
    ];
    await few.davit.stop();
    const where = `, ${services.toLocaleString('en')} services`;
    const records = await addRecords(location, many.address, many.davit);
    found.push(...(await measureReads(location, records, where)), ...(await measureCreates(location, records, where)));
    await many.davit.stop();
    return found;
  },
};

interface Side {
  readonly address: string;
  readonly davit: Davit;
  readonly filled: Filled;
}

async function openFilled(location: Place, name: string, environments: number): Promise<Side> {
  const address = await location.database(name);
  const davit = await startDavit(location, { name, databaseUrl: address });
  const url = (await location.git()).commit(name, busyboxApplication);
  const origin = await BenchApplication.create(davit, { projectId: await createProject(davit, 'Growth'), name: 'origin', url });
  await origin.request();
  await origin.untilDeployed();
  await origin.stop();
  return { address, davit, filled: await fill(address, origin.environmentId, environments) };
}

function applicationReads({ davit, filled }: Side, suffix = ''): PlannedRequest[] {
  return reads('application', filled.applicationIds, davit.headers).map((request) => ({
    ...request,
    path: request.path + suffix,
  }));
}

function environmentReads({ davit, filled }: Side): PlannedRequest[] {
  const paths = filled.environmentIds.flatMap((id) => [`${id}/application`, `${id}/statuses`, `${id}/deploymentHistoryV2`]);
  return reads('environment', paths, davit.headers);
}

interface Case {
  readonly what: string;
  readonly requests: (side: Side) => PlannedRequest[];
}

async function compare(location: Place, sides: { davit: Side; floor: Side }, { what, requests }: Case): Promise<Measurement> {
  const seen: { davit: LoadResult[]; floor: LoadResult[] } = { davit: [], floor: [] };
  const round = async (which: 'davit' | 'floor'): Promise<number> => {
    const side = sides[which];
    const result = await load({
      port: side.davit.port,
      // Few connections: with more, the queue for one busy core would be measured.
      connections: 4,
      warmUpMilliseconds: 500,
      milliseconds: location.isQuick ? 500 : 2000,
      requests: requests(side),
      status: 200,
      serverPid: side.davit.pid,
    });
    seen[which].push(result);
    return result.latency.p99;
  };
  const compared = await alternate(location.rounds(9, 2), { davit: () => round('davit'), floor: () => round('floor') });
  return { what, unit: 'ms', ...compared, ...ratioVerdict(compared.ratio, target), details: seen };
}
