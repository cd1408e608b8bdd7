import { readFileSync } from 'node:fs';
import path from 'node:path';

/** An operation of the public description: its names, and where its schemas are. */
export interface PublicOperation {
  /** A: every client of the contract expects it; B: useful beside it. */
  readonly class: 'A' | 'B';
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly resource: string;
  readonly query?: readonly { readonly name: string; readonly required: boolean; readonly schema: PublicSchema }[];
  readonly request?: PublicSchema;
  /** Schema by status; null: no body. */
  readonly responses: Readonly<Record<string, PublicSchema | null>>;
}

/** JSON Schema, as far as the public description needs it. `$ref`s are `#/schemas/<name>` of the whole document. */
export interface PublicSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  /** Media type of an answer that is text. */
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

/** Codes of success that clients in use want in place of the described one: they take any other for a failure. */
const otherCodes: Readonly<Record<string, { readonly described: string; readonly wanted: string }>> = {
  deployCluster: { described: '201', wanted: '200' },
};

/** The public description that clients of this API are made from: what they send and what they expect. */
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

/** The same for an operation of the contract and of the public description that are one: names of parameters do not count. */
export function routeOf({ method, path: pattern }: { readonly method: string; readonly path: string }): string {
  return `${method} ${pattern.replaceAll(/\{[^}]+\}|<[^>]+>/g, '{}')}`;
}

/** The schema that a reference leads to; itself where it is none. */
export function resolved(schema: PublicSchema): PublicSchema {
  if (schema.$ref === undefined) return schema;
  const found = publicDescription.schemas[schema.$ref.replace('#/schemas/', '')];
  if (found === undefined) throw new Error(`the public description has no ${schema.$ref}`);
  return resolved(found);
}

/** The operations that are not served, a line each, in the order of the description. */
export function missingOperations(served: readonly { readonly method: string; readonly path: string }[]): string[] {
  const routes = new Set(served.map(routeOf));
  return publicDescription.operations
    .filter((one) => !routes.has(routeOf(one)))
    .map((one) => `${one.class} ${one.name} ${one.method} ${one.path}`);
}
