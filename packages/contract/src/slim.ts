import { textTypeOf } from './operation.ts';
import { operationList } from './operations.ts';

/** Marks the module in a bundle. Its name is no path, so that no plugin looks for a file. */
const moduleName = '\0slim-contract';

/** The part of a bundler's plugin that vite calls. */
interface BundlerPlugin {
  readonly name: string;
  readonly enforce: 'pre';
  readonly resolveId: (id: string) => string | null;
  readonly load: (id: string) => string | null;
}

/**
 * Returns a plugin that replaces the contract by what a client reads of it at run time: paths, methods and media types.
 * The schemas are for the compiler and for the server; they would be half of a bundle. `withWords` adds what a program
 * needs that shows the operations to people: titles, scopes, names of query parameters, and whether there is a body.
 */
export function slimContract({ withWords = false } = {}): BundlerPlugin {
  return {
    name: 'slim-contract',
    enforce: 'pre',
    resolveId: (id) => (id === '@davit/contract' ? moduleName : null),
    load: (id) => (id === moduleName ? slimModule(withWords) : null),
  };
}

function slimModule(withWords: boolean): string {
  const rows = operationList.map((operation) => {
    const { id, path, method, mediaType, answerType, response, summary, scope, query, body, events } = operation;
    const isText = textTypeOf(operation) !== undefined && response !== null;
    const words = withWords
      ? { summary, scope, query: namesIn(query), body: body === undefined ? undefined : {}, events: events && {} }
      : {};
    return { id, path, method, mediaType, answerType, response: isText ? {} : undefined, ...words };
  });
  return [
    // A JSON text is parsed faster than the same objects in JavaScript.
    `export const operationList = JSON.parse(${JSON.stringify(JSON.stringify(rows))});`,
    'export const operations = Object.fromEntries(operationList.map((one) => [one.id, one]));',
    'export const textTypeOf = ({ answerType, mediaType }) => answerType ?? mediaType;',
  ].join('\n');
}

/** Returns the names of the properties of a schema, in the place where the schema has them. */
function namesIn(schema: object | undefined): object | undefined {
  if (schema === undefined || !('properties' in schema)) return undefined;
  const { properties } = schema;
  return { properties: Object.fromEntries(Object.keys(properties ?? {}).map((name) => [name, {}])) };
}
