/* Settings are read from and written to JSON by the paths of their fields, as the API's errors name them. */

export type Json = string | number | boolean | null | undefined | readonly Json[] | { readonly [name: string]: Json };

/** Returns the value at a path such as `git_repository.branch`; undefined if there is none. */
export function valueAt(record: Json, path: string): Json {
  let value = record;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || isList(value)) return undefined;
    value = value[name];
  }
  return value;
}

/** Returns a copy with another value at a path. Missing objects on the way are created. */
export function withValueAt(record: Json, path: string, value: Json): Json {
  const [name = '', ...rest] = path.split('.');
  const object = typeof record === 'object' && record !== null && !isList(record) ? record : {};
  return { ...object, [name]: rest.length === 0 ? value : withValueAt(object[name], rest.join('.'), value) };
}

export function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** Returns whether two values are the same to the API, which does not distinguish what is empty. */
export function isSame(one: Json, other: Json): boolean {
  return JSON.stringify(normal(one)) === JSON.stringify(normal(other));
}

function normal(value: Json): Json {
  if (value === undefined || value === '' || (isList(value) && value.length === 0)) return null;
  if (isList(value)) return value.map(normal);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, normal(member)] as const);
  return Object.fromEntries(
    members.filter(([, member]) => member !== null && member !== false).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** Returns a value as a person reads it in a difference. */
export function shown(value: Json): string {
  if (value === undefined || value === null || value === '') return 'none';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'string') return value;
  if (isList(value)) return value.length === 0 ? 'none' : value.map(brief).join('\n');
  return brief(value);
}

function brief(value: Json): string {
  if (typeof value !== 'object' || value === null) return String(value);
  if (isList(value)) return value.map(brief).join('=');
  return Object.entries(value)
    .filter(([name, member]) => name !== 'id' && member !== null && member !== undefined && member !== '')
    .map(([name, member]) => `${name.replaceAll('_', ' ')} ${typeof member === 'object' ? `(${brief(member)})` : String(member)}`)
    .join(', ');
}

/** Returns a number; what is none stays text, so that the server says what is wrong with it. */
export function numberOf(text: string): Json {
  if (text.trim() === '') return null;
  return /^-?\d+$/.test(text.trim()) ? Number(text) : text;
}

/** Returns whether the value is an object with fields. */
export function isFields(value: Json): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
