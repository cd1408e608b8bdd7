import { setTimeout as pause } from 'node:timers/promises';
import { startDavit, type Davit } from '../davit.ts';
import { load } from '../load/load.ts';
import type { Place } from '../place.ts';
import { memoryOf, processesOf, withDescendants } from '../processes.ts';
import type { Measurement, Row } from '../row.ts';
import { toSeries } from '../statistics.ts';
import { openInstallation } from './installation.ts';

const limitMegabytes = 150;

export const memoryRow: Row = {
  name: 'memory',
  about: 'resident memory of the control plane, idle: all its processes but PostgreSQL; HAProxy apart',
  run: async (location) => {
    await openInstallation(location);
    const davit = await startDavit(location, { name: 'installation' });
    const fresh = await sample(location, davit);
    await load({
      port: davit.port,
      connections: 16,
      warmUpMilliseconds: 0,
      milliseconds: 5000,
      requests: [{ method: 'GET', path: '/organization', headers: davit.headers }],
      status: 200,
    });
    const used = await sample(location, davit);
    await davit.stop();
    return [
      toMeasurement('idle memory, one application runs', fresh, (memory) => memory.controlPlane, true),
      toMeasurement('idle memory after 5 s of full load', used, (memory) => memory.controlPlane, false),
      toMeasurement('idle memory of HAProxy', used, (memory) => memory.gateway, false),
    ];
  },
};

interface Memory {
  readonly controlPlane: number;
  readonly gateway: number;
  readonly processes: readonly { readonly name: string; readonly resident: number; readonly proportional: number }[];
}

/** Samples the memory of an idle server several times, seconds apart. */
async function sample(location: Place, davit: Davit): Promise<Memory[]> {
  const memories: Memory[] = [];
  for (let look = 0; look < location.rounds(6, 2); look += 1) {
    await pause(location.isQuick ? 1500 : 5000);
    memories.push(lookAt(davit));
  }
  return memories;
}

function lookAt(davit: Davit): Memory {
  const own = withDescendants(davit.pid).filter(({ name }) => name !== 'postgres' && name !== 'haproxy');
  const gateway = processesOf(davit.home).filter(({ name }) => name === 'haproxy');
  const measured = [...own, ...gateway].map(({ name, pid }) => ({ name, ...memoryOf(pid) }));
  const sum = (isGateway: boolean): number =>
    measured.filter(({ name }) => (name === 'haproxy') === isGateway).reduce((total, { resident }) => total + resident, 0);
  return { controlPlane: sum(false), gateway: sum(true), processes: measured };
}

function toMeasurement(
  what: string,
  memories: readonly Memory[],
  part: (memory: Memory) => number,
  isJudged: boolean,
): Measurement {
  const davit = toSeries(memories.map(part));
  const verdict = isJudged
    ? { target: `≤ ${limitMegabytes}`, isMet: davit.median <= limitMegabytes }
    : { target: '–', isMet: null };
  return { what, unit: 'MB', davit, floor: null, ratio: null, ...verdict, details: memories.at(-1)?.processes };
}
