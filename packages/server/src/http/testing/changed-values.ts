import type { Schema } from './arbitrary.ts';

/**
 * Returns the value for a place of a request that the generator cannot know. Example of a place: `labels_groups.0.id`.
 */
export type OwnValues = (location: string) => unknown;

interface At {
  readonly location: string;
  readonly own: OwnValues;
  /** The present value. */
  readonly now: unknown;
}

/**
 * Returns a value that the schema allows and that differs from the present one. Every member is set, so that a test
 * notices if a part of it is dropped. A value from `own` is used unchanged; `undefined` leaves the choice to the
 * schema.
 */
export function changedValue(schema: Schema, at: At): unknown {
  const own = at.own(at.location);
  if (own !== undefined) return own;
  const branch = (schema.anyOf ?? [schema]).find((one) => one.type !== 'null') ?? schema;
  if (branch !== schema) return changedValue(branch, at);
  if (schema.enum !== undefined) return schema.enum.find((word) => word !== null && word !== at.now) ?? schema.enum[0];
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.find((one) => one !== 'null');
  switch (type) {
    case 'boolean':
      return at.now !== true;
    case 'integer':
    case 'number':
      return changedNumber(schema, at.now);
    case 'array':
      return schema.items === undefined ? [] : [changedValue(schema.items, inside(at, '0'))];
    case 'string':
      return changedText(schema, at);
    default:
      return changedObject(schema, at);
  }
}

function changedNumber({ minimum = 1, maximum = Number.MAX_SAFE_INTEGER }: Schema, now: unknown): number {
  const next = typeof now === 'number' ? now + 1 : minimum + 1;
  return next < minimum || next > maximum ? minimum : next;
}

function changedText({ format }: Schema, { location, now }: At): string {
  if (format === 'date-time') return '2031-01-31T12:00:00.000Z';
  if (format === 'uri') return 'https://kept.example.org/';
  const name = location.split('.').at(-1) ?? '';
  const text = `kept-${name.replaceAll('_', '-')}`;
  return text === now ? `${text}-2` : text;
}

function changedObject({ properties = {}, additionalProperties }: Schema, at: At): unknown {
  const members = Object.entries(properties).map(([name, one]) => [name, changedValue(one, inside(at, name))] as const);
  if (members.length === 0 && typeof additionalProperties === 'object')
    return { kept: changedValue(additionalProperties, inside(at, 'kept')) };
  return Object.fromEntries(members);
}

function inside({ location, own, now }: At, name: string): At {
  return { location: location === '' ? name : `${location}.${name}`, own, now: memberOf(now, name) };
}

export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Object.entries(value).find(([key]) => key === name)?.[1] : undefined;
}
