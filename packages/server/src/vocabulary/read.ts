import type { ErrorDetail } from '@davit/base';
import type { Operation } from '@davit/contract';
import type { VocabularyConfiguration } from '../configuration.ts';
import { parseDocument, readDocument, type DocumentKind } from '../catalogue/document.ts';
import { ownVocabularyFile, type Values, type VocabularyFile, type Words } from './file.ts';
import { enumerationsOf, fieldNamesOf } from './enumerations.ts';
import type { Pair, ValuePairs, Vocabulary } from './vocabulary.ts';

/**
 * Reads the vocabulary of a base path from a file, or Davit's own. Throws CATALOGUE_INVALID with the wrong
 * places: words that are no words of the contract, or that are not unique.
 */
export async function readVocabulary(
  { basePath, file }: VocabularyConfiguration,
  operations: readonly Operation[],
): Promise<Vocabulary> {
  return toVocabulary(basePath, await readDocument(kindOf(basePath, operations), file));
}

/** Parses the text of a vocabulary's file. `name` appears in error messages. */
export function parseVocabulary(text: string, name: string, { basePath, operations }: VocabularyUse): Vocabulary {
  return toVocabulary(basePath, parseDocument(kindOf(basePath, operations), text, name));
}

export interface VocabularyUse {
  readonly basePath: string;
  readonly operations: readonly Operation[];
}

function kindOf(basePath: string, operations: readonly Operation[]): DocumentKind<VocabularyFile> {
  return {
    what: `vocabulary of ${basePath}`,
    variable: 'DAVIT_VOCABULARY',
    ownFile: ownVocabularyFile,
    schema,
    contradictions: (file) => [...takenPath(basePath, operations), ...faultsOf(file, operations)],
  };
}

const words = (pattern: string) => ({
  type: 'object',
  propertyNames: { minLength: 1 },
  additionalProperties: { type: 'string', pattern },
});
const values = {
  type: 'object',
  propertyNames: { minLength: 1 },
  additionalProperties: {
    type: 'object',
    properties: {
      word: { type: 'string', minLength: 1 },
      at: { type: 'array', minItems: 1, items: { type: 'string', minLength: 1 } },
    },
    required: ['word', 'at'],
    additionalProperties: false,
  },
};

const schema = {
  type: 'object',
  properties: {
    about: { type: 'string' },
    segments: words('^[\\w.-]+(/[\\w.-]+)?$'),
    fields: words('^[\\w.-]+$'),
    values,
    answers: values,
    names: words('^[A-Za-z0-9]+$'),
    headers: words('^[a-z0-9-]+$'),
    texts: {
      type: 'object',
      properties: {
        built_in_prefix: { type: 'string', pattern: '^[A-Z][A-Z0-9]{0,30}_$' },
        chart_reference: { type: 'string', pattern: '^[A-Za-z][\\w.]*\\w$' },
        job_output_file: { type: 'string', pattern: '^/[\\w.-]+/[\\w.-]+$' },
      },
      additionalProperties: false,
    },
  },
  additionalProperties: false,
};

/** Headers of webhooks that a vocabulary may rename. */
export const webhookHeaders = ['service-delivery', 'service-signature', 'service-signature-256'] as const;

/** Paths of pages beside the contract's operations. */
const pagePaths = [
  'cli',
  'console',
  'docs',
  'examples',
  'git',
  'git-webhook',
  'healthz',
  'internal',
  'metrics',
  'openapi.json',
  'readyz',
];

function takenPath(basePath: string, operations: readonly Operation[]): ErrorDetail[] {
  const first = basePath.split('/')[1] ?? '';
  const taken = new Set([...operations.map(({ path }) => path.split('/')[1]), ...pagePaths]);
  return taken.has(first)
    ? [{ path: basePath, message: `begins as other paths of the API: /${first}. Use one such as /v/public` }]
    : [];
}

function faultsOf(file: VocabularyFile, operations: readonly Operation[]): ErrorDetail[] {
  const fields = fieldNamesOf(operations);
  const enumerations = enumerationsOf(operations);
  const segments = new Set(operations.flatMap(({ path }) => path.split('/')).filter((one) => one !== ''));
  return [
    ...wrongPairs('fields', file.fields, (word) => (fields.has(word) ? null : 'is no field of the contract')),
    ...takenNames('fields', file.fields, fields),
    ...wrongPairs('segments', file.segments, (word) =>
      segments.has(word.split('/')[0] ?? '') ? null : 'is no segment of a path of the contract',
    ),
    ...takenNames('segments', file.segments, segments),
    ...wrongPairs('headers', file.headers, (word) =>
      webhookHeaders.some((header) => header === word) ? null : `is none of ${webhookHeaders.join(', ')}`,
    ),
    ...wrongPairs('names', file.names, () => null),
    ...wrongValues('values', file.values, enumerations),
    ...wrongValues('answers', file.answers, enumerations),
    ...ambiguousValues(file.values ?? {}, enumerations),
  ];
}

function wrongPairs(section: string, pairs: Words = {}, faultOf: (word: string) => string | null): ErrorDetail[] {
  const seen = new Map<string, string>();
  return Object.entries(pairs).flatMap(([client, word]) => {
    const other = seen.get(word);
    seen.set(word, client);
    const fault = other === undefined ? faultOf(word) : `is also the word of ${other}; each word may stand once`;
    return fault === null ? [] : [{ path: `${section}.${client}`, message: `${word} ${fault}` }];
  });
}

/** A client's word that the contract has, too, would have two meanings in requests. */
function takenNames(section: string, pairs: Words = {}, taken: ReadonlySet<string>): ErrorDetail[] {
  return Object.keys(pairs)
    .filter((client) => taken.has(client))
    .map((client) => ({ path: `${section}.${client}`, message: 'is a word of the contract itself' }));
}

type Enumerations = ReadonlyMap<string, ReadonlySet<string>>;

function wrongValues(section: string, all: Values = {}, enumerations: Enumerations): ErrorDetail[] {
  return Object.entries(all).flatMap(([client, { word, at }]) => {
    const known = enumerations.get(word);
    if (known === undefined) return [{ path: `${section}.${client}.word`, message: `${word} is no value of the contract` }];
    return at
      .filter((field) => !known.has(field))
      .map((field) => ({ path: `${section}.${client}.at`, message: `no field ${field} has the value ${word}` }));
  });
}

function ambiguousValues(all: Values, enumerations: Enumerations): ErrorDetail[] {
  const seen = new Map<string, string>();
  return Object.entries(all).flatMap(([client, { word, at }]) =>
    at.flatMap((field) => {
      const name = `${word} of ${field}`;
      const other = seen.get(name);
      seen.set(name, client);
      if (other !== undefined) return [{ path: `values.${client}.word`, message: `${name} is also the word of ${other}` }];
      const isTaken = enumerations.get(client)?.has(field) === true;
      return isTaken ? [{ path: `values.${client}`, message: `is a value of the contract's field ${field} itself` }] : [];
    }),
  );
}

function toVocabulary(basePath: string, file: VocabularyFile): Vocabulary {
  const { built_in_prefix, chart_reference, job_output_file } = file.texts ?? {};
  return {
    basePath,
    segments: pairsOf(file.segments),
    fields: pairsOf(file.fields),
    values: byField(file.values),
    answers: byField(file.answers),
    names: pairsOf(file.names),
    headers: pairsOf(file.headers),
    texts: {
      builtInPrefix: built_in_prefix ?? null,
      chartReference: chart_reference ?? null,
      jobOutputFile: job_output_file ?? null,
    },
  };
}

function pairsOf(pairs: Words = {}): readonly Pair[] {
  return Object.entries(pairs).map(([client, contract]) => ({ client, contract }));
}

function byField(all: Values = {}): ReadonlyMap<string, ValuePairs> {
  const fields = new Map<string, Pair[]>();
  for (const [client, { word, at }] of Object.entries(all)) {
    for (const field of at) {
      const pairs = fields.get(field) ?? [];
      fields.set(field, pairs);
      pairs.push({ client, contract: word });
    }
  }
  return fields;
}
