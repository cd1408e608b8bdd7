import { html, type Html } from './html.ts';
import { inline, markdown, type AddressOf } from './markdown.ts';
import type { Model, Parameter } from './model.ts';
import { innermost, limitWords, referredName, typeWords, type Schema } from './schema.ts';

export interface FieldsOptions {
  readonly model: Model;
  readonly addressOf: AddressOf;
  /** Begins the anchors of the fields. */
  readonly anchor: string;
  /** Whether the fields are sent. Fields of answers say instead that they may be absent. */
  readonly isRequest: boolean;
}

/** Begins the anchors of the fields of a type: a field may have the name of a part of the page, such as `content`. */
export const fieldAnchor = 'field-';

/** Nested fields beyond this depth are on the page of their type. */
const deepest = 2;

interface Property {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** Returns the fields of a body as a list; undefined if it has none. */
export function fieldList(schema: Schema, options: FieldsOptions, seen: readonly string[] = []): Html | undefined {
  const { model } = options;
  const shape = shapeOf(innermost(schema), model);
  const names = [...seen, referredName(innermost(schema)) ?? ''];
  const choices = choicesOf(shape);
  if (choices.length > 0) {
    return html`<ul class="fields">
      ${choices.map((choice) => choiceRow(choice, options, names))}
    </ul>`;
  }
  const properties = propertiesOf(shape, model);
  if (properties.length === 0) return undefined;
  return html`<ul class="fields">
    ${properties.map((property) => fieldRow(property, options, names))}
  </ul>`;
}

export function parameterList(parameters: readonly Parameter[], options: FieldsOptions): Html {
  const rows = parameters.map(({ name, schema, required, description }) =>
    fieldRow({ name, schema: { ...schema, description }, isRequired: required }, options, []),
  );
  return html`<ul class="fields">
    ${rows}
  </ul>`;
}

/** Returns the shape to which a schema refers, or the schema itself. */
export function shapeOf(schema: Schema, { types }: Model): Schema {
  const name = referredName(schema);
  return name === undefined ? schema : (types.get(name) ?? schema);
}

/**
 * Returns the properties of an object, also those of the shapes of which it consists. Its own one counts if a shape has
 * the name, too.
 */
export function propertiesOf(shape: Schema, model: Model): readonly Property[] {
  const own = Object.entries(shape.properties ?? {}).map(([name, schema]) => {
    return { name, schema, isRequired: shape.required?.includes(name) === true };
  });
  const all = [...(shape.allOf ?? []).flatMap((part) => propertiesOf(shapeOf(part, model), model)), ...own];
  return [...new Map(all.map((property) => [property.name, property])).values()];
}

/** Returns the shapes of which a value has one; empty if there is no choice. */
function choicesOf({ anyOf = [] }: Schema): readonly Schema[] {
  return anyOf.filter(({ type }) => type !== 'null');
}

function choiceRow(choice: Schema, options: FieldsOptions, seen: readonly string[]): Html {
  const { description } = shapeOf(choice, options.model);
  return html`<li>
    <div class="field-head"><span class="type">${typeWords(choice)}</span></div>
    ${description === undefined ? undefined : html`<div class="words">${markdown(description, options.addressOf)}</div>`}
    ${nested(choice, options, seen)}
  </li>`;
}

function fieldRow(property: Property, options: FieldsOptions, seen: readonly string[]): Html {
  const { name, schema, isRequired } = property;
  const { addressOf, anchor } = options;
  const isTop = seen.length <= 1;
  const id = `${anchor}${name}`;
  const title = isTop ? html`<a class="anchor" href="#${id}"><code>${name}</code></a>` : html`<code>${name}</code>`;
  const limits = limitWords(schema);
  const words = wordsOf(schema, options.model);
  return html`<li${isTop ? html` id="${id}"` : undefined}><div class="field-head">${title} <span class="type">${typeWords(schema)}</span>${presence(isRequired, options)}</div>
${words === undefined ? undefined : html`<div class="words">${markdown(words, addressOf)}</div>`}
${limits.length === 0 ? undefined : html`<div class="limits">${limits.join(' · ')}</div>`}
${valuesOf(schema, options)}${nested(schema, options, seen)}</li>`;
}

function presence(isRequired: boolean, { isRequest }: FieldsOptions): Html | undefined {
  if (isRequired) return isRequest ? html` <span class="mark">required</span>` : undefined;
  return isRequest ? undefined : html` <span class="maybe">may be absent</span>`;
}

/** Returns the words of a field: its own, or those of its shape without the list of values. */
function wordsOf(schema: Schema, model: Model): string | undefined {
  if (schema.description !== undefined) return schema.description;
  const shape = shapeOf(innermost(schema), model);
  return shape.enum === undefined ? shape.description : shape.description?.split('\n\n- ')[0];
}

/** Returns the values of an enumeration with their meanings, as far as the words of the field do not list them. */
function valuesOf(schema: Schema, { model, addressOf }: FieldsOptions): Html | undefined {
  const inner = innermost(schema);
  const shape = shapeOf(inner, model);
  const values = (shape.enum ?? []).filter((value) => value !== null).map(String);
  if (values.length === 0 || /^- `/m.test(schema.description ?? '')) return undefined;
  const meanings = /^- `[\s\S]*/m.exec(shape.description ?? '')?.[0];
  if (meanings === undefined) {
    return html`<div class="limits">
      ${values.length === 1 ? 'value' : 'values'} ${inline(values.map((one) => `\`${one}\``).join(', '), () => undefined)}
    </div>`;
  }
  return html`<details class="nested">
    <summary>${values.length} values</summary>
    <div class="words">${markdown(meanings, addressOf)}</div>
  </details>`;
}

function nested(schema: Schema, options: FieldsOptions, seen: readonly string[]): Html | undefined {
  const inner = innermost(schema);
  const name = referredName(inner);
  if (seen.length > deepest || (name !== undefined && seen.includes(name))) return undefined;
  const list = fieldList(inner, options, seen.length === 0 ? [''] : seen);
  if (list === undefined) return undefined;
  return html`<details class="nested">
    <summary>Fields of ${name ?? 'the object'}</summary>
    ${list}
  </details>`;
}
