import type { ReferenceRow } from '@davit/contract';
import { expect, test } from 'vitest';
import { excerpt, makeIndex } from './search.ts';

const rows: readonly ReferenceRow[] = [
  [
    'operation',
    'Deploy an application',
    'Application',
    '/deploy',
    'deployApplication POST /application/{id}/deploy Builds and starts.',
  ],
  ['operation', 'List applications', 'Application', '/list', 'Those that were never deployed are there, too.'],
  ['field', 'release_id', 'ApplicationDeployRequest', '/field', 'Deploys an earlier release again.'],
  ['error', 'RELEASE_NOT_USABLE', 'Deploy an application', '/own', 'The image is gone.'],
  ['error', 'RELEASE_NOT_USABLE', '', '/error', 'The release cannot be run again: it has no image.'],
];
const found = (text: string) =>
  makeIndex(rows)
    .find(text)
    .map(([, , , address]) => address);

test('a search finds words in names, ids, descriptions, fields and errors, whatever their case', () => {
  expect(found('DEPLOY application')[0]).toBe('/deploy');
  expect(found('deployapplication')).toEqual(['/deploy']);
  expect(found('never')).toEqual(['/list']);
  expect(found('release_id')).toEqual(['/field']);
  expect(found('earlier release')).toEqual(['/field']);
});

test('an error comes before the places where it occurs', () => {
  expect(found('RELEASE_NOT_USABLE')).toEqual(['/error', '/own']);
  expect(found('release not usable')).toEqual(['/error', '/own']);
});

test('nothing is found by no word, and by a word that is nowhere', () => {
  expect(found('  ')).toEqual([]);
  expect(found('deploy nowhere')).toEqual([]);
});

test('an excerpt has the word that was found', () => {
  const long = `${'One sentence. '.repeat(20)}The \`needle\` is here.`;
  expect(excerpt(long, 'needle')).toMatch(/^…One sentence.*The needle is here\.$/);
  expect(excerpt('The `image` is gone.', 'image')).toBe('The image is gone.');
});
