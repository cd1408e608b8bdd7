import { setTimeout as pause } from 'node:timers/promises';

/** Waits for a condition, by default for at most one minute. */
export async function eventually<T>(
  condition: () => Promise<T | undefined>,
  what: string,
  timeoutMilliseconds = 60_000,
): Promise<T> {
  const until = Date.now() + timeoutMilliseconds;
  for (;;) {
    const found = await condition();
    if (found !== undefined) return found;
    if (Date.now() > until) throw new Error(`waited in vain for ${what}`);
    await pause(25);
  }
}
