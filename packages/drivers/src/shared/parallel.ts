/**
 * Applies `action` to all items, at most `limit` at a time, results in the items' order. Waits for those under way when one
 * fails, so that nothing goes on behind the caller's back, then throws the first failure.
 */
export async function inParallel<T, R>(items: readonly T[], limit: number, action: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = Array.from({ length: items.length });
  const failures: unknown[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    // One iterator for all workers: each takes the next item that nobody has.
    for (const [position, item] of queue) {
      try {
        results[position] = await action(item);
      } catch (error) {
        failures.push(error);
      }
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
  return results;
}
