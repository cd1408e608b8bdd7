import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { LoadPlan, LoadResult } from './plan.ts';

const program = fileURLToPath(new URL('generator.ts', import.meta.url));

export interface RunningLoad {
  /** The result, after the duration of the plan or after `stop`. */
  readonly result: Promise<LoadResult>;
  stop(): void;
}

/** Starts the load generator as a separate process. */
export function startLoad(plan: LoadPlan): RunningLoad {
  const child = fork(program, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const result = resultOf(child);
  child.send(plan);
  return { result, stop: () => child.send('stop') };
}

/** Runs a load to its end. Throws if a request failed. */
export async function load(plan: LoadPlan): Promise<LoadResult> {
  const result = await startLoad(plan).result;
  const failures = Object.entries(result.failures);
  if (failures.length > 0) throw new Error(`requests failed under load: ${JSON.stringify(result.failures)}`);
  return result;
}

function resultOf(child: ChildProcess): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('message', (message) => resolve(message as LoadResult)); // oxlint-disable-line typescript/no-unsafe-type-assertion -- our own program's words
    child.once('exit', (code) => reject(new Error(`the load generator ended with ${code} and without a result`)));
  });
}
