/**
 * Applies `action` to all items, at most `limit` at a time, and returns the results in the order of the items. If one
 * fails, waits for those under way, so that nothing keeps running in the background, and then throws the first failure.
 */
export async function inParallel<T, R>(items: readonly T[], limit: number, action: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = Array.from({ length: items.length });
  const failures: unknown[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    // All workers share one iterator: each takes the next free item.
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

/**
 * Returns the results of all promises, like `Promise.all`. If one fails, waits for the others, so that nothing keeps
 * running in the background, and then throws the first failure in their order.
 */
export async function allEnded<const Work extends readonly unknown[]>(
  work: Work,
): Promise<{ -readonly [Index in keyof Work]: Awaited<Work[Index]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
