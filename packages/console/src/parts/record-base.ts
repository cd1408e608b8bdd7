import { isSame, type Json } from '../data/paths.ts';

/** The values with which a form began, and the version of the record that had them. */
export interface Base {
  readonly version: string | undefined;
  readonly values: Json;
}

/** Returns whether something was entered since the form began. */
export function editedFrom({ values: before }: Base, values: Json): boolean {
  return !isSame(before, values);
}

/** Returns whether somebody else changed the record while something else was entered. */
export function isOutdated(base: Base, stored: Base, values: Json): boolean {
  return base.version !== stored.version && editedFrom(base, values) && !isSame(values, stored.values);
}
