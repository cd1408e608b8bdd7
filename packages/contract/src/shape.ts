import Type, { type Static, type TProperties, type TSchema } from 'typebox';

/** Names a shape in the API document. The keyword `x-shape` carries it: validators and serializers ignore it. */
export interface ShapeName {
  readonly name: string;
  readonly description?: string;
}

/** Returns the text without the indentation that it has in the source. A paragraph is one line, for any width. */
export function words(text: string): string {
  return text
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) =>
      paragraph
        .trim()
        .replaceAll(/\s*\n\s*(?![-|\s])/g, ' ')
        .replaceAll(/\n\s*(?=[-|])/g, '\n'),
    )
    .join('\n\n');
}

/** Returns a copy of the schema with further keywords. It keeps the marks of TypeBox, which a spread would lose. */
function annotated<T extends TSchema>(schema: T, keywords: Readonly<Record<string, unknown>>): T {
  const all = { ...Object.getOwnPropertyDescriptors(schema), ...Object.getOwnPropertyDescriptors(keywords) };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the copy has every property of the schema
  return Object.defineProperties({}, all) as T;
}

/** Gives a shape its name in the API document, where it stands once and everything refers to it. */
export function Named<T extends TSchema>(name: string, schema: T, description?: string): T {
  const shape: ShapeName = description === undefined ? { name } : { name, description: words(description) };
  return annotated(schema, { 'x-shape': shape });
}

/** Says what a property is, in the place where it stands: `name: about('The name of …', Type.Optional(Name))`. */
export function about<T extends TSchema>(description: string, schema: T): T {
  return annotated(schema, { description: words(description) });
}

/** The meaning of each value of an enumeration. */
type Meanings<V extends string> = Readonly<Record<V, string>>;

/** The name and the meanings of an enumeration, by its list of values. */
const enumerations = new WeakMap<readonly string[], Readonly<Record<string, unknown>>>();

/**
 * Declares an enumeration that stands once in the API document, and returns its values. `description` says what the
 * values distinguish. The values are a list until their meanings are written.
 */
export function enumeration<const V extends string>(
  name: string,
  values: readonly V[] | Meanings<V>,
  description?: string,
): readonly V[] {
  const [list, meanings] = valuesOf(values);
  const shape: ShapeName = description === undefined ? { name } : { name, description: words(description) };
  enumerations.set(list, { 'x-shape': shape, ...meanings });
  return list;
}

function valuesOf<V extends string>(values: readonly V[] | Meanings<V>): [readonly V[], Readonly<Record<string, unknown>>] {
  if (isList(values)) return [[...values], enumerations.get(values) ?? {}];
  const meanings = Object.entries<string>(values).map(([value, meaning]) => [value, words(meaning)] as const);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of the record are its values
  return [meanings.map(([value]) => value as V), { 'x-enumDescriptions': Object.fromEntries(meanings) }];
}

function isList<V extends string>(values: readonly V[] | Meanings<V>): values is readonly V[] {
  return Array.isArray(values);
}

/** The values that a field may have: a list, or a record that says what each value means. */
export function Words<const V extends string>(values: readonly V[] | Meanings<V>, options: Record<string, unknown> = {}) {
  const [list, keywords] = valuesOf(values);
  return Type.Unsafe<V>({ type: 'string', enum: [...list], ...keywords, ...options });
}

/**
 * Returns the shape, also allowing null. It is written as a list of types where possible: serializers are faster with a
 * list than with a union.
 */
export function Nullable<T extends TSchema>(schema: T) {
  const plain = schema as T & { type?: string; enum?: readonly unknown[]; description?: string };
  if (typeof plain.type === 'string' && plain.type !== 'object') {
    const allowed = plain.enum === undefined ? {} : { enum: [...plain.enum, null] };
    return Type.Unsafe<Static<T> | null>({ ...schema, type: [plain.type, 'null'], ...allowed });
  }
  const { description } = plain;
  return Type.Unsafe<Static<T> | null>({
    anyOf: [schema, { type: 'null' }],
    ...(description === undefined ? {} : { description }),
  });
}

/** An answer with all records found. The list of a named shape has a name, too. */
export function List<T extends TSchema>(item: T) {
  const list = Type.Object({
    results: Type.Array(item, { description: 'The records, in the order of the operation.' }),
  });
  const name = shapeName(item)?.name;
  return name === undefined ? list : Named(`${name}List`, list, 'All records, or the page that was asked for.');
}

/** Returns the name of a shape; undefined if it has none. */
export function shapeName(schema: object): ShapeName | undefined {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `Named` and `enumeration` set the keyword
  return 'x-shape' in schema ? (schema['x-shape'] as ShapeName) : undefined;
}

/** An object whose members are all optional. */
export function Optionals<P extends TProperties>(properties: P) {
  return Type.Partial(Type.Object(properties));
}

/** The words for a value of an enumeration that clients may know, and that this version never sends. */
export const neverSent = 'Never sent by this version.';

export const Uuid = Type.String({ format: 'uuid' });
export const DateTime = Type.String({ format: 'date-time' });
export const Reference = Type.Object({ id: about('The `id` of the record.', Uuid) });

/** A text of 1 to 255 characters that is not blank. */
export const Name = Type.String({ minLength: 1, maxLength: 255, pattern: '\\S' });
export const Text = Type.String({ maxLength: 10_000 });
/** An amount of a resource: an integer that fits into 32 bits, the limit of PostgreSQL and of every client. */
export const Count = Type.Integer({ minimum: 0, maximum: 2_147_483_647 });

export const Paging = Optionals({
  page: about('The page to return, counted from 1.', Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  pageSize: about('How many records a page has.', Type.Integer({ minimum: 1, maximum: 1000, default: 20 })),
});
