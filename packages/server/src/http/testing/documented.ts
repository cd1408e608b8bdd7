import { readFileSync } from 'node:fs';
import path from 'node:path';
import { openApi, operationList } from '@davit/contract';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { readVocabulary } from '../../vocabulary/read.ts';
import { Wordings } from '../wording.ts';
import type { Schema } from './arbitrary.ts';

/* What the OpenAPI documents allow: their routes, and the faults of a response against them. */

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: Schema;
}
export type Content = Readonly<Record<string, { readonly schema: Schema }>>;
interface DocumentedOperation {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
}

/** A request as it is sent; printed unchanged if it shows a fault. */
export interface FuzzRequest {
  readonly operation: string;
  readonly base: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Route {
  /** The id of the contract's operation. */
  readonly id: string;
  /** Base path of the document that describes the route; empty for the contract's own. */
  readonly base: string;
  readonly path: string;
  readonly method: string;
  readonly operation: DocumentedOperation;
}

const file = path.join(import.meta.dirname, '../../../../contract/generated/openapi.json');
const source: unknown = JSON.parse(readFileSync(file, 'utf8'));
/** Base path of the second document, which is in the words of clients. */
export const base = '/v/public';
const vocabulary = await readVocabulary({ basePath: base, file: null }, operationList);
const wordings = new Wordings(vocabulary, operationList);
// Names of operations differ between the documents; the order of the operations is the same.
const contractIds = new Map(wordings.operations().map(({ id }, index) => [id, operationList[index]?.id ?? id]));

const ajv = new Ajv({ strict: false, allErrors: true });
addFormats.default(ajv);

export const routes = routesOf(source, '');
export const routesInWords = routesOf(openApi(wordings.operations(), '0'), base);

/** Returns the routes of a document, whose schemas are then known to the validator under its base path. */
function routesOf(description: unknown, at: string): readonly Route[] {
  // The generators of values know no references.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the document has this shape
  const document = withoutReferences(description, description) as Document;
  ajv.addSchema({ $id: `api${at}`, ...document });
  return Object.entries(document.paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const id = contractIds.get(operation.operationId) ?? operation.operationId;
      return { id, base: at, path: template, method, operation };
    }),
  );
}

/** Returns a value of the document with the named shapes in place of the references to them. */
function withoutReferences(value: unknown, description: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutReferences(item, description));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, ...rest } = value as { readonly $ref?: string };
  const members = Object.entries($ref === undefined ? rest : { ...referredTo($ref, description), ...rest });
  return Object.fromEntries(members.map(([key, member]) => [key, withoutReferences(member, description)]));
}

function referredTo(reference: string, description: unknown): object {
  const found = reference
    .split('/')
    .slice(1)
    .reduce<unknown>((at, key) => Object.entries(at ?? {}).find(([name]) => name === key)?.[1], description);
  if (typeof found !== 'object' || found === null) throw new Error(`The document has no ${reference}.`);
  return found;
}

/*
 * The document has these statuses as the default response: those that every request may get, those of the headers that
 * its method takes (`Idempotency-Key`, `If-Match`), and those of a body.
 */
const ofEveryRequest: readonly number[] = [401, 403, 404, 429];
const ofMethod: Readonly<Record<string, readonly number[]>> = { post: [400, 409], put: [400, 412], delete: [400, 412] };
const ofBody: readonly number[] = [400, 413, 415];

function isInDefault({ method, operation }: Route, status: number): boolean {
  const ofHeaders = ofMethod[method] ?? [];
  return [...ofEveryRequest, ...ofHeaders, ...(operation.requestBody === undefined ? [] : ofBody)].includes(status);
}

/** Returns the faults of a response, one per line: a status, body or type that the document does not have. */
export function faultsOf(request: FuzzRequest, response: Response, text: string): string[] {
  const { status } = response;
  const route = [...routes, ...routesInWords].find((one) => one.id === request.operation && one.base === request.base);
  if (route === undefined) return [];
  const name = `${route.id} ${status}`;
  if (status >= 500) return [`${name}: ${text}`];
  const code = route.operation.responses[status] === undefined && isInDefault(route, status) ? 'default' : String(status);
  const documented = route.operation.responses[code];
  if (documented === undefined) return [`${name}: not documented: ${text}`];
  const type = response.headers.get('content-type')?.split(';')[0];
  if (documented.content === undefined) return text === '' ? [] : [`${name}: has a body: ${text}`];
  if (type === undefined || documented.content[type] === undefined) return [`${name}: is ${String(type)}: ${text}`];
  const validate = validatorOf(route, code, type);
  const value: unknown = type === 'application/json' ? JSON.parse(text) : text;
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${name}: ${instancePath} ${message}`);
}

const validators = new Map<string, ValidateFunction>();

function validatorOf({ base: at, path: template, method }: Route, code: string, type: string): ValidateFunction {
  const parts = ['paths', template, method, 'responses', code, 'content', type, 'schema'];
  const pointer = parts.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
  const reference = `api${at}#/${pointer}`;
  const found = validators.get(reference) ?? ajv.compile({ $ref: reference });
  validators.set(reference, found);
  return found;
}
