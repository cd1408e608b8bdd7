/**
 * Returns a promise that is awaited only after other work. If it rejects before, that does not count as unhandled,
 * which would end the process. A later `await` still gets the rejection.
 */
export function awaitedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
