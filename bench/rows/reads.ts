import { alternate } from '../alternate.ts';
import { load } from '../load/load.ts';
import type { LoadResult, PlannedRequest } from '../load/plan.ts';
import type { Place } from '../place.ts';
import { ratioVerdict, type Measurement, type Row } from '../row.ts';
import { openRecords, reads, type Records } from './records.ts';

const target = { atLeast: 0.7 };

export const readsRow: Row = {
  name: 'reads',
  about: 'read of one record over HTTP against a bare Fastify route with one prepared primary-key select',
  run: async (location) => measureReads(location, await openRecords(location)),
};

/** `where`: the suffix of the measurements' names. */
export async function measureReads(location: Place, records: Records, where = ''): Promise<Measurement[]> {
  const { davit, projectIds, applicationIds } = records;
  return [
    await compare(location, records, {
      what: `read of a project${where}`,
      requests: reads('project', projectIds, davit.headers),
      status: 200,
    }),
    await compare(location, records, {
      what: `read of an application${where}`,
      requests: reads('application', applicationIds, davit.headers),
      status: 200,
    }),
  ];
}

interface Case {
  readonly what: string;
  readonly requests: readonly PlannedRequest[];
  readonly status: number;
}

/** Sends the same requests to both sides, byte for byte. */
async function compare(location: Place, records: Records, { what, requests, status }: Case): Promise<Measurement> {
  const seen: { davit: LoadResult[]; floor: LoadResult[] } = { davit: [], floor: [] };
  const round = async (side: 'davit' | 'floor'): Promise<number> => {
    const { port, pid } = side === 'davit' ? records.davit : { port: records.floorPort, pid: records.floor.pid };
    const result = await load({
      port,
      connections: 32,
      warmUpMilliseconds: 500,
      milliseconds: location.isQuick ? 500 : 2000,
      requests,
      status,
      serverPid: pid,
    });
    seen[side].push(result);
    return result.perSecond;
  };
  const compared = await alternate(location.rounds(7, 2), { davit: () => round('davit'), floor: () => round('floor') });
  return { what, unit: 'requests/s', ...compared, ...ratioVerdict(compared.ratio, target), details: seen };
}
