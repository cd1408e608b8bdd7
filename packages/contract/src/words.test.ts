import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { exampleOf } from './examples.ts';
import { openApi } from './openapi.ts';
import { operationList } from './operations.ts';
import { missingWords } from './testing/missing-words.ts';

test('every operation, parameter, property and value says what it is', async () => {
  const missing = await missingWords();
  expect(missing.map(({ file, place, lacks }) => `${file}: ${place} lacks ${lacks}`)).toEqual([]);
});

test('the file of each shape and operation is known', async () => {
  expect((await missingWords()).filter(({ file }) => file === '?').map(({ place }) => place)).toEqual([]);
});

test('an object of more than two properties has a name', () => {
  const { paths, components } = openApi(operationList, '0');
  const inner = Object.values(objectOf(objectOf(components)['schemas'])).flatMap((shape) =>
    largeObjects(Object.values(objectOf(shape))),
  );
  expect([...inner, ...largeObjects(paths)]).toEqual([]);
});

/** Returns the property names of each object of more than two properties in the value. */
function largeObjects(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = Array.isArray(value) ? [] : Object.keys(objectOf(objectOf(value)['properties']));
  return [...(own.length > 2 ? [own.join(' ')] : []), ...Object.values(value).flatMap(largeObjects)];
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

test('the document is at most 1 MB, and at most 100 KB compressed', () => {
  const document = JSON.stringify(openApi(operationList, '0', { requestOf: (id) => exampleOf(id)?.request }));
  expect(document.length).toBeLessThan(1_000_000);
  expect(gzipSync(document).length).toBeLessThan(100_000);
});

test('the document has the requests of the examples, and refers to no other file', () => {
  const text = JSON.stringify(openApi(operationList, '0', { requestOf: (id) => exampleOf(id)?.request }));
  const withBody = operationList.filter(({ body }) => body !== undefined).length;
  expect([...text.matchAll(/"example":/g)].length).toBeGreaterThan(0.9 * withBody);
  expect(text).not.toContain('externalValue');
  expect([...text.matchAll(/"\$ref":"([^#"][^"]*)"/g)]).toEqual([]);
});
