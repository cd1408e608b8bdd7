import { shapeName, type ShapeName } from './shape.ts';

/** The named shapes of a document, by name. */
export type Shapes = Map<string, unknown>;

/** The references that were made for a document, by the shape: a shape that is used often is read once. */
const made = new WeakMap<Shapes, WeakMap<object, unknown>>();

/** Keywords that belong to the location where a shape is used, not to the shape. */
const ofLocation = new Set(['description', 'default', 'readOnly', 'writeOnly', 'deprecated']);

/**
 * Returns the value with a reference in place of each named shape, and adds the shapes to `shapes`. Fails if two
 * different shapes have one name.
 */
export function referring(value: unknown, shapes: Shapes): unknown {
  if (Array.isArray(value)) return value.map((item) => referring(item, shapes));
  if (!isRecord(value)) return value;
  const shape = shapeName(value);
  if (shape === undefined) return explained(mapped(value, shapes));
  const known = made.get(shapes) ?? new WeakMap<object, unknown>();
  made.set(shapes, known);
  const reference = known.get(value) ?? referenceTo(shape, value, shapes);
  known.set(value, reference);
  return reference;
}

/** Returns a reference to a named shape, which it adds to `shapes`. */
function referenceTo(shape: ShapeName, value: Readonly<Record<string, unknown>>, shapes: Shapes): unknown {
  const entries = Object.entries(value).filter(([key]) => key !== 'x-shape');
  const location = Object.fromEntries(entries.filter(([key]) => ofLocation.has(key)));
  const plain = Object.fromEntries(entries.filter(([key]) => !ofLocation.has(key)));
  const isNullable = Array.isArray(plain['type']) && plain['type'].includes('null');
  const own = isNullable ? withoutNull(plain) : plain;
  const component = explained({
    ...(shape.description === undefined ? {} : { description: shape.description }),
    ...mapped(own, shapes),
  });
  const former = shapes.get(shape.name);
  if (former !== undefined && JSON.stringify(former) !== JSON.stringify(component)) {
    throw new Error(`Two different shapes are named ${shape.name}:\n${JSON.stringify(former)}\n${JSON.stringify(component)}`);
  }
  shapes.set(shape.name, component);
  const reference = { $ref: `#/components/schemas/${shape.name}` };
  return isNullable ? { anyOf: [reference, { type: 'null' }], ...location } : { ...reference, ...location };
}

/**
 * Returns the value with references in its members. The names of required properties follow the properties, which
 * compresses better.
 */
function mapped(value: Readonly<Record<string, unknown>>, shapes: Shapes): Record<string, unknown> {
  const { required, ...rest } = value;
  const members = Object.fromEntries(Object.entries(rest).map(([key, member]) => [key, referring(member, shapes)]));
  return required === undefined ? members : { ...members, required: referring(required, shapes) };
}

function withoutNull(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const types = [schema['type']].flat().filter((type) => type !== 'null');
  const values = schema['enum'];
  return {
    ...schema,
    type: types.length === 1 ? types[0] : types,
    ...(Array.isArray(values) ? { enum: values.filter((value) => value !== null) } : {}),
  };
}

/** Moves the meanings of the values to the description of a schema, where every reader and generator shows them. */
function explained(schema: Record<string, unknown>): Record<string, unknown> {
  const { 'x-enumDescriptions': meanings, ...rest } = schema;
  if (!isRecord(meanings)) return schema;
  const list = Object.entries(meanings).map(([value, meaning]) => `- \`${value}\`: ${String(meaning)}`);
  const before = typeof schema['description'] === 'string' ? `${schema['description']}\n\n` : '';
  return { ...rest, description: `${before}${list.join('\n')}` };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
