import { isFields, isList, type Json } from '../data/paths.ts';

/** Returns the values without fields that are empty, which the server fills with their defaults. */
export function filled(values: Json): Json {
  if (isList(values)) return values.map(filled);
  if (typeof values !== 'object' || values === null) return values;
  const members = Object.entries(values).map(([name, member]) => [name, filled(member)] as const);
  return Object.fromEntries(members.filter(([, member]) => member !== undefined && member !== null && member !== ''));
}

/**
 * Returns the body of an edit. The server keeps what a body leaves out: a field that had a text and was emptied becomes
 * null. One that was empty before, such as a secret that is never shown, stays left out.
 */
export function editBody(body: Json, values: Json, before: Json): Json {
  if (!isFields(body) || !isFields(values) || !isFields(before)) return body;
  const emptied = Object.keys(values).filter((name) => values[name] === '' && !(name in body) && isText(before[name]));
  return { ...body, ...Object.fromEntries(emptied.map((name) => [name, null])) };
}

function isText(value: Json): boolean {
  return typeof value === 'string' && value !== '';
}
