import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Row } from '../row.ts';
import { toSeries } from '../statistics.ts';

const limitSeconds = 20;
const root = fileURLToPath(new URL('../..', import.meta.url));

export const checkRow: Row = {
  name: 'check',
  about: '`npm run check` (format, lint, types, import rules) of this checkout as it is',
  run: async (location) => {
    const times: number[] = [];
    const codes: unknown[] = [];
    for (let round = 0; round < location.rounds(3, 1); round += 1) {
      const began = performance.now();
      const child = spawn('npm', ['run', '--silent', 'check'], { cwd: root, stdio: 'ignore' });
      const [code]: unknown[] = await once(child, 'exit');
      times.push((performance.now() - began) / 1000);
      codes.push(code);
    }
    const davit = toSeries(times);
    const isMet = davit.median <= limitSeconds;
    // The duration does not depend on the result; still, readers should know the result.
    const what = codes.every((code) => code === 0) ? 'npm run check' : 'npm run check (finds faults)';
    return [{ what, unit: 's', davit, floor: null, ratio: null, target: `≤ ${limitSeconds}`, isMet, details: { codes } }];
  },
};
