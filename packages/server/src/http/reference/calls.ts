import type { Example } from '@davit/contract/examples';
import type { Entry } from './model.ts';

/*
 * The example of an operation as a call of curl and of the typed client. Without an example the ids are variables, and
 * the body is a file.
 */

const parameterName = /\{([^}]+)\}/g;

/** Returns the values of the path parameters in the path of an example, by name. */
export function pathValues(template: string, path: string): Readonly<Record<string, string>> {
  const names = [...template.matchAll(parameterName)].map(([, name = '']) => name);
  const pattern = template.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`).replaceAll(parameterName, '([^/]+)');
  const values = new RegExp(`^${pattern}$`).exec(path)?.slice(1) ?? [];
  return Object.fromEntries(names.map((name, index) => [name, decodeURIComponent(values[index] ?? '')]));
}

/** Returns the call as a line of curl, with the address and the token of the server in variables of the shell. */
export function curlCall({ operation, request }: Entry, example: Example | undefined): string {
  const { method, audience } = operation;
  const path = example?.path ?? operation.path.replaceAll(parameterName, (_all, name: string) => `$${snake(name)}`);
  const query = new URLSearchParams(example?.query ?? {}).toString();
  const address = `"$DAVIT_SERVER${path}${query === '' ? '' : `?${query}`}"`;
  const isSent = example === undefined ? request?.required === true : example.request !== undefined;
  const body = example?.request === undefined ? '@request.json' : quoted(textOf(example.request));
  const options = [
    ...(audience === 'anybody' ? [] : ['-H "Authorization: Token $DAVIT_TOKEN"']),
    ...Object.entries(example?.headers ?? {}).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(isSent ? [`-H ${quoted(`Content-Type: ${request?.mediaType ?? 'application/json'}`)}`, `--data ${body}`] : []),
  ];
  const verb = method === 'GET' || (method === 'POST' && isSent) ? '' : ` -X ${method}`;
  const stream = operation.events === undefined ? '' : ' -N';
  return [`curl${verb}${stream} ${address}`, ...options].join(' \\\n  ');
}

function snake(name: string): string {
  return name.replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase();
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

/** Returns the call of the typed client. */
export function clientCall(entry: Entry, example: Example | undefined): string {
  const { operation } = entry;
  const input = inputOf(entry, example);
  const call = `'${operation.id}'${input === '' ? '' : `, ${input}`}`;
  if (operation.events !== undefined) return `for await (const event of davit.stream(${call})) {\n  console.log(event);\n}`;
  const isEmpty = operation.response === null;
  return `${isEmpty ? '' : 'const answer = '}await davit.call(${call});`;
}

function inputOf(entry: Entry, example: Example | undefined): string {
  const { operation, request } = entry;
  const names = [...operation.path.matchAll(parameterName)].map(([, name = '']) => name);
  if (example === undefined) {
    const params = names.length === 0 ? [] : [`params: { ${names.join(', ')} }`];
    const members = [...params, ...(request?.required === true ? ['body'] : [])];
    return members.length === 0 ? '' : `{ ${members.join(', ')} }`;
  }
  const ifMatch = Object.entries(example.headers ?? {}).find(([name]) => name.toLowerCase() === 'if-match')?.[1];
  const input = {
    ...(names.length === 0 ? {} : { params: pathValues(operation.path, example.path) }),
    ...(example.query === undefined ? {} : { query: queryValues(entry, example.query) }),
    ...(example.request === undefined ? {} : { body: example.request }),
    ...(ifMatch === undefined ? {} : { ifUpdatedAt: ifMatch.replaceAll('"', '') }),
  };
  return Object.keys(input).length === 0 ? '' : literal(input, '');
}

/** Returns the parameters of a query as values: texts in the address are numbers and booleans for the client. */
function queryValues({ parameters }: Entry, query: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> {
  const isText = (name: string): boolean => {
    const { type } = parameters.find((one) => one.name === name && one.in === 'query')?.schema ?? {};
    return type !== 'integer' && type !== 'number' && type !== 'boolean';
  };
  return Object.fromEntries(Object.entries(query).map(([name, text]) => [name, isText(name) ? text : JSON.parse(text)]));
}

const widest = 60;

/** Returns a JSON value as TypeScript, on one line where it is short. */
export function literal(value: unknown, indent: string): string {
  if (typeof value === 'string') return `'${value.replaceAll(/[\\']/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)}'`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const members = isList
    ? value.map((one) => literal(one, inner))
    : Object.entries(value).map(([key, one]) => `${keyOf(key)}: ${literal(one, inner)}`);
  const [open, close, space] = isList ? ['[', ']', ''] : ['{', '}', ' '];
  if (members.length === 0) return `${open}${close}`;
  const line = members.join(', ');
  if (line.length <= widest && !line.includes('\n')) return `${open}${space}${line}${space}${close}`;
  return `${open}\n${members.map((member) => `${inner}${member},\n`).join('')}${indent}${close}`;
}

function keyOf(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : `'${key}'`;
}
