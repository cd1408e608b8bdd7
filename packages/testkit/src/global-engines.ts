import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stopTestEngines, testEnginesFolder } from './engines.ts';

const runFile = (): string => join(testEnginesFolder(), 'run');

/** Vitest's global setup. The engines of one folder belong to one run, which removes them at its end. */
export function setup(): void {
  const owner = existsSync(runFile()) ? Number(readFileSync(runFile(), 'utf8')) : process.pid;
  if (owner !== process.pid && isAlive(owner)) {
    throw new Error(
      `another run of the engine tests (process ${owner}) uses ${testEnginesFolder()}: wait for its end, or set DAVIT_TEST_ENGINES_FOLDER to another folder with a short name`,
    );
  }
  mkdirSync(testEnginesFolder(), { recursive: true, mode: 0o700 });
  writeFileSync(runFile(), String(process.pid));
}

/** Vitest's global teardown. No engine, container or file of tests outlives a run. */
export async function teardown(): Promise<void> {
  rmSync(runFile(), { force: true });
  if (process.env.DAVIT_TEST_ENGINES_KEEP !== 'true') await stopTestEngines();
}

/** Returns whether that process is a test run. After a crash, its process id may belong to another program. */
function isAlive(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('vitest');
  } catch {
    return false;
  }
}
