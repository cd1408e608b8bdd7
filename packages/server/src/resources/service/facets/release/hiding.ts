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
 * - every text of the releases that contains such a plain value: other variables refer to it.
 */
export function hiding(releases: readonly (readonly ReleaseField[])[], secrets: ReadonlySet<string>): Hiding {
  const formerValues = new Set(
    releases.flat().flatMap(({ path, value }) => {
      return value !== null && value.length >= shortestValue && secrets.has(path) ? [value] : [];
    }),
  );
  const isSecret = ({ path, value }: ReleaseField): boolean =>
    value === null || secrets.has(path) || [...formerValues].some((former) => value.includes(former));
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
