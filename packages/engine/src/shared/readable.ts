import { isAppError, redactor, type Redactor } from '@davit/base';
import { isDatabaseAway } from './retry-policy.ts';
import type { EngineHooks } from '../port.ts';

/** The values of the secrets that can be read: nothing that a log may show. One that cannot be had cannot be shown. */
export async function readableSecrets(hooks: Pick<EngineHooks, 'secrets'>, ids: readonly string[]): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  const all = await unlessRefused(hooks.secrets(ids));
  if (all !== null) return [...all.values()];
  // One of them cannot be read.
  const each = await Promise.all(ids.map((id) => unlessRefused(hooks.secrets([id]))));
  return each.flatMap((found) => (found === null ? [] : [...found.values()]));
}

/** null: what is asked for is refused, and will be again. */
export function unlessRefused<T>(asked: Promise<T>): Promise<T | null> {
  return asked.catch((error: unknown) => {
    if (!isAppError(error) || isDatabaseAway(error)) throw error;
    return null;
  });
}

/**
 * A redactor that is always there: where the values are too large for one, it hides all of the text. For what was deployed before its
 * secrets became too large; the next deployment says so.
 */
export async function redactorOrBlind(values: Iterable<string>): Promise<Redactor> {
  try {
    return await redactor(values);
  } catch (error) {
    if (!isAppError(error)) throw error;
    return (text) => (text === '' ? '' : `[REDACTED] ${error.message}`);
  }
}
