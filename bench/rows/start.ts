import { startDavit } from '../davit.ts';
import type { Place } from '../place.ts';
import type { Measurement, Row } from '../row.ts';
import { toSeries } from '../statistics.ts';
import { openInstallation } from './installation.ts';

const limitMilliseconds = 1500;

export const startRow: Row = {
  name: 'start',
  about: 'start of `./davit serve` with existing state to the first answer that comes from the database',
  run: async (location) => {
    await openInstallation(location);
    return [
      await measure(location, 'start, database stopped as well', 'SIGTERM'),
      await measure(location, 'start after kill -9, database still runs', 'SIGKILL'),
    ];
  },
};

async function measure(location: Place, what: string, signal: NodeJS.Signals): Promise<Measurement> {
  const times: number[] = [];
  await (await startDavit(location, { name: 'installation' })).stop(signal);
  for (let round = 0; round < location.rounds(9, 3); round += 1) {
    const davit = await startDavit(location, { name: 'installation' });
    times.push(davit.startMilliseconds);
    await davit.stop(signal);
  }
  const davit = toSeries(times);
  const isMet = davit.median <= limitMilliseconds;
  return { what, unit: 'ms', davit, floor: null, ratio: null, target: `≤ ${limitMilliseconds}`, isMet };
}
