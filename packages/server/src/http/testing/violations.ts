import { resolved, type PublicSchema } from '@davit/testkit/public-description';

/** A request body that breaks one rule of the public description. */
export interface Violation {
  /** The broken place, in the notation of error responses: `ports.0.internal_port`. */
  readonly path: string;
  /** The broken keyword: `required`, `enum`, `minimum` and so on. */
  readonly rule: string;
  readonly body: unknown;
}

/** Nesting limit: deeper than any request that people write by hand. */
const deepest = 8;

/**
 * Returns every way to break one required field, enum, limit or type of a schema, starting from a valid body. Fields
 * that the body omits are filled with an example of the schema, so that the fields inside can be broken too.
 */
export function violationsOf(schema: PublicSchema, body: unknown): Violation[] {
  return [...broken(schema, body, { path: [], depth: 0 })].map(({ path, rule, value }) => ({
    path: path.join('.'),
    rule,
    body: replaced(body, path, value, schema),
  }));
}

interface Place {
  readonly path: readonly string[];
  readonly depth: number;
}

interface Broken {
  readonly path: readonly string[];
  readonly rule: string;
  /** The value at the place; undefined: none. */
  readonly value: unknown;
}

function* broken(reference: PublicSchema, value: unknown, { path, depth }: Place): Generator<Broken> {
  const schema = chosen(resolved(reference), value);
  if (depth > deepest) return;
  yield* brokenValues(schema).map((one) => ({ path, ...one }));
  const here = value ?? example(schema, depth);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const inside: Place = { path: [...path, name], depth: depth + 1 };
    if (schema.required?.includes(name) === true) yield { path: inside.path, rule: 'required', value: undefined };
    yield* broken(property, memberOf(here, name), inside);
  }
  if (schema.items !== undefined) {
    yield* broken(schema.items, Array.isArray(here) ? here[0] : undefined, { path: [...path, '0'], depth: depth + 1 });
  }
}

/** Returns values that break the schema's rules for the value itself. */
function brokenValues(schema: PublicSchema): { rule: string; value: unknown }[] {
  const found: { rule: string; value: unknown }[] = [];
  if (schema.enum !== undefined) found.push({ rule: 'enum', value: 'NO_SUCH_WORD' });
  if (schema.minimum !== undefined) found.push({ rule: 'minimum', value: schema.minimum - 1 });
  if (schema.maximum !== undefined) found.push({ rule: 'maximum', value: schema.maximum + 1 });
  if (schema.minLength !== undefined && schema.minLength > 0) found.push({ rule: 'minLength', value: '' });
  if (schema.maxLength !== undefined) found.push({ rule: 'maxLength', value: 'x'.repeat(schema.maxLength + 1) });
  if (schema.minItems !== undefined && schema.minItems > 0) found.push({ rule: 'minItems', value: [] });
  if (schema.format === 'uuid') found.push({ rule: 'format', value: 'no uuid' });
  if (schema.format === 'date-time') found.push({ rule: 'format', value: 'yesterday' });
  const wrong = wrongType[typeOf(schema) ?? ''];
  if (wrong !== undefined) found.push({ rule: 'type', value: wrong });
  return found;
}

const wrongType: Readonly<Record<string, unknown>> = {
  string: { no: 'text' },
  integer: 'many',
  number: 'many',
  boolean: 'perhaps',
  array: 'a list',
  object: 'an object',
};

function typeOf({ type }: PublicSchema): string | undefined {
  return typeof type === 'string' ? type : type?.find((one) => one !== 'null');
}

/** Returns the branch of a union that matches a value; the first branch if there is no value. */
function chosen(schema: PublicSchema, value: unknown): PublicSchema {
  const branches = schema.anyOf?.map(resolved);
  if (branches === undefined) return schema;
  const fitting = branches.find((branch) => (branch.required ?? []).every((name) => fits(branch, name, value)));
  return chosen(fitting ?? branches[0] ?? {}, value);
}

function fits(branch: PublicSchema, name: string, value: unknown): boolean {
  const member = memberOf(value, name);
  const words = resolved(branch.properties?.[name] ?? {}).enum;
  return member !== undefined && (words === undefined || words.some((word) => word === member));
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Object.entries(value).find(([key]) => key === name)?.[1] : undefined;
}

/** Returns a value of the schema with all required members. */
export function example(reference: PublicSchema, depth = 0): unknown {
  const schema = chosen(resolved(reference), undefined);
  if (schema.default !== undefined && schema.default !== null) return schema.default;
  if (schema.enum !== undefined) return schema.enum[0];
  switch (typeOf(schema)) {
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 1, 1);
    case 'boolean':
      return false;
    case 'array':
      return depth > deepest ? [] : [example(schema.items ?? {}, depth + 1)];
    case 'string':
      return exampleTexts[schema.format ?? ''] ?? 'x';
    default: {
      const members = (schema.required ?? []).map((name) => [name, example(schema.properties?.[name] ?? {}, depth + 1)]);
      return depth > deepest ? {} : Object.fromEntries(members);
    }
  }
}

const exampleTexts: Readonly<Record<string, string>> = {
  uuid: '0b9d2bfc-4b4e-4b8f-9d6b-0d8b3f1c2a11',
  'date-time': '2031-01-31T12:00:00Z',
  uri: 'https://example.org/',
  email: 'ada@example.org',
};

/** Returns the body with another value at a place. Missing members on the path are filled from the schema's example. */
function replaced(body: unknown, [name, ...rest]: readonly string[], value: unknown, reference: PublicSchema): unknown {
  if (name === undefined) return value;
  const schema = chosen(resolved(reference), body);
  const here = body ?? example(schema);
  if (schema.items !== undefined || Array.isArray(here)) {
    const [first, ...others]: unknown[] = Array.isArray(here) ? here : [];
    return [replaced(first, rest, value, schema.items ?? {}), ...others];
  }
  const members = Object.entries(typeof here === 'object' && here !== null ? here : {}).filter(([key]) => key !== name);
  const inside = replaced(memberOf(here, name), rest, value, schema.properties?.[name] ?? {});
  return Object.fromEntries(inside === undefined ? members : [...members, [name, inside]]);
}
