import { expect, test } from 'vitest';
import { translationOf } from './translation.ts';
import type { Direction, Vocabulary } from './vocabulary.ts';

const vocabulary: Vocabulary = {
  basePath: '/v/public',
  segments: [],
  fields: [{ client: 'scaleway_key', contract: 'vendora_key' }],
  values: new Map([
    [
      'provider',
      [
        { client: 'GITHUB', contract: 'HOSTA' },
        { client: 'GITLAB', contract: 'HOSTB' },
      ],
    ],
  ]),
  answers: new Map([['provider', [{ client: 'GITLAB', contract: 'GENERIC' }]]]),
  names: [],
  headers: [],
  texts: { builtInPrefix: null, chartReference: null, jobOutputFile: null },
};
const provider = { type: 'string', enum: ['HOSTA', 'HOSTB', 'GENERIC'] };
const repository = { type: 'object', properties: { url: { type: 'string' }, provider }, required: ['url'] };
const text = { type: 'string' };

function translated(schema: object, direction: Direction, value: unknown): unknown {
  const translate = translationOf(schema, vocabulary, direction);
  if (translate === null) throw new Error('the schema has none of the words');
  const before = structuredClone(value);
  const result = translate(value);
  expect(value).toEqual(before);
  return result;
}

test('answers have the words of clients, at declared places only', () => {
  const schema = {
    type: 'object',
    properties: { name: text, vendora_key: text, git_repository: repository, value: text, provider: text },
  };
  const answer = {
    name: 'HOSTA',
    vendora_key: 'HOSTB',
    git_repository: { url: 'HOSTA', provider: 'HOSTA' },
    value: 'HOSTA',
    // The schema does not limit this field to the words of an enumeration.
    provider: 'HOSTA',
  };
  expect(translated(schema, 'answer', answer)).toEqual({
    name: 'HOSTA',
    scaleway_key: 'HOSTB',
    git_repository: { url: 'HOSTA', provider: 'GITHUB' },
    value: 'HOSTA',
    provider: 'HOSTA',
  });
});

test('words are found in lists, unions and tables', () => {
  const union = { anyOf: [{ type: 'object', properties: { git_repository: repository } }, { type: 'null' }] };
  const table = { type: 'object', additionalProperties: repository };
  const schema = { type: 'object', properties: { results: { type: 'array', items: union }, table } };
  const answer = {
    results: [{ git_repository: { url: 'u', provider: 'HOSTB' } }, null],
    table: { a: { url: 'u', provider: 'HOSTA' } },
  };
  expect(translated(schema, 'answer', answer)).toEqual({
    results: [{ git_repository: { url: 'u', provider: 'GITLAB' } }, null],
    table: { a: { url: 'u', provider: 'GITHUB' } },
  });
});

test('an answer without words of the vocabulary stays the same object', () => {
  const answer = { git_repository: { url: 'u', provider: 'OTHER' } };
  expect(translated({ properties: { git_repository: repository } }, 'answer', answer)).toBe(answer);
});

test('a schema without words of the vocabulary needs no translation', () => {
  expect(translationOf({ type: 'object', properties: { name: text, kind: provider } }, vocabulary, 'answer')).toBeNull();
});

test('requests may have the words of clients and those of the contract', () => {
  const schema = { type: 'object', properties: { vendora_key: text, provider } };
  expect(translated(schema, 'request', { scaleway_key: 'k', provider: 'GITHUB' })).toEqual({
    vendora_key: 'k',
    provider: 'HOSTA',
  });
  expect(translated(schema, 'request', { vendora_key: 'k', provider: 'HOSTA' })).toEqual({ vendora_key: 'k', provider: 'HOSTA' });
  expect(translated(schema, 'request', 'no object')).toBe('no object');
});

test('a request with both names of one field is refused', () => {
  const schema = { type: 'object', properties: { vendora_key: text } };
  expect(() => translated(schema, 'request', { scaleway_key: 'k', vendora_key: 'k' })).toThrow(
    expect.objectContaining({ code: 'VALIDATION_FAILED', errors: [expect.objectContaining({ path: 'scaleway_key' })] }),
  );
});

test('a word that only answers have keeps its meaning when it comes back', () => {
  expect(translated(repository, 'answer', { url: 'u', provider: 'GENERIC' })).toEqual({ url: 'u', provider: 'GITLAB' });
  // The edit leaves the field out, and the stored value stays.
  expect(translated(repository, 'edit', { url: 'u', provider: 'GITLAB' })).toEqual({ url: 'u' });
  expect(translated(repository, 'edit', { url: 'u', provider: 'HOSTB' })).toEqual({ url: 'u', provider: 'HOSTB' });
  expect(translated(repository, 'request', { url: 'u', provider: 'GITLAB' })).toEqual({ url: 'u', provider: 'HOSTB' });
  const required = { ...repository, required: ['provider'] };
  expect(translated(required, 'edit', { url: 'u', provider: 'GITLAB' })).toEqual({ url: 'u', provider: 'HOSTB' });
});

test('names of objects that every object inherits are no fields', () => {
  const schema = { type: 'object', properties: { vendora_key: text, constructor: provider } };
  expect(translated(schema, 'request', { scaleway_key: 'k' })).toEqual({ vendora_key: 'k' });
});
