import { alternate } from '../alternate.ts';
import { load } from '../load/load.ts';
import type { LoadResult, PlannedRequest } from '../load/plan.ts';
import type { Place } from '../place.ts';
import { ratioVerdict, type Measurement, type Row } from '../row.ts';
import { applicationBody, openRecords, type Records } from './records.ts';

const target = { atLeast: 0.6 };

export const createsRow: Row = {
  name: 'creates',
  about: 'create of one record against a bare Fastify route with one insert',
  run: async (location) => measureCreates(location, await openRecords(location)),
};

/** `where`: the suffix of the measurements' names. */
export async function measureCreates(location: Place, records: Records, where = ''): Promise<Measurement[]> {
  const project = {
    path: `/organization/${records.organizationId}/project`,
    body: { name: 'created #', description: 'by a benchmark' },
  };
  const application = {
    path: `/environment/${records.environmentId}/application`,
    body: { ...applicationBody, name: 'created #' },
  };
  return [
    await compare(location, records, { what: `create of a project${where}`, ...project, status: 200 }),
    await compare(location, records, { what: `create of an application${where}`, ...application, status: 201 }),
  ];
}

interface Case {
  readonly what: string;
  readonly path: string;
  readonly body: object;
  readonly status: number;
}

async function compare(location: Place, records: Records, { what, path, body, status }: Case): Promise<Measurement> {
  const seen: { davit: LoadResult[]; floor: LoadResult[] } = { davit: [], floor: [] };
  const request: PlannedRequest = { method: 'POST', path, headers: records.davit.headers, body: JSON.stringify(body) };
  const round = async (side: 'davit' | 'floor', number: number): Promise<number> => {
    const { port, pid } = side === 'davit' ? records.davit : { port: records.floorPort, pid: records.floor.pid };
    const result = await load({
      port,
      connections: 32,
      warmUpMilliseconds: 500,
      milliseconds: location.isQuick ? 500 : 2000,
      requests: [request],
      status,
      // Names are unique: each round starts at a number that no earlier round reached.
      firstNumber: number * 1_000_000,
      serverPid: pid,
    });
    seen[side].push(result);
    return result.perSecond;
  };
  const compared = await alternate(location.rounds(7, 2), {
    davit: (number) => round('davit', number),
    floor: (number) => round('floor', number),
  });
  return { what, unit: 'requests/s', ...compared, ...ratioVerdict(compared.ratio, target), details: seen };
}
