import { Worker } from 'node:worker_threads';

export interface Chart {
  readonly name: string;
  readonly versions: readonly string[];
}

/*
 * Parses index.yaml files of Helm repositories. A large index takes a second or more of CPU time and much memory, and
 * may come from any server. Each one is therefore parsed in a thread of its own, so that nothing else has to wait and
 * the thread can be terminated.
 */
const heapMebibytes = 768;
const maxAtOnce = 2;
let running = 0;
const waiting: (() => void)[] = [];

/** One version of a chart in an index. */
export interface ChartVersion {
  readonly name: string;
  readonly version: string;
}

/** The URLs of a chart's archive, relative to the index. Null: the index does not have that version. */
export type ChartUrls = { readonly urls: readonly string[] } | null;

/** The input of the thread. `wanted`: the version to look for, or null for all charts. */
export interface IndexQuestion {
  readonly bytes: Uint8Array;
  readonly wanted: ChartVersion | null;
}

/**
 * Returns the charts of an index.yaml, in its order. Throws if the text is not an index, if the index needs too much
 * memory, or if `signal` aborts the parser.
 */
export function parseIndex(bytes: Uint8Array, signal: AbortSignal): Promise<readonly Chart[]> {
  return inTurn<readonly Chart[]>({ bytes, wanted: null }, signal);
}

/** Returns the place of one version of a chart. Throws like `parseIndex`. */
export function findChart(bytes: Uint8Array, wanted: ChartVersion, signal: AbortSignal): Promise<ChartUrls> {
  return inTurn<ChartUrls>({ bytes, wanted }, signal);
}

async function inTurn<Answer>(question: IndexQuestion, signal: AbortSignal): Promise<Answer> {
  if (running >= maxAtOnce) await new Promise<void>((resolve) => waiting.push(resolve));
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
