import type { ReleaseField } from '@davit/engine/port';

/** A shorter value would hide half of all texts, and nobody keeps such a secret. Logs are redacted by the same rule. */
const shortestValue = 4;

interface Hiding {
  readonly setting: (field: ReleaseField) => { path: string; value: string | null; secret: boolean };
  readonly pair: (
    before: ReleaseField | undefined,
    after: ReleaseField | undefined,
  ) => { before: string | null; after: string | null; secret: boolean };
}

/**
 * Returns functions that show settings without secrets. Hidden are:
 * - values that contain a secret;
 * - plain values at the paths `secrets`: of variables that are secrets in another release;
 * - every text that contains a value of `former`, the plain values of these variables in any release: other variables
 *   refer to them.
 */
export function hiding(secrets: ReadonlySet<string>, former: readonly string[]): Hiding {
  // Lists are shown as JSON, where quotes and line breaks are escaped.
  const formerValues = new Set(
    former.filter(({ length }) => length >= shortestValue).flatMap((value) => [value, JSON.stringify(value).slice(1, -1)]),
  );
  const isSecret = ({ path, value }: ReleaseField): boolean =>
    value === null || secrets.has(path) || [...formerValues].some((one) => value.includes(one));
  return {
    setting: (field) => {
      const secret = isSecret(field);
      return { path: field.path, value: secret ? null : field.value, secret };
    },
    pair: (before, after) => {
      const secret = [before, after].some((field) => field !== undefined && isSecret(field));
      return { before: secret ? null : (before?.value ?? null), after: secret ? null : (after?.value ?? null), secret };
    },
  };
}
