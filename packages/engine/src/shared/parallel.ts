/**
 * Calls `action` for each item, so many at a time. Waits for all that have begun, also when one rejects, so that nothing goes on
 * behind the caller's back; then rejects with the first reason. After a rejection no further item begins.
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
