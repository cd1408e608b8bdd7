import { hasControlCharacter } from '@davit/base';

/*
 * Reads JSON from foreign servers. Missing values and values of another type are read as empty.
 */

/** An object within a payload. */
export type Part = Readonly<Record<string, unknown>>;

export function partOf(value: unknown, ...path: readonly string[]): Part {
  let part: unknown = value;
  for (const name of path) part = isPart(part) ? part[name] : undefined;
  return isPart(part) ? part : {};
}

function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a text without control characters, cut to the size that the ledger allows. Returns '' for anything else. */
export function text(value: unknown, most = 500): string {
  if (typeof value !== 'string' || hasControlCharacter(value)) return '';
  return value.slice(0, most);
}

export function textOrNull(value: unknown): string | null {
  return text(value, 2000) || null;
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns a number as text. */
export function numberText(value: unknown): string {
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : '';
}

/** Returns a commit id. Null if there is none, which hosts also write as zeros. */
export function commitId(value: unknown): string | null {
  return typeof value === 'string' && /^[0-9a-f]{7,40}$/i.test(value) && !/^0+$/.test(value) ? value.toLowerCase() : null;
}
