import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';

interface Schemas {
  readonly version: string;
  readonly roots: Readonly<Record<string, string>>;
  readonly components: object;
}

const file = new URL('generated/kubernetes-1.36.schemas.json', import.meta.url);
const schemas: Schemas = JSON.parse(readFileSync(file, 'utf8'));
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
ajv.addSchema({ $id: 'kubernetes', components: schemas.components });

/**
 * Returns the errors that the OpenAPI schema of Kubernetes finds in an object, unknown fields included. Empty if there
 * are none.
 */
export function faultsOf(object: { readonly apiVersion?: string; readonly kind?: string }): string[] {
  const root = schemas.roots[object.kind ?? ''];
  if (root === undefined) return [`no schema of kind ${object.kind}`];
  const validate = ajv.getSchema(`kubernetes${root}`);
  if (validate === undefined) return [`no schema at ${root}`];
  // The object is checked as it is sent: without undefined fields.
  if (validate(JSON.parse(JSON.stringify(object))) === true) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}
