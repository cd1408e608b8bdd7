import Type, { type Static, type TProperties, type TSchema } from 'typebox';

/** The values that a field may have. */
export function Words<const W extends readonly string[]>(words: W, options: Record<string, unknown> = {}) {
  return Type.Unsafe<W[number]>({ type: 'string', enum: [...words], ...options });
}

/**
 * Returns the shape, also allowing null. It is written as a list of types where possible: serializers are faster with a
 * list than with a union.
 */
export function Nullable<T extends TSchema>(schema: T) {
  const plain = schema as T & { type?: string; enum?: readonly unknown[] };
  if (typeof plain.type === 'string' && plain.type !== 'object') {
    const words = plain.enum === undefined ? {} : { enum: [...plain.enum, null] };
    return Type.Unsafe<Static<T> | null>({ ...schema, type: [plain.type, 'null'], ...words });
  }
  return Type.Unsafe<Static<T> | null>({ anyOf: [schema, { type: 'null' }] });
}

export function List<T extends TSchema>(item: T) {
  return Type.Object({ results: Type.Array(item) });
}

/** An object whose members are all optional. */
export function Optionals<P extends TProperties>(properties: P) {
  return Type.Partial(Type.Object(properties));
}

export const Uuid = Type.String({ format: 'uuid' });
export const DateTime = Type.String({ format: 'date-time' });
export const Reference = Type.Object({ id: Uuid });

/** A text of 1 to 255 characters that is not blank. */
export const Name = Type.String({ minLength: 1, maxLength: 255, pattern: '\\S' });
export const Text = Type.String({ maxLength: 10_000 });
/** An amount of a resource: an integer that fits into 32 bits, the limit of PostgreSQL and of every client. */
export const Count = Type.Integer({ minimum: 0, maximum: 2_147_483_647 });

export const Paging = Optionals({
  page: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  pageSize: Type.Integer({ minimum: 1, maximum: 1000, default: 20 }),
});
