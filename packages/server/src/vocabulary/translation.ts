import { AppError, isRecord } from '@davit/base';
import type { Direction, Pair, Vocabulary } from './vocabulary.ts';

/** Returns the value in other words: a changed copy, or the same value if it has none of the words. */
export type Translation = (value: unknown) => unknown;

/** The keywords of JSON Schema that a translation reads. */
interface Schema {
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema | readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

/**
 * Returns the translation of values of the schema; null if no value has a word of the vocabulary. `name` is the name of
 * the field that has the value.
 *
 * In the body of an `edit`, an optional field is left out if it has a word that only answers have in another meaning: a
 * client that reads a record and sends it back must not change that field.
 */
export function translationOf(schema: object, vocabulary: Vocabulary, direction: Direction, name = ''): Translation | null {
  return new Compiler(vocabulary, direction).of(schema, name);
}

class Compiler {
  readonly #direction: Direction;
  readonly #clientNames: ReadonlyMap<string, string>;
  readonly #values: (name: string) => readonly Pair[];
  readonly #answers: Vocabulary['answers'];

  constructor(vocabulary: Vocabulary, direction: Direction) {
    this.#direction = direction;
    this.#answers = vocabulary.answers;
    this.#clientNames = new Map(vocabulary.fields.map(({ client, contract }) => [contract, client]));
    this.#values = (name) => [
      ...(vocabulary.values.get(name) ?? []),
      ...(direction === 'answer' ? (vocabulary.answers.get(name) ?? []) : []),
    ];
  }

  of(schema: Schema, name: string): Translation | null {
    const { items } = schema;
    const unions = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
    const lists = items === undefined ? [] : Array.isArray(items) ? items : [items];
    return inTurn([
      ...unions.map((branch) => this.of(branch, name)),
      this.#ofValues(schema, name),
      ...lists.map((item: Schema) => ofList(this.of(item, name))),
      this.#ofFields(schema),
      ofEntries(this.#ofOthers(schema, name), Object.keys(schema.properties ?? {})),
    ]);
  }

  #ofValues(schema: Schema, name: string): Translation | null {
    const pairs = this.#values(name).filter(({ contract }) => schema.enum?.includes(contract) === true);
    if (pairs.length === 0) return null;
    const words = new Map<unknown, string>(
      pairs.map(({ client, contract }) => (this.#direction === 'answer' ? [contract, client] : [client, contract])),
    );
    return (value) => words.get(value) ?? value;
  }

  #ofFields({ properties = {}, required = [] }: Schema): Translation | null {
    const fields = Object.entries(properties).flatMap(([contract, schema]): Field[] => {
      const client = this.#clientNames.get(contract) ?? contract;
      const translate = this.of(schema, contract);
      if (client === contract && translate === null) return [];
      const ambiguous = this.#direction === 'edit' && !required.includes(contract) ? (this.#answers.get(contract) ?? []) : [];
      const from = this.#direction === 'answer' ? contract : client;
      return [{ from, contract, client, translate, leftOut: new Set(ambiguous.map((pair) => pair.client)) }];
    });
    if (fields.length === 0) return null;
    const to = this.#direction === 'answer' ? 'client' : 'contract';
    return (value) => (isRecord(value) ? withFields(value, fields, to) : value);
  }

  /** Returns the translation of members that have no declared name, such as the entries of a table. */
  #ofOthers({ patternProperties = {}, additionalProperties }: Schema, name: string): Translation | null {
    const others = Object.values(patternProperties);
    if (typeof additionalProperties === 'object') others.push(additionalProperties);
    return inTurn(others.map((schema) => this.of(schema, name)));
  }
}

interface Field {
  /** The field's name in the value to translate. */
  readonly from: string;
  readonly contract: string;
  readonly client: string;
  readonly translate: Translation | null;
  /** Values with which the field is left out. */
  readonly leftOut: ReadonlySet<unknown>;
}

type JsonObject = Readonly<Record<string, unknown>>;

function withFields(value: JsonObject, fields: readonly Field[], to: 'client' | 'contract'): JsonObject {
  let copy: Record<string, unknown> | undefined;
  for (const field of fields) {
    // A request may use the contract's name, too.
    const from = to === 'contract' && !Object.hasOwn(value, field.from) ? field.contract : field.from;
    if (!Object.hasOwn(value, from)) continue;
    const name = field[to];
    if (from !== name && Object.hasOwn(value, name)) throw twice(field);
    const former = value[from];
    if (field.leftOut.has(former)) {
      copy ??= { ...value };
      delete copy[from];
      continue;
    }
    const translated = field.translate === null ? former : field.translate(former);
    if (from === name && translated === former) continue;
    copy ??= { ...value };
    if (from !== name) delete copy[from];
    copy[name] = translated;
  }
  return copy ?? value;
}

function twice({ client, contract }: Field): AppError {
  const message = `is the field ${contract}, which the request has as well; send one of them`;
  return new AppError({
    code: 'VALIDATION_FAILED',
    message: `Validation error: ${client} ${message}`,
    errors: [{ path: client, message }],
  });
}

function ofList(translate: Translation | null): Translation | null {
  if (translate === null) return null;
  return (value) => {
    if (!Array.isArray(value)) return value;
    let copy: unknown[] | undefined;
    for (const [index, item] of value.entries()) {
      const translated = translate(item);
      if (translated !== item) (copy ??= [...value])[index] = translated;
    }
    return copy ?? value;
  };
}

function ofEntries(translate: Translation | null, declared: readonly string[]): Translation | null {
  if (translate === null) return null;
  return (value) => {
    if (!isRecord(value)) return value;
    let copy: Record<string, unknown> | undefined;
    for (const [name, member] of Object.entries(value)) {
      if (declared.includes(name)) continue;
      const translated = translate(member);
      if (translated !== member) (copy ??= { ...value })[name] = translated;
    }
    return copy ?? value;
  };
}

function inTurn(all: readonly (Translation | null)[]): Translation | null {
  const translations = all.filter((one) => one !== null);
  const [first, ...others] = translations;
  if (first === undefined) return null;
  return others.length === 0 ? first : (value) => translations.reduce((former, translate) => translate(former), value);
}
