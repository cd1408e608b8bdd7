import { AppError, isAppError, type ErrorDetail } from '@davit/base';
import type { Operation } from '@davit/contract';
import { operationIn, pathIn, schemaIn } from '../vocabulary/shape.ts';
import { textsOf, type Texts } from '../vocabulary/texts.ts';
import { translationOf, type Translation } from '../vocabulary/translation.ts';
import type { Vocabulary } from '../vocabulary/vocabulary.ts';

/** Translates the requests and answers of one operation between the contract's words and those of a base path. */
export interface Wording {
  readonly basePath: string;
  /** Paths with the base path, in the contract's form. The contract's own spelling is served, too. */
  readonly paths: readonly string[];
  /** The schema of the answer in the vocabulary's words. */
  readonly response: Operation['response'];
  params(params: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
  query(query: Record<string, unknown>): Record<string, unknown>;
  body(body: unknown): unknown;
  answer(answer: unknown): unknown;
  /** Returns a request body of the contract in the vocabulary's words. */
  example(body: unknown): unknown;
  /** Returns a failure with the names and values of the vocabulary. */
  failure(error: unknown): unknown;
  /** Returns the translations of the data of those events of a stream that have words of the vocabulary. */
  events(): ReadonlyMap<string, Translation>;
}

const same: Translation = (value) => value;

/** The words of a base path for all operations. */
export class Wordings {
  readonly #vocabulary: Vocabulary;
  readonly #texts: Texts;
  readonly #operations: readonly Operation[];

  constructor(vocabulary: Vocabulary, operations: readonly Operation[]) {
    this.#vocabulary = vocabulary;
    this.#operations = operations;
    this.#texts = textsOf(vocabulary, operations);
  }

  get basePath(): string {
    return this.#vocabulary.basePath;
  }

  /** Returns the operations in the vocabulary's words, without the base path. */
  operations(): readonly Operation[] {
    return this.#operations.map((operation) => operationIn(operation, this.#vocabulary, this.#texts));
  }

  of(operation: Operation): Wording {
    const vocabulary = this.#vocabulary;
    const { basePath } = vocabulary;
    const { query, body, response, events = {}, method } = operation;
    // A translation is compiled when it is first needed, as most operations are never called.
    const lazy = (schema: object | null | undefined, direction: 'answer' | 'request' | 'edit'): Translation => {
      let translate: Translation | undefined;
      return schema === undefined || schema === null
        ? same
        : (value) => (translate ??= translationOf(schema, vocabulary, direction) ?? same)(value);
    };
    const ofQuery = lazy(query, 'request');
    const ofParams = parametersIn(operation.path, vocabulary);
    return {
      basePath,
      paths: [...new Set([pathIn(operation.path, vocabulary), operation.path])].map((path) => `${basePath}${path}`),
      response: response === null ? null : schemaIn(response, vocabulary, this.#texts),
      params: (params) => ofParams(params),
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a translated object is an object
      query: (value) => ofQuery(value) as Record<string, unknown>,
      body: lazy(body, method === 'PUT' ? 'edit' : 'request'),
      answer: lazy(response, 'answer'),
      example: lazy(body, 'answer'),
      failure: (error) => this.#failure(error),
      events: () =>
        new Map(
          Object.entries(events).flatMap(([name, schema]) => {
            const translate = translationOf(schema, vocabulary, 'answer');
            return translate === null ? [] : [[name, translate] as const];
          }),
        ),
    };
  }

  #failure(error: unknown): unknown {
    if (!isAppError(error)) return error;
    const { code, message, errors } = error;
    return new AppError({
      code,
      message: this.#texts.prose(message),
      errors: errors.map((one) => this.#detail(one)),
      cause: error,
    });
  }

  #detail({ path, message }: ErrorDetail): ErrorDetail {
    const names = new Map(this.#vocabulary.fields.map(({ client, contract }) => [contract, client]));
    const parts = path.split('.');
    const field = parts.findLast((part) => !/^\d+$/.test(part)) ?? '';
    const values = new Map((this.#vocabulary.values.get(field) ?? []).map(({ client, contract }) => [contract, client]));
    const translated = message.replaceAll(/[A-Z][A-Z0-9_]+/g, (word) => values.get(word) ?? word);
    return { path: parts.map((part) => names.get(part) ?? part).join('.'), message: this.#texts.prose(translated) };
  }
}

/** Returns the translation of path parameters: the second segments of pairs such as `azure/aks`. */
function parametersIn(
  path: string,
  { segments }: Vocabulary,
): (params: Readonly<Record<string, string>>) => Readonly<Record<string, string>> {
  const parts = path.split('/');
  const pairs = segments.flatMap(({ client, contract }) => {
    const [before, word] = contract.split('/');
    const name = /^\{(.*)\}$/.exec(parts[parts.indexOf(before ?? '') + 1] ?? '')?.[1];
    return word === undefined || name === undefined || !parts.includes(before ?? '')
      ? []
      : [{ name, word, client: client.split('/')[1] }];
  });
  if (pairs.length === 0) return (params) => params;
  return (params) => ({
    ...params,
    ...Object.fromEntries(pairs.filter(({ name, client }) => params[name] === client).map(({ name, word }) => [name, word])),
  });
}
