/**
 * Returns the result of `pending`, or rejects with the signal's reason as soon as the signal aborts. Intended for long
 * operations that accept no signal; the operation continues.
 */
export function abortable<Result>(pending: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    pending.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
