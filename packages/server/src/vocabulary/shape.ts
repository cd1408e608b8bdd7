import { isRecord } from '@davit/base';
import { whoMay, type Operation } from '@davit/contract';
import type { Texts } from './texts.ts';
import type { Pair, Vocabulary } from './vocabulary.ts';

/*
 * The contract's operations in the words of a vocabulary: for the document of its base path, and for the serializers
 * of its answers, which know only the fields of their schema.
 */

/** Returns the operation in the vocabulary's words: path, names, shapes and descriptions. */
export function operationIn(operation: Operation, vocabulary: Vocabulary, texts: Texts): Operation {
  const shape = <S extends object>(schema: S): S => schemaIn(schema, vocabulary, texts);
  const { query, body, response, events, description } = operation;
  return {
    ...operation,
    id: texts.name(operation.id),
    path: pathIn(operation.path, vocabulary),
    summary: texts.prose(operation.summary),
    // Permissions depend on the id and the path in the contract's words.
    permission: texts.prose(whoMay(operation)),
    ...(description === undefined ? {} : { description: texts.prose(description) }),
    ...(query === undefined ? {} : { query: shape(query) }),
    ...(body === undefined ? {} : { body: shape(body) }),
    response: response === null ? null : shape(response),
    ...(events === undefined
      ? {}
      : { events: Object.fromEntries(Object.entries(events).map(([name, schema]) => [name, shape(schema)])) }),
  };
}

/** Returns a path of the contract in the vocabulary's words, without the base path. */
export function pathIn(path: string, { segments }: Pick<Vocabulary, 'segments'>): string {
  const words = new Map(segments.map(({ client, contract }) => [contract, client]));
  const parts = path.split('/');
  return parts
    .map((part, index) => {
      const pair = words.get(`${parts[index - 1]}/${part}`);
      return pair?.split('/')[1] ?? words.get(part) ?? part;
    })
    .join('/');
}

/** Returns the schema in the vocabulary's words. */
export function schemaIn<S extends object>(schema: S, vocabulary: Vocabulary, texts: Texts): S {
  const names = new Map(vocabulary.fields.map(({ client, contract }) => [contract, client]));
  const nameIn = (name: string): string => names.get(name) ?? name;

  const walk = (value: unknown, field: string): unknown => {
    if (Array.isArray(value)) return value.map((item) => walk(item, field));
    if (!isRecord(value)) return value;
    const words = wordsOf(value, vocabulary.values.get(field) ?? []);
    const entries = Object.entries(value).map(([keyword, inner]): [string, unknown] => {
      switch (keyword) {
        case 'enum':
        case 'default':
        case 'const':
          return [keyword, renamed(inner, words)];
        case 'x-enumDescriptions':
          return [keyword, renamedKeys(inner, (key) => words.get(key) ?? key, texts)];
        case 'properties':
          return [keyword, isRecord(inner) ? fieldsIn(inner) : inner];
        case 'required':
          return [keyword, Array.isArray(inner) ? inner.map((name: unknown) => nameIn(String(name))) : inner];
        case 'description':
          return [keyword, texts.prose(String(inner))];
        case 'x-shape':
          return [keyword, isRecord(inner) ? namedIn(inner) : inner];
        default:
          return [keyword, walk(inner, field)];
      }
    });
    return Object.fromEntries(entries);
  };
  const fieldsIn = (properties: Readonly<Record<string, unknown>>): Record<string, unknown> =>
    Object.fromEntries(Object.entries(properties).map(([name, inner]) => [nameIn(name), walk(inner, name)]));
  const namedIn = ({ name, description, ...shape }: Readonly<Record<string, unknown>>): Record<string, unknown> => ({
    ...shape,
    name: texts.name(String(name)),
    ...(typeof description === 'string' && { description: texts.prose(description) }),
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the result has the same keywords
  return walk(schema, '') as S;
}

function wordsOf(schema: Readonly<Record<string, unknown>>, pairs: readonly Pair[]): ReadonlyMap<unknown, string> {
  const values = schema['enum'];
  if (!Array.isArray(values)) return new Map();
  return new Map(pairs.filter(({ contract }) => values.includes(contract)).map(({ client, contract }) => [contract, client]));
}

function renamed(value: unknown, words: ReadonlyMap<unknown, string>): unknown {
  return Array.isArray(value) ? value.map((one) => renamed(one, words)) : (words.get(value) ?? value);
}

function renamedKeys(value: unknown, nameIn: (key: string) => string, texts: Texts): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, meaning]) => [nameIn(key), texts.prose(String(meaning))]));
}
