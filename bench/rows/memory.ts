import { setTimeout as pause } from 'node:timers/promises';
import { startDavit, type Davit } from '../davit.ts';
import { load } from '../load/load.ts';
import type { Place } from '../place.ts';
import { memoryOf, processesOf, processorSeconds, withDescendants } from '../processes.ts';
import type { Measurement, Row } from '../row.ts';
import { toSeries } from '../statistics.ts';
import { BenchApplication, createProject, floodingApplication } from './applications.ts';
import { openInstallation } from './installation.ts';

const limitMegabytes = 150;
const floodLines = 300_000;
const limitAfterFlood = 20;

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
      await afterFlood(location),
    ];
  },
};

/** Measures what is left of a flood in the log of a service once its lines are stored and compressed. */
async function afterFlood(location: Place): Promise<Measurement> {
  const davit = await startDavit(location, { name: 'flood' });
  const url = (await location.git()).commit('flood', floodingApplication(floodLines));
  const projectId = await createProject(davit, 'Flood');
  const application = await BenchApplication.create(davit, { projectId, name: 'printer', url });
  const deploy = async (generation: string): Promise<void> => {
    await application.change(generation);
    await application.request();
    await application.untilDeployed();
    await atRest(davit);
  };
  // Both are deployed by the same process, which loads code and opens connections for its first deployments.
  for (const generation of ['quiet', 'quiet again']) await deploy(generation);
  const before = await sample(location, davit);
  await deploy('flood');
  const after = await sample(location, davit);
  await davit.stop();
  const grown = after.map(({ controlPlane }, index) => controlPlane - (before[index]?.controlPlane ?? Number.NaN));
  const davitSeries = toSeries(grown);
  return {
    what: `memory above that before, after a flood of ${floodLines.toLocaleString('en')} lines`,
    unit: 'MB',
    davit: davitSeries,
    floor: null,
    ratio: null,
    target: `≤ ${limitAfterFlood}`,
    isMet: davitSeries.median <= limitAfterFlood,
    details: { before, after },
  };
}

/** Waits until the server has used less than a twentieth of a core for ten seconds. */
async function atRest(davit: Davit): Promise<void> {
  const seconds = 10;
  const used = (): number => ownProcesses(davit).reduce((total, { pid }) => total + processorSeconds(pid), 0);
  for (let before = used(); ; before = used()) {
    await pause(seconds * 1000);
    if (used() - before < seconds / 20) return;
  }
}

function ownProcesses(davit: Davit): ReturnType<typeof withDescendants> {
  return withDescendants(davit.pid).filter(({ name }) => name !== 'postgres' && name !== 'haproxy');
}

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
  const own = ownProcesses(davit);
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
