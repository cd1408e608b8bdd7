import { Loop } from '@davit/base';

const settledMilliseconds = 2_000;
const lookEveryMilliseconds = 20_000;
/** Growth since the last collection, in bytes, that is worth another one. */
const worthwhile = 8 * 1024 * 1024;
/** Share of the time in which an idle process works. */
const idleShare = 0.1;

export interface MemoryOfProcess {
  /** Returns the resident memory, in bytes. */
  resident(): number;
  /** Returns the share of the time since the last call in which the process worked. */
  worked(): number;
  /** Frees what is not in use, and returns it to the operating system. */
  collect(): void;
}

/**
 * Frees the memory that the start no longer needs, and later what a busy time has left behind, such as a flood in a
 * log. V8 does so only once the heap has doubled, which never happens in an idle process: it would keep some 25 MB
 * forever. A collection stops the process for some 100 ms, so it waits until the process is idle. `onError` receives
 * the failure of a look; the next one is 20 s later.
 */
export function giveBackMemory(onError: (error: unknown) => void, memory: MemoryOfProcess = memoryOfThis): void {
  let atLeast = 0;
  const collect = (): void => {
    memory.collect();
    atLeast = memory.resident();
  };
  setTimeout(() => {
    collect();
    memory.worked();
    const look = (): Promise<void> => {
      const isIdle = memory.worked() < idleShare;
      if (isIdle && memory.resident() > atLeast + worthwhile) collect();
      return Promise.resolve();
    };
    new Loop({ look, onError, everyMilliseconds: lookEveryMilliseconds, unref: true }).start();
  }, settledMilliseconds).unref();
}

let workedBefore = performance.eventLoopUtilization();

const memoryOfThis: MemoryOfProcess = {
  resident: () => process.memoryUsage.rss(),
  worked: () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, workedBefore);
    workedBefore = now;
    return utilization;
  },
  // Without --expose-gc, as in tests, nothing happens.
  collect: () => globalThis.gc?.({ type: 'major', flavor: 'last-resort', execution: 'sync' }),
};
