import { stopTestEngines } from './engines.ts';

/** Vitest's global teardown: no engine, container or file of tests outlives a run. */
export async function teardown(): Promise<void> {
  if (process.env.DAVIT_TEST_ENGINES_KEEP !== 'true') await stopTestEngines();
}
