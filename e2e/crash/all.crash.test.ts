import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { testEngineKinds } from '../../packages/testkit/src/engines.ts';
import { crashCases } from '../../packages/engine/src/testing/crash/cases.ts';
import { describeCrashes } from './matrix.ts';
import { engineDisk } from './survival.ts';

/* Runs the whole matrix on every engine that can be started: `npm run test:crash`. */

const isRoot = process.getuid?.() === 0;
for (const kind of testEngineKinds()) {
  if (isRoot) giveDisk(engineDisk(kind));
  describeCrashes(
    kind,
    crashCases.filter(({ fault }) => isRoot || fault !== 'disk full'),
  );
}

/** Mounts a tmpfs for the data of an engine, so that the disk can be filled fast and without harm. */
function giveDisk(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const isMounted = readFileSync('/proc/self/mounts', 'utf8').includes(` ${folder} tmpfs `);
  if (!isMounted) execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1g,mode=700', 'tmpfs', folder]);
}
