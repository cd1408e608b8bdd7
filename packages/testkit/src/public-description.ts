import { readFileSync } from 'node:fs';
import path from 'node:path';

/** An operation of the public description, with its names and schemas. */
export interface PublicOperation {
  /** A: every client of the contract expects the operation. B: the operation is useful in addition. */
  readonly class: 'A' | 'B';
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly resource: string;
  readonly query?: readonly { readonly name: string; readonly required: boolean; readonly schema: PublicSchema }[];
  readonly request?: PublicSchema;
  /** Schema by HTTP status; null if the response has no body. */
  readonly responses: Readonly<Record<string, PublicSchema | null>>;
}

/**
 * The part of JSON Schema that the public description needs. A `$ref` has the form `#/schemas/<name>` and refers to the
 * whole document.
 */
export interface PublicSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  /** Media type of a text response. */
  readonly content?: string;
  readonly enum?: readonly (string | null)[];
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly pattern?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, PublicSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: PublicSchema;
  readonly items?: PublicSchema;
  readonly anyOf?: readonly PublicSchema[];
}

export interface PublicDescription {
  readonly about: string;
  readonly schemas: Readonly<Record<string, PublicSchema>>;
  readonly operations: readonly PublicOperation[];
}

const file = path.join(import.meta.dirname, '../../contract/public/operations.json');

/**
 * Success statuses that existing clients expect in place of the described status: these clients treat any other status
 * as a failure.
 */
const otherCodes: Readonly<Record<string, { readonly described: string; readonly wanted: string }>> = {
  deployCluster: { described: '201', wanted: '200' },
};

/** The public description from which clients of this API are generated: their requests and the expected responses. */
export const publicDescription: PublicDescription = readDescription();

function readDescription(): PublicDescription {
  const description: PublicDescription = JSON.parse(readFileSync(file, 'utf8'));
  const operations = description.operations.map((operation) => {
    const { described, wanted } = otherCodes[operation.name] ?? {};
    if (described === undefined || wanted === undefined) return operation;
    const { [described]: answer = null, ...others } = operation.responses;
    return { ...operation, responses: { ...others, [wanted]: answer } };
  });
  return { ...description, operations };
}

/**
 * Returns a key that is equal for the contract's and the public description's form of an operation: names of parameters
 * are ignored.
 */
export function routeOf({ method, path: pattern }: { readonly method: string; readonly path: string }): string {
  return `${method} ${pattern.replaceAll(/\{[^}]+\}|<[^>]+>/g, '{}')}`;
}

/** Returns the schema that a reference points to, or the schema itself if it is not a reference. */
export function resolved(schema: PublicSchema): PublicSchema {
  if (schema.$ref === undefined) return schema;
  const found = publicDescription.schemas[schema.$ref.replace('#/schemas/', '')];
  if (found === undefined) throw new Error(`the public description has no ${schema.$ref}`);
  return resolved(found);
}

/** Returns the operations that are not served, one line each, in the order of the description. */
export function missingOperations(served: readonly { readonly method: string; readonly path: string }[]): string[] {
  const routes = new Set(served.map(routeOf));
  return publicDescription.operations
    .filter((one) => !routes.has(routeOf(one)))
    .map((one) => `${one.class} ${one.name} ${one.method} ${one.path}`);
}
