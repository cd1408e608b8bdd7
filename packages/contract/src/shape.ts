import Type, { type Static, type TProperties, type TSchema } from 'typebox';

/** The words that a field may hold. */
export function Words<const W extends readonly string[]>(words: W, options: Record<string, unknown> = {}) {
  return Type.Unsafe<W[number]>({ type: 'string', enum: [...words], ...options });
}

/** The same, or null. Written as a list of types where that is possible: serialisers are faster with it than with a union. */
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

/** An object of which every member may be left out. */
export function Optionals<P extends TProperties>(properties: P) {
  return Type.Partial(Type.Object(properties));
}

export const Uuid = Type.String({ format: 'uuid' });
export const DateTime = Type.String({ format: 'date-time' });
export const Reference = Type.Object({ id: Uuid });

/** 1 to 255 characters, not only blanks. */
export const Name = Type.String({ minLength: 1, maxLength: 255, pattern: '\\S' });
export const Text = Type.String({ maxLength: 10_000 });
/** Units of resources: integers that fit PostgreSQL's and every client's 32 bits. */
export const Count = Type.Integer({ minimum: 0, maximum: 2_147_483_647 });

export const Paging = Optionals({
  page: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  pageSize: Type.Integer({ minimum: 1, maximum: 1000, default: 20 }),
});
