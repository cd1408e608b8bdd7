/** The longest delay of a timer in milliseconds: Node.js turns longer ones into one millisecond. */
export const longestTimerMilliseconds = 2 ** 31 - 1;

/**
 * A signal that never aborts, for calls that need one. Callees must remove the listeners that they add, because the
 * signal lives as long as the process.
 */
export const neverAborted: AbortSignal = new AbortController().signal;

/** Resolves after this time, or as soon as the signal aborts. */
export function pause(milliseconds: number, signal: AbortSignal = neverAborted): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(end, milliseconds);
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    }
    signal.addEventListener('abort', end, { once: true });
  });
}

/** Resolves after this time, or rejects with the signal's reason as soon as the signal aborts. */
export async function abortablePause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await pause(milliseconds, signal);
  signal.throwIfAborted();
}
