import { html, type Html, type Part } from './html.ts';

/** The keywords of JSON Schema that the contract uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  /** The shape of a text that is JSON itself. */
  readonly contentSchema?: Schema;
}

/** Returns the name of the shape that the schema refers to; undefined if it refers to none. */
export function referredName({ $ref }: Schema): string | undefined {
  return $ref?.slice($ref.lastIndexOf('/') + 1);
}

export function typeAddress(name: string): string {
  return `/docs/types/${name}`;
}

/** Returns the schemas of the values in a list or a map, or the schema itself: what a reader wants to look into. */
export function innermost(schema: Schema): Schema {
  const inner = schema.items ?? mapValues(schema) ?? nullable(schema);
  return inner === undefined ? schema : innermost(inner);
}

/** Returns the schema that may also be null; undefined if the schema is not such a choice. */
function nullable({ anyOf }: Schema): Schema | undefined {
  const others = anyOf?.filter((one) => one.type !== 'null') ?? [];
  return anyOf !== undefined && others.length === 1 ? others[0] : undefined;
}

function mapValues({ additionalProperties, patternProperties }: Schema): Schema | undefined {
  if (typeof additionalProperties === 'object') return additionalProperties;
  return patternProperties === undefined ? undefined : Object.values(patternProperties)[0];
}

const formats: Readonly<Record<string, string>> = {
  uuid: 'UUID',
  'date-time': 'date and time',
  uri: 'URL',
  email: 'e-mail address',
};

/** Returns the type of a value in words; names of shapes lead to their pages. */
export function typeWords(schema: Schema): Html {
  const name = referredName(schema);
  if (name !== undefined) return html`<a href="${typeAddress(name)}">${name}</a>`;
  if (schema.items !== undefined) return html`list of ${typeWords(schema.items)}${orNull(schema)}`;
  const values = mapValues(schema);
  if (values !== undefined) return html`map of ${typeWords(values)}${orNull(schema)}`;
  const choices = schema.anyOf ?? [];
  if (choices.length > 0) return joined(choices.map(typeWords), ' or ');
  if (schema.allOf !== undefined) return joined(schema.allOf.filter(isNamed).map(typeWords), ' and ');
  const types = [schema.type ?? 'any value'].flat();
  return html`${types.map((type) => (type === 'string' ? stringWords(schema) : type)).join(' or ')}`;
}

function isNamed(schema: Schema): boolean {
  return schema.$ref !== undefined;
}

function stringWords({ format, enum: values }: Schema): string {
  return values === undefined ? (formats[format ?? ''] ?? 'string') : 'enum';
}

function orNull({ type }: Schema): string {
  return Array.isArray(type) && type.includes('null') ? ' or null' : '';
}

function joined(parts: readonly Html[], between: string): Html {
  return html`${parts.flatMap((part, index): Part[] => (index === 0 ? [part] : [between, part]))}`;
}

/** The largest number that needs no mention: it is the limit of 32 bits, not of the field. */
const largest = 2_147_483_647;

/** Longer patterns say less than the words of the field. */
const longestPattern = 60;

const count = new Intl.NumberFormat('en-US');

/** Returns the limits of a value in words, the default last; empty if it has none. */
export function limitWords(schema: Schema): readonly string[] {
  const { minimum, minLength, minItems, maxLength, maxItems, pattern } = schema;
  const maximum = schema.maximum === largest ? undefined : schema.maximum;
  const rule =
    pattern === String.raw`\S`
      ? 'not blank'
      : pattern === undefined || pattern.length > longestPattern
        ? undefined
        : `matches ${pattern}`;
  const words = [
    range(minimum, maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' entries'),
    rule,
    schema.default === undefined ? undefined : `default ${defaultWords(schema.default)}`,
  ];
  return words.filter((word) => word !== undefined);
}

function range(least: number | undefined, most: number | undefined, unit: string): string | undefined {
  if (least === undefined && most === undefined) return undefined;
  const [from, to] = [count.format(least ?? 0), count.format(most ?? 0)];
  if (least === undefined || (least === 0 && unit !== '')) return most === undefined ? undefined : `at most ${to}${unit}`;
  if (most === undefined) return least === 0 ? 'not negative' : `at least ${from}${unit}`;
  return least === most ? `exactly ${to}${unit}` : `${from} to ${to}${unit}`;
}

function defaultWords(value: unknown): string {
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(value);
}
