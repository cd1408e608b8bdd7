import { loadAll } from 'js-yaml';
import type { ChartObject } from '../helm-driver.ts';

export type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {};
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * Returns the objects of a manifest as written, including those inside lists. Throws if the manifest is not YAML. Pure.
 */
export function fieldsOfObjects(manifest: string): Fields[] {
  return loadAll(manifest).flatMap((document) => objectsIn(fieldsOf(document)));
}

/** Returns the objects of a manifest, reduced to the fields needed. Throws if the manifest is not YAML. Pure. */
export function objectsOf(manifest: string): ChartObject[] {
  return fieldsOfObjects(manifest).map(toObject);
}

function objectsIn(object: Fields): Fields[] {
  const kind = textOf(object['kind']);
  if (kind === '') return [];
  if (kind.endsWith('List') && Array.isArray(object['items']))
    return object['items'].flatMap((item) => objectsIn(fieldsOf(item)));
  return [object];
}

function toObject(object: Fields): ChartObject {
  const kind = textOf(object['kind']);
  const [metadata, spec] = [fieldsOf(object['metadata']), fieldsOf(object['spec'])];
  return {
    apiVersion: textOf(object['apiVersion']),
    kind,
    name: textOf(metadata['name']),
    namespace: textOf(metadata['namespace']) || null,
    saysScale: kind === 'CronJob' ? typeof spec['suspend'] === 'boolean' : typeof spec['replicas'] === 'number',
  };
}
