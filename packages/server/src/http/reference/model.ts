import { errorCodes, openApi, operationList, whoMay, type Operation } from '@davit/contract';
import { tableRows } from './markdown.ts';
import { referredName, type Schema } from './schema.ts';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
}

export interface Body {
  readonly mediaType: string;
  readonly schema: Schema;
}

export interface Answer {
  readonly status: number;
  readonly body: Body | undefined;
}

export interface ErrorRow {
  readonly code: string;
  readonly status: number;
  readonly cause: string;
  readonly remedy: string;
}

/** An operation as its page shows it. */
export interface Entry {
  readonly operation: Operation;
  /** The description without who may, and without the table of errors. */
  readonly description: string;
  /** Who may use the operation, as a sentence. */
  readonly who: string;
  readonly parameters: readonly Parameter[];
  readonly request: (Body & { readonly required: boolean }) | undefined;
  readonly answers: readonly Answer[];
  /** The error codes of this operation alone. */
  readonly errors: readonly ErrorRow[];
}

/** Where a shape is used. */
export interface Users {
  readonly operations: Set<string>;
  readonly types: Set<string>;
}

/** The document of the API, as the reference reads it. */
export interface Model {
  readonly version: string;
  readonly entries: ReadonlyMap<string, Entry>;
  readonly types: ReadonlyMap<string, Schema>;
  readonly users: ReadonlyMap<string, Users>;
  /** All error codes with their meaning, of docs/errors.md. */
  readonly errors: ReadonlyMap<string, ErrorRow>;
  /** The causes of failed deployments with their explanation, of docs/errors.md. */
  readonly causes: ReadonlyMap<string, string>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface DocumentOperation {
  readonly description?: string;
  readonly parameters: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

/** Reads the document of the API. `errors` is the text of docs/errors.md. */
export function readModel(version: string, errors: string): Model {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the contract makes the document in this form
  const document = openApi(operationList, version, { inOrder: Object.fromEntries }) as unknown as Document;
  const types = new Map(Object.entries(document.components.schemas));
  const entries = new Map(operationList.map((operation) => [operation.id, entryOf(operation, document)] as const));
  return { version, entries, types, users: usersOf(entries, types), errors: readErrors(errors), causes: readCauses(errors) };
}

function entryOf(operation: Operation, { paths, components }: Document): Entry {
  const described = paths[operation.path]?.[operation.method.toLowerCase()];
  if (described === undefined) throw new Error(`the document lacks ${operation.id}`);
  const { requestBody, responses } = described;
  const blocks = (described.description ?? '').split('\n\n');
  const line = operation.permission ?? whoMay(operation);
  const request = requestBody === undefined ? undefined : bodyOf(requestBody.content);
  return {
    operation,
    description: blocks.filter((block) => block !== line && !isErrorTable(block)).join('\n\n'),
    who: upperFirst(line.replace(/^Who may: /, '')),
    parameters: described.parameters.map((one) => ('$ref' in one ? parameterOf(one.$ref, components.parameters) : one)),
    request: request === undefined ? undefined : { ...request, required: requestBody?.required === true },
    answers: Object.entries(responses)
      .filter(([status]) => status.startsWith('2'))
      .map(([status, { content }]) => ({ status: Number(status), body: content === undefined ? undefined : bodyOf(content) })),
    errors: blocks.filter(isErrorTable).flatMap(errorRows),
  };
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function parameterOf(reference: string, parameters: Document['components']['parameters']): Parameter {
  const found = parameters[reference.slice(reference.lastIndexOf('/') + 1)];
  if (found === undefined) throw new Error(`the document lacks ${reference}`);
  return found;
}

function bodyOf(content: Content): Body | undefined {
  const [first] = Object.entries(content);
  return first === undefined ? undefined : { mediaType: first[0], schema: first[1].schema };
}

function isErrorTable(block: string): boolean {
  return block.startsWith('| Code |');
}

/** Returns the rows of a table whose first column is `CODE` (409). */
function errorRows(block: string): readonly ErrorRow[] {
  return tableRows(block)
    .slice(1)
    .map(([code = '', cause = '', remedy = '']) => errorRow(code, cause, remedy));
}

function errorRow(cell: string, cause: string, remedy: string): ErrorRow {
  const code = /[A-Z_]{3,}/.exec(cell)?.[0] ?? cell;
  const status = /\b\d{3}\b/.exec(cell)?.[0] ?? statusOf(code);
  return { code, status: Number(status), cause, remedy };
}

function statusOf(code: string): number {
  return Object.entries(errorCodes).find(([name]) => name === code)?.[1] ?? 0;
}

/** Reads the codes of answers: those rows of docs/errors.md that have a status. */
function readErrors(document: string): ReadonlyMap<string, ErrorRow> {
  const rows = document.split('\n').filter((row) => /^\| `[A-Z_]+` \| \d{3} \|/.test(row));
  return new Map(
    rows
      .flatMap((row) => tableRows(row))
      .map(([code = '', status = '', cause = '', remedy = '']) => {
        const read = errorRow(`${code} ${status}`, cause, remedy);
        return [read.code, read] as const;
      }),
  );
}

/** Reads the causes of failed deployments: the sections of docs/errors.md whose heading is a code. */
function readCauses(document: string): ReadonlyMap<string, string> {
  const sections = document.matchAll(/^### ([A-Z_]+)\n+([\s\S]*?)(?=\n#|$(?![\s\S]))/gm);
  return new Map([...sections].map(([, code = '', text = '']) => [code, text.trim()] as const));
}

function usersOf(entries: ReadonlyMap<string, Entry>, types: ReadonlyMap<string, Schema>): ReadonlyMap<string, Users> {
  const users = new Map([...types.keys()].map((name) => [name, { operations: new Set<string>(), types: new Set<string>() }]));
  for (const [id, { request, answers, parameters }] of entries) {
    const used = [request?.schema, ...answers.map(({ body }) => body?.schema), ...parameters.map(({ schema }) => schema)];
    for (const name of used.flatMap(namesIn)) users.get(name)?.operations.add(id);
  }
  for (const [type, schema] of types) for (const name of namesIn(schema)) users.get(name)?.types.add(type);
  return users;
}

/** Returns the names of the shapes to which the schema or a part of it refers. */
export function namesIn(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const name = '$ref' in schema && typeof schema.$ref === 'string' ? referredName({ $ref: schema.$ref }) : undefined;
  return [...(name === undefined ? [] : [name]), ...Object.values(schema).flatMap(namesIn)];
}
