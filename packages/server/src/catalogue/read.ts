import type { ErrorDetail } from '@davit/base';
import { vendorWords, type Catalogue, type CatalogueVendor } from './catalogue.ts';
import { parseDocument, readDocument, type DocumentKind } from './document.ts';
import { catalogueSchema } from './schema.ts';

const kind: DocumentKind<Catalogue> = {
  what: 'catalogue of cloud vendors',
  variable: 'DAVIT_CATALOGUE',
  ownFile: new URL('../../data/cloud-catalogue.json', import.meta.url),
  schema: catalogueSchema,
  formerNames: Object.fromEntries([['places', 'locations']]),
  contradictions,
};

/** Reads the catalogue of cloud vendors from `file`, or Davit's own. Throws CATALOGUE_INVALID with the faults. */
export function readCatalogue(file: string | null): Promise<Catalogue> {
  return readDocument(kind, file);
}

/** Parses the catalogue from its text. `name` appears in error messages. */
export function parseCatalogue(text: string, name: string): Catalogue {
  return parseDocument(kind, text, name);
}

/** Returns the faults that a schema cannot express: duplicate names, and locations that do not exist. */
function contradictions(catalogue: Catalogue): ErrorDetail[] {
  const faults: ErrorDetail[] = [];
  const features = vendorWords.flatMap((word) => catalogue.vendors[word].features.map(({ id }) => id));
  for (const id of repeated(features)) faults.push({ path: 'vendors', message: `has the feature ${id} twice` });
  for (const word of vendorWords) faults.push(...contradictionsOf(catalogue.vendors[word], `vendors.${word}`));
  return faults;
}

function contradictionsOf(vendor: CatalogueVendor, path: string): ErrorDetail[] {
  const faults: ErrorDetail[] = [];
  const locations = new Set(vendor.regions.flatMap(({ name, zones }) => [name, ...zones]));
  const types = vendor.instance_types.map(({ type }) => type);
  for (const name of repeated(vendor.regions.map((region) => region.name))) {
    faults.push({ path: `${path}.regions`, message: `has ${name} twice` });
  }
  for (const type of repeated(types)) faults.push({ path: `${path}.instance_types`, message: `has ${type} twice` });
  const placed = [
    ...vendor.instance_types.map((one) => ({ name: one.type, locations: one.locations })),
    ...vendor.managed_databases.flatMap(({ instance_types }) => instance_types),
  ];
  for (const { name, locations: wanted = [] } of placed) {
    const unknown = wanted.filter((location) => !locations.has(location));
    if (unknown.length > 0)
      faults.push({ path, message: `says that ${name} is offered in ${unknown.join(', ')}, which is not a region or zone` });
  }
  return faults;
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}
