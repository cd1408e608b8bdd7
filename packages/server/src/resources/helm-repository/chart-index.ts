import { Worker } from 'node:worker_threads';

export interface Chart {
  readonly name: string;
  readonly versions: readonly string[];
}

/*
 * Large indexes take a second or more of processor and a lot of memory, and come from anywhere: a thread of its own reads each,
 * so that nothing else waits, and it can be ended.
 */
const heapMebibytes = 768;
const mostAtOnce = 2;
let running = 0;
const waiting: (() => void)[] = [];

/** One version of a chart in an index. */
export interface ChartVersion {
  readonly name: string;
  readonly version: string;
}

/** Where its archive is, seen from the index; null: the index does not have that version. */
export type ChartPlace = { readonly urls: readonly string[] } | null;

/** Given to the thread. `wanted`: what to look for, null for all that there is. */
export interface IndexQuestion {
  readonly bytes: Uint8Array;
  readonly wanted: ChartVersion | null;
}

/** Charts of an index.yaml, in its order. Throws for what is none, for one that needs too much memory, and when `signal` ends it. */
export function parseIndex(bytes: Uint8Array, signal: AbortSignal): Promise<readonly Chart[]> {
  return inTurn<readonly Chart[]>({ bytes, wanted: null }, signal);
}

/** The same for one version of a chart. */
export function findChart(bytes: Uint8Array, wanted: ChartVersion, signal: AbortSignal): Promise<ChartPlace> {
  return inTurn<ChartPlace>({ bytes, wanted }, signal);
}

async function inTurn<Answer>(question: IndexQuestion, signal: AbortSignal): Promise<Answer> {
  if (running >= mostAtOnce) await new Promise<void>((resolve) => waiting.push(resolve));
  else running += 1;
  try {
    signal.throwIfAborted();
    return await askThread<Answer>(question, signal);
  } finally {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}

function askThread<Answer>(question: IndexQuestion, signal: AbortSignal): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const worker = new Worker(new URL('chart-index-thread.ts', import.meta.url), {
    workerData: question,
    resourceLimits: { maxOldGenerationSizeMb: heapMebibytes },
  });
  const end = (): void => {
    reject(new Error('reading the index took too long'));
    void worker.terminate();
  };
  signal.addEventListener('abort', end, { once: true });
  worker.once('message', resolve);
  worker.once('error', reject);
  worker.once('exit', () => {
    signal.removeEventListener('abort', end);
    reject(new Error('the thread ended without an answer'));
  });
  return promise;
}
