import { readFile } from 'node:fs/promises';
import { openApi, operationList } from '@davit/contract';
import { exampleOf } from '@davit/contract/examples';
import * as publicClient from 'qovery-typescript-axios';
import { expect, test } from 'vitest';
import { publicDescription, routeOf } from '@davit/testkit/public-description';
import { documentIn } from '../http/vocabulary-routes.ts';
import { Wordings } from '../http/wording.ts';
import { ownVocabularyFile, prefixOf } from './file.ts';
import { parseVocabulary, readVocabulary } from './read.ts';
import { pathIn } from './shape.ts';

const basePath = '/v/public';
const own = JSON.parse(await readFile(ownVocabularyFile, 'utf8'));

function parse(content: object, path = basePath): unknown {
  return parseVocabulary(JSON.stringify(content), 'a file', { basePath: path, operations: operationList });
}

test('the vocabulary of this version is valid', async () => {
  expect(await readVocabulary({ basePath, file: null }, operationList)).toEqual(parse(own));
  expect(prefixOf({ basePath, file: null })).toBe('QOVERY');
  expect(prefixOf({ basePath, file: '/nowhere.json' })).toBeNull();
});

test('a wrong file is refused with the place of each fault', () => {
  const values = (client: string, word: string, ...at: string[]): object => ({ values: { [client]: { word, at } } });
  const faults: readonly (readonly [object, string])[] = [
    [{ field: {} }, 'has the unknown property field'],
    [{ fields: { mine: 'vendora_key_of_nobody' } }, 'fields.mine vendora_key_of_nobody is no field of the contract'],
    [{ fields: { a: 'name', b: 'name' } }, 'fields.b name is also the word of a'],
    [{ fields: { url: 'name' } }, 'fields.url is a word of the contract itself'],
    [{ segments: { mars: 'pluto' } }, 'segments.mars pluto is no segment'],
    [values('GITHUB', 'HOSTX', 'provider'), 'values.GITHUB.word HOSTX is no value of the contract'],
    [values('GITHUB', 'HOSTA', 'name'), 'values.GITHUB.at no field name has the value HOSTA'],
    [values('HOSTB', 'HOSTA', 'provider'), "values.HOSTB is a value of the contract's field provider itself"],
    [
      { values: { A: { word: 'HOSTA', at: ['provider'] }, B: { word: 'HOSTA', at: ['provider'] } } },
      'values.B.word HOSTA of provider is also the word of A',
    ],
    [{ headers: { mine: 'x-other' } }, 'headers.mine x-other is none of'],
    [{ texts: { job_output_file: 'relative.json' } }, 'texts.job_output_file'],
    [{ texts: { built_in_prefix: 'lower_' } }, 'texts.built_in_prefix'],
  ];
  for (const [content, message] of faults) {
    expect(() => parse(content)).toThrow(expect.objectContaining({ code: 'CATALOGUE_INVALID' }));
    expect(() => parse(content)).toThrow(message);
  }
  expect(() => parse({}, '/organization/public')).toThrow('begins as other paths of the API: /organization');
});

test('no word of the contract that has another one is left in the document', async () => {
  const vocabulary = await readVocabulary({ basePath, file: null }, operationList);
  const document = JSON.stringify(documentIn(new Wordings(vocabulary, operationList), '0', exampleOf));
  expect(document.match(/.{0,30}(vendor[ab]|cloudc|host[abc](?![a-z])|huba).{0,30}/gi)).toBeNull();
  for (const { contract } of vocabulary.fields) expect(document).not.toContain(`"${contract}"`);
  // A word that stands alone elsewhere in the contract, such as SERVICE, stays there.
  const elsewhere = new Set(['SERVICE']);
  for (const { contract } of [...vocabulary.values.values()].flat().filter((pair) => !elsewhere.has(pair.contract)))
    expect(document).not.toContain(`"${contract}"`);
});

test('the document in other words has the same operations, and all references have a target', async () => {
  const vocabulary = await readVocabulary({ basePath, file: null }, operationList);
  const document = openApi(new Wordings(vocabulary, operationList).operations(), '0');
  expect(Object.keys(document['paths'] ?? {})).toHaveLength(new Set(operationList.map(({ path }) => path)).size);
  const text = JSON.stringify(document);
  const names = new Set([...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name));
  expect(document).toMatchObject({
    components: { schemas: Object.fromEntries([...names].map((name) => [name, expect.anything()])) },
  });
});

test('a method of the public client reaches each operation of the public description that Davit has', async () => {
  const vocabulary = await readVocabulary({ basePath, file: null }, operationList);
  const form = (method: string, path: string): string => `${method} ${path.replaceAll(/\{[^}]*\}/g, '{}')}`;
  const sent = new Set(await requestsOfClient());
  const described = new Set(publicDescription.operations.map((one) => routeOf(one)));
  const unreached = operationList
    .filter((operation) => described.has(routeOf(operation)))
    .map(({ method, path }) => form(method, pathIn(path, vocabulary)))
    .filter((request) => !sent.has(request) && !sent.has(request.replace('/azure/{}/', '/azure/aks/')));
  expect(unreached).toEqual([]);
});

/** Returns method and path of each request that the client can make. */
async function requestsOfClient(): Promise<string[]> {
  const requests: string[] = [];
  const argument = '5e0d3f0a-6c1b-4a57-9a53-0f3f7c6a1001';
  for (const [name, make] of Object.entries(publicClient)) {
    if (!name.endsWith('AxiosParamCreator') || typeof make !== 'function') continue;
    const methods: Readonly<Record<string, (...values: string[]) => Promise<ClientRequest>>> = Reflect.apply(make, undefined, [
      new publicClient.Configuration({ basePath: 'https://api.example.org' }),
    ]);
    for (const method of Object.values(methods)) {
      // No method has more parameters.
      const { url, options } = await method(...Array.from({ length: 20 }, () => argument));
      const { pathname } = new URL(url, 'https://api.example.org');
      requests.push(`${options.method ?? ''} ${pathname.replaceAll(argument, '{}')}`);
    }
  }
  return requests;
}

interface ClientRequest {
  readonly url: string;
  readonly options: { readonly method?: string };
}
