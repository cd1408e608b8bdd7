import { Worker } from 'node:worker_threads';
import { threadState, type Encoded, type PartLines, type Question, type ThreadTask } from './tasks.ts';

const heapMebibytes = 512;
const againMilliseconds = 5;

/** The thread did not answer in time, and was ended. */
export class ThreadTooSlow extends Error {}

/** A thread that compresses lines and searches in lines, one task at a time. It does not keep the process alive. */
export class LogThread {
  #worker: Worker | null = null;
  #state = newState();

  encode(serviceId: string, rows: string, signal: AbortSignal): Promise<Encoded | null> {
    return this.#ask<Encoded | null>({ kind: 'encode', serviceId, rows }, { signal, withinMilliseconds: 60_000 });
  }

  /** Throws `ThreadTooSlow` after this time, and the signal's reason when it is aborted. */
  search(question: Question, limits: { readonly signal: AbortSignal; readonly withinMilliseconds: number }): Promise<PartLines> {
    return this.#ask<PartLines>(question, limits);
  }

  /** Ends the thread, as soon as it does not compress. The next task gets a new one. */
  end(): void {
    if (this.#worker !== null) endWorker(this.#worker, this.#state);
    this.#worker = null;
  }

  async #ask<Answer>(
    task: ThreadTask,
    { signal, withinMilliseconds }: { readonly signal: AbortSignal; readonly withinMilliseconds: number },
  ): Promise<Answer> {
    signal.throwIfAborted();
    const worker = this.#open();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const stop = (reason: unknown): void => {
      this.end();
      reject(reason instanceof Error ? reason : new Error('the search was given up'));
    };
    const onAbort = (): void => stop(signal.reason);
    const onExit = (): void => stop(new Error('the thread ended without an answer'));
    const timer = setTimeout(() => stop(new ThreadTooSlow()), withinMilliseconds);
    signal.addEventListener('abort', onAbort, { once: true });
    worker.once('message', resolve);
    worker.once('error', stop);
    worker.once('exit', onExit);
    try {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage(task);
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      worker.off('message', resolve).off('error', stop).off('exit', onExit);
    }
  }

  #open(): Worker {
    if (this.#worker !== null) return this.#worker;
    this.#state = newState();
    const worker = new Worker(new URL('thread.ts', import.meta.url), {
      workerData: this.#state,
      resourceLimits: { maxOldGenerationSizeMb: heapMebibytes },
    });
    worker.unref();
    // An error of an idle thread must not end the process.
    worker.on('error', () => undefined);
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = null;
    });
    this.#worker = worker;
    return worker;
  }
}

function newState(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

function endWorker(worker: Worker, state: Int32Array): void {
  const found = Atomics.compareExchange(state, 0, threadState.free, threadState.ends);
  if (found === threadState.compresses) setTimeout(() => endWorker(worker, state), againMilliseconds);
  else void worker.terminate();
}
