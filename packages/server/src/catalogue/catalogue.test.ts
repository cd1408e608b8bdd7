import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { isOffered } from './catalogue.ts';
import { parseCatalogue, readCatalogue } from './read.ts';

const own = JSON.parse(await readFile(new URL('../../data/cloud-catalogue.json', import.meta.url), 'utf8'));

function changed(change: (catalogue: typeof own) => void): string {
  const copy = structuredClone(own);
  change(copy);
  return JSON.stringify(copy);
}

test('the catalogue of this version is valid and has types for every vendor', async () => {
  const { vendors } = parseCatalogue(JSON.stringify(own), 'this version');
  expect(await readCatalogue(null)).toEqual(own);
  for (const vendor of Object.values(vendors)) {
    expect(vendor.regions.length).toBeGreaterThan(0);
    for (const { name } of vendor.regions) {
      expect(vendor.instance_types.some(({ locations }) => isOffered(vendor, locations, name))).toBe(true);
    }
  }
});

test('a file of the operator takes its place', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'davit-catalogue-'));
  try {
    const file = path.join(folder, 'catalogue.json');
    await writeFile(
      file,
      changed((catalogue) => (catalogue.version = 'mine')),
    );
    expect(await readCatalogue(file)).toMatchObject({ version: 'mine' });
    await expect(readCatalogue(path.join(folder, 'none.json'))).rejects.toMatchObject({
      code: 'CATALOGUE_INVALID',
      message: expect.stringContaining('none.json'),
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a file of an earlier version, which says places for locations, is read', () => {
  const text = JSON.stringify(own).replaceAll('"locations"', '"places"');
  expect(text).toContain('"places"');
  expect(parseCatalogue(text, 'a file')).toEqual(own);
  const wrong = changed(({ vendors }) => (vendors.AWS.instance_types[0].places = ['mars']));
  expect(() => parseCatalogue(wrong, 'a file')).toThrow('is offered in mars');
  const both = changed(({ vendors }) => (vendors.VENDORA.instance_types[0].places = ['fr-par']));
  expect(() => parseCatalogue(both, 'a file')).toThrow('has the unknown property places');
});

test('what is wrong is told with its place', () => {
  const faults: readonly (readonly [string, string])[] = [
    ['{', 'is not JSON'],
    [changed((catalogue) => delete catalogue.vendors.AWS), "must have required property 'AWS'"],
    [changed((catalogue) => (catalogue.vendors.AWS.regoins = [])), 'vendors.AWS has the unknown property regoins'],
    [changed((catalogue) => (catalogue.vendors.CLOUDC.instance_types[0].cpu = 0)), 'vendors.CLOUDC.instance_types.0.cpu'],
    [changed((catalogue) => (catalogue.vendors.VENDORA.instance_types[0].locations = ['mars'])), 'is offered in mars'],
    [changed(({ vendors }) => vendors.AWS.regions.push(vendors.AWS.regions[0])), 'has us-east-1 twice'],
    [changed(({ vendors }) => (vendors.CLOUDC.features[0].id = vendors.AWS.features[0].id)), 'twice'],
  ];
  for (const [text, message] of faults) {
    expect(() => parseCatalogue(text, 'a file')).toThrow(expect.objectContaining({ code: 'CATALOGUE_INVALID' }));
    expect(() => parseCatalogue(text, 'a file')).toThrow(message);
  }
});

test('a region offers what one of its zones does; a zone only its own', async () => {
  const { vendors } = await readCatalogue(null);
  const locations = ['fr-par-2'];
  expect(isOffered(vendors.VENDORA, locations, 'fr-par')).toBe(true);
  expect(isOffered(vendors.VENDORA, locations, 'fr-par-2')).toBe(true);
  expect(isOffered(vendors.VENDORA, locations, 'fr-par-1')).toBe(false);
  expect(isOffered(vendors.VENDORA, locations, 'nl-ams')).toBe(false);
});
