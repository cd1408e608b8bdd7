import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { crashCases } from '../../packages/engine/src/testing/crash/cases.ts';

/*
 * `npm run test:crash` runs the whole crash matrix.
 * - `-- --list` prints the cases, one per line, without running any.
 * - `-- TEXT` runs the cases whose names contain the text.
 */

const [first, ...rest] = process.argv.slice(2);
if (first === '--list') for (const { name } of crashCases) console.log(name);
else {
  const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
  const filter = first === undefined ? [] : ['--testNamePattern', [first, ...rest].join(' ')];
  const { status } = spawnSync(process.execPath, [vitest, 'run', '--project', 'crash', ...filter], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}
