import * as fc from 'fast-check';

/** JSON Schema as used in the OpenAPI document of this API. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly additionalProperties?: Schema | boolean;
}

/** Texts that have broken programs before. */
const nastyTexts = [
  '',
  ' ',
  '\u0000',
  '\ud800',
  "'; drop table project; --",
  '{{A}}',
  '../../etc/passwd',
  '%00',
  'ﷺ',
  '👩‍👩‍👧',
  '__proto__',
  'null',
  '-1',
  '1e999',
  'x'.repeat(300),
  'https://[::1',
  'http://127.0.0.1:1/',
  'file:///etc/passwd',
  'Infinity',
] as const;
export const nastyText = fc.constantFrom(...nastyTexts);
/** Any JSON value, including numbers that fit no field. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  nastyText,
  fc.constantFrom<unknown>(-1, 0, 2 ** 31, 2 ** 53, -(2 ** 63), 1e300, 0.5, null, true, [], {}, [[]], [null]),
);

/** Ids of existing things of any kind. */
export type IdSource = fc.Arbitrary<string>;

/** Generates values that a schema allows. */
export function valid(schema: Schema, ids: IdSource): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => valid(one, ids)));
  if (schema.allOf !== undefined) {
    return fc.tuple(...schema.allOf.map((one) => valid(one, ids))).map((parts) => Object.assign({}, ...parts));
  }
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  if (types.length === 0) return schema.properties === undefined ? anyJson : objects(schema, ids);
  return fc.oneof(...types.map((type) => ofType(type, schema, ids)));
}

function ofType(type: string, schema: Schema, ids: IdSource): fc.Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.oneof(...limitsOf(schema).map((one) => fc.constant(one)), fc.integer(rangeOf(schema)));
    case 'number':
      return fc.double({ min: schema.minimum ?? -1e6, max: schema.maximum ?? 1e6, noNaN: true });
    case 'string':
      return texts(schema, ids);
    case 'array':
      return fc.array(valid(schema.items ?? {}, ids), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 3, (schema.minItems ?? 0) + 3),
      });
    default:
      return objects(schema, ids);
  }
}

function rangeOf({ minimum = -(2 ** 31), maximum = 2 ** 31 - 1 }: Schema): { min: number; max: number } {
  return { min: minimum, max: maximum };
}

function limitsOf({ minimum, maximum }: Schema): number[] {
  return [minimum, maximum].filter((limit) => limit !== undefined);
}

const someUuid = '0b9d2bfc-4b4e-4b8f-9d6b-0d8b3f1c2a11';

function texts(schema: Schema, ids: IdSource): fc.Arbitrary<string> {
  if (schema.format === 'uuid') return fc.oneof({ weight: 8, arbitrary: ids }, { weight: 1, arbitrary: fc.uuid() });
  if (schema.format === 'date-time') return dateTimes;
  if (schema.format === 'email') return fc.uuid().map((id) => `${id}@example.org`);
  if (schema.pattern !== undefined && schema.pattern !== '\\S') {
    return fc.stringMatching(new RegExp(schema.pattern), { maxLength: Math.min(schema.maxLength ?? 60, 60) });
  }
  const [minLength, maxLength] = [schema.minLength ?? 0, schema.maxLength ?? 40];
  const fits = (text: string): boolean => text.length >= minLength && text.length <= maxLength;
  const words = fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, 40)) });
  const unicode = fc.string({ unit: 'binary', minLength, maxLength: Math.max(minLength, Math.min(maxLength, 10)) });
  const url = fc.uuid().map((id) => `https://${id}.invalid/a/b.git`);
  return fc.oneof(
    { weight: 4, arbitrary: words },
    { weight: 1, arbitrary: unicode },
    // A filter that nothing passes would never end.
    ...(fits(someUuid) ? [{ weight: 2, arbitrary: fc.uuid() }] : []),
    ...(maxLength > 60 && minLength < 40 ? [{ weight: 2, arbitrary: url }] : []),
    ...(nastyTexts.some(fits) ? [{ weight: 1, arbitrary: fc.constantFrom(...nastyTexts.filter(fits)) }] : []),
  );
}

const dateTimes = fc
  .date({ min: new Date('1970-01-01T00:00:00Z'), max: new Date('2100-01-01T00:00:00Z'), noInvalidDate: true })
  .map((date) => date.toISOString());

function objects({ properties = {}, required = [], additionalProperties }: Schema, ids: IdSource): fc.Arbitrary<unknown> {
  const known = fc.record(Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valid(schema, ids)])), {
    requiredKeys: [...required],
  });
  if (typeof additionalProperties !== 'object') return known;
  const others = fc.dictionary(fc.string({ maxLength: 10 }), valid(additionalProperties, ids), { maxKeys: 3 });
  return fc.tuple(others, known).map(([more, all]) => ({ ...more, ...all }));
}

/** Generates values in which one part is replaced, missing or duplicated. */
export function broken(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc
    .tuple(value, fc.array(fc.nat(20), { maxLength: 4 }), anyJson, fc.boolean())
    .map(([whole, way, other, isGone]) => changed(whole, way, { other, isGone }));
}

function changed(value: unknown, [step, ...rest]: readonly number[], how: { other: unknown; isGone: boolean }): unknown {
  if (step === undefined || typeof value !== 'object' || value === null) return how.other;
  const entries = Object.entries(value);
  const at = step % (entries.length + 1);
  const [name, member] = entries[at] ?? ['surplus', undefined];
  const next = how.isGone && rest.length === 0 ? [] : [[name, changed(member, rest, how)] as const];
  const members = [...entries.slice(0, at), ...next, ...entries.slice(at + 1)];
  return Array.isArray(value) ? members.map(([, one]) => one) : Object.fromEntries(members);
}
