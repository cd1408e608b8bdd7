/**
 * Calls `action` for each item, with at most `limit` calls at a time. After a rejection no further item is begun. Waits
 * for all calls under way, so that nothing continues unnoticed by the caller; then rejects with the first reason.
 */
export async function parallel<T>(limit: number, items: readonly T[], action: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined && failures.length === 0; item = waiting.shift()) {
      try {
        await action(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
}
