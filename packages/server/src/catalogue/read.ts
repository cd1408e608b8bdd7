import { readFile } from 'node:fs/promises';
import { AppError, type ErrorDetail } from '@davit/base';
import { Ajv } from 'ajv';
import { vendorWords, type Catalogue, type CatalogueVendor } from './catalogue.ts';
import { catalogueSchema } from './schema.ts';

const ownFile = new URL('../../data/cloud-catalogue.json', import.meta.url);
const mostFaults = 20;

/** Reads the catalogue of cloud vendors: of `file`, or Davit's own. Throws CATALOGUE_INVALID that names what is wrong. */
export async function readCatalogue(file: string | null): Promise<Catalogue> {
  const name = file ?? 'the catalogue of this version';
  let text: string;
  try {
    text = await readFile(file ?? ownFile, 'utf8');
  } catch (error) {
    throw invalid(name, [{ path: '', message: `cannot be read: ${error instanceof Error ? error.message : String(error)}` }]);
  }
  return parseCatalogue(text, name);
}

/** The same of its text. `name` is for the message. */
export function parseCatalogue(text: string, name: string): Catalogue {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(name, [{ path: '', message: `is not JSON: ${error instanceof Error ? error.message : String(error)}` }]);
  }
  const ajv = new Ajv({ allErrors: true, strict: false });
  const isCatalogue = ajv.compile<Catalogue>(catalogueSchema);
  if (!isCatalogue(value)) throw invalid(name, (isCatalogue.errors ?? []).map(toDetail));
  const faults = contradictions(value);
  if (faults.length > 0) throw invalid(name, faults);
  return value;
}

function toDetail(error: { instancePath: string; message?: string; params: Record<string, unknown> }): ErrorDetail {
  const unknown = error.params['additionalProperty'];
  const message = typeof unknown === 'string' ? `has the unknown property ${unknown}` : (error.message ?? 'is not valid');
  return { path: error.instancePath.slice(1).replaceAll('/', '.'), message };
}

/** What a schema cannot say: names that are there twice, places that do not exist. */
function contradictions(catalogue: Catalogue): ErrorDetail[] {
  const faults: ErrorDetail[] = [];
  const features = vendorWords.flatMap((word) => catalogue.vendors[word].features.map(({ id }) => id));
  for (const id of repeated(features)) faults.push({ path: 'vendors', message: `has the feature ${id} twice` });
  for (const word of vendorWords) faults.push(...contradictionsOf(catalogue.vendors[word], `vendors.${word}`));
  return faults;
}

function contradictionsOf(vendor: CatalogueVendor, path: string): ErrorDetail[] {
  const faults: ErrorDetail[] = [];
  const places = new Set(vendor.regions.flatMap(({ name, zones }) => [name, ...zones]));
  const types = vendor.instance_types.map(({ type }) => type);
  for (const name of repeated(vendor.regions.map((region) => region.name))) {
    faults.push({ path: `${path}.regions`, message: `has ${name} twice` });
  }
  for (const type of repeated(types)) faults.push({ path: `${path}.instance_types`, message: `has ${type} twice` });
  const placed = [
    ...vendor.instance_types.map((one) => ({ name: one.type, places: one.places })),
    ...vendor.managed_databases.flatMap(({ instance_types }) => instance_types),
  ];
  for (const { name, places: wanted = [] } of placed) {
    const unknown = wanted.filter((place) => !places.has(place));
    if (unknown.length > 0)
      faults.push({ path, message: `says that ${name} is offered in ${unknown.join(', ')}, which is no region or zone` });
  }
  return faults;
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

function invalid(name: string, errors: readonly ErrorDetail[]): AppError {
  const lines = errors.slice(0, mostFaults).map(({ path, message }) => `  ${path} ${message}`.trimEnd());
  const more = errors.length > mostFaults ? `\n  and ${errors.length - mostFaults} more` : '';
  return new AppError({
    code: 'CATALOGUE_INVALID',
    message: `The catalogue of cloud vendors (${name}) is wrong:\n${lines.join('\n')}${more}\nCorrect the file, or unset DAVIT_CATALOGUE.`,
    errors,
  });
}
