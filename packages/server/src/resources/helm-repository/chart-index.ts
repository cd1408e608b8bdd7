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

/** Charts of an index.yaml, in its order. Throws for what is none, for one that needs too much memory, and when `signal` ends it. */
export async function parseIndex(bytes: Uint8Array, signal: AbortSignal): Promise<readonly Chart[]> {
  if (running >= mostAtOnce) await new Promise<void>((resolve) => waiting.push(resolve));
  else running += 1;
  try {
    signal.throwIfAborted();
    return await parseInThread(bytes, signal);
  } finally {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}

function parseInThread(bytes: Uint8Array, signal: AbortSignal): Promise<readonly Chart[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly Chart[]>();
  const worker = new Worker(new URL('chart-index-thread.ts', import.meta.url), {
    workerData: bytes,
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
