import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { compareVersions, parseDatabaseCatalogue, readDatabaseCatalogue, seriesOf, versionsOf } from './databases.ts';

const text = await readFile(new URL('../../data/databases.json', import.meta.url), 'utf8');
const catalogue = parseDatabaseCatalogue(text, 'ours');

describe('the catalogue of databases', () => {
  test('has the versions that the public description names', () => {
    expect(versionsOf(catalogue, 'POSTGRESQL')).toEqual(['10', '11', '12', '13', '14', '15', '16', '17']);
    expect(versionsOf(catalogue, 'MYSQL').map((name) => name.split('.')[0])).toEqual(['5', '8', '8']);
    expect(versionsOf(catalogue, 'MONGODB').map((name) => name.split('.')[0])).toEqual(['4', '5', '6', '7', '8']);
    expect(versionsOf(catalogue, 'REDIS')).toEqual(['5', '6', '7']);
  });

  test.each([
    ['POSTGRESQL', '16', '16'],
    ['POSTGRESQL', '16.4', '16'],
    ['POSTGRESQL', '1', undefined],
    ['MYSQL', '8', '8.4'],
    ['MYSQL', '8.0.36', '8.0'],
    ['MYSQL', '8.1', undefined],
    ['MONGODB', '4', '4.4'],
  ] as const)('a %s of version %s is one of %s', (type, version, series) => {
    expect(seriesOf(catalogue, type, version)).toBe(series);
  });

  test('orders versions by their numbers, the open ones last', () => {
    expect(['16', '9.6', '16.10', '16.9', '17'].toSorted(compareVersions)).toEqual(['9.6', '16.9', '16.10', '16', '17']);
  });

  test('is refused with the places that are wrong', async () => {
    const wrong = JSON.parse(text);
    wrong.types.REDIS.versions.latest = {};
    const ours = expect.objectContaining({
      code: 'CATALOGUE_INVALID',
      message: expect.stringContaining('DAVIT_DATABASE_CATALOGUE'),
    });
    expect(() => parseDatabaseCatalogue(JSON.stringify(wrong), 'a file')).toThrow(ours);
    wrong.types.REDIS = { ...catalogue.types.REDIS, pasword: 'x' };
    expect(() => parseDatabaseCatalogue(JSON.stringify(wrong), 'a file')).toThrow('types.REDIS has the unknown property pasword');
    expect(() => parseDatabaseCatalogue('{', 'a file')).toThrow('is not JSON');
    await expect(readDatabaseCatalogue('/nowhere')).rejects.toThrow('cannot be read');
  });
});
