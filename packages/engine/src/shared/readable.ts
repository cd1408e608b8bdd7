import { isAppError, redactor, type Redactor } from '@davit/base';
import { isDatabaseUnreachable } from './retry-policy.ts';
import type { EngineHooks } from '../port.ts';

/**
 * Returns the values of the readable secrets, which no log may contain. A secret that cannot be read cannot be leaked.
 */
export async function readableSecrets(hooks: Pick<EngineHooks, 'secrets'>, ids: readonly string[]): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  const all = await unlessRefused(hooks.secrets(ids));
  if (all !== null) return [...all.values()];
  // At least one of the secrets cannot be read.
  const each = await Promise.all(ids.map((id) => unlessRefused(hooks.secrets([id]))));
  return each.flatMap((found) => (found === null ? [] : [...found.values()]));
}

/** Resolves to null if the request is refused and a repetition would be refused too. */
export function unlessRefused<T>(requested: Promise<T>): Promise<T | null> {
  return requested.catch((error: unknown) => {
    if (!isAppError(error) || isDatabaseUnreachable(error)) throw error;
    return null;
  });
}

/**
 * Returns a redactor in every case: if the values are too large for a redactor, the returned one hides the whole text.
 * It is for services that were deployed before their secrets became too large; the next deployment reports that.
 */
export async function redactorOrBlind(values: Iterable<string>): Promise<Redactor> {
  try {
    return await redactor(values);
  } catch (error) {
    if (!isAppError(error)) throw error;
    return (text) => (text === '' ? '' : `[REDACTED] ${error.message}`);
  }
}
