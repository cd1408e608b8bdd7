import { hasControlCharacter } from '../../shared/problems.ts';

/*
 * Reading JSON that others wrote: what is not there, or is something else, reads as nothing.
 */

/** A part of a payload. */
export type Part = Readonly<Record<string, unknown>>;

export function partOf(value: unknown, ...path: readonly string[]): Part {
  let part: unknown = value;
  for (const name of path) part = isPart(part) ? part[name] : undefined;
  return isPart(part) ? part : {};
}

function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A text without control characters, cut to what a ledger may hold; '' for anything else. */
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

/** A number as text. */
export function numberText(value: unknown): string {
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : '';
}

/** A commit id; null: none, which hosts also write as zeros. */
export function commitId(value: unknown): string | null {
  return typeof value === 'string' && /^[0-9a-f]{7,40}$/i.test(value) && !/^0+$/.test(value) ? value.toLowerCase() : null;
}
