import { ErrorBody } from './errors.ts';
import { textTypeOf, type Operation, type Target } from './operation.ts';
import { tagDescriptions } from './tags.ts';
import { pathParameterDescriptions } from './parameters.ts';
import { referring, type Shapes } from './references.ts';
import { Named, words } from './shape.ts';
import { whoMay } from './who-may.ts';
import { withSimilarTogether } from './similar-order.ts';
import { defaultPageSize, isPaged, pageLimits } from './paging.ts';

const parameterPattern = /\{([^}]+)\}/g;

interface JsonSchema {
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

/** Puts paths or shapes in an order. */
type Order = (values: Iterable<readonly [string, unknown]>) => Record<string, unknown>;

export interface DocumentOptions {
  /**
   * The default compresses best, and takes most of the time; a reader in this process may pass `Object.fromEntries`.
   */
  readonly inOrder?: Order;
  /** Returns the example of an operation's body, by its id; undefined: none. Default: no examples. */
  readonly requestOf?: (operationId: string) => unknown;
}

/**
 * Letters of the largest example in the document, as JSON. All examples would make the document half as large again.
 * Each is also served by itself, below `/examples`. The document does not refer to these addresses (`externalValue`):
 * generators such as openapi-typescript load what is referred to, and fail where a file of the document is all they
 * have.
 */
const largestExample = 300;

/** Returns the OpenAPI 3.1 document of the operations. `version` is the version of the program. */
export function openApi(
  operations: readonly Operation[],
  version: string,
  { inOrder = withSimilarTogether, requestOf = () => undefined }: DocumentOptions = {},
): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  const shapes: Shapes = new Map();
  for (const operation of operations) {
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = referring(
      describe(operation, requestOf(operation.id)),
      shapes,
    );
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Davit',
      version,
      description: words(`
        Runs workloads on clusters: organization, project, environment, service. Lists are \`{results: […]}\`.

        *Who may* names the scope that an API token needs, or else the roles of people and tokens.`),
      contact: { name: 'The operator of this installation' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name, description: tagDescriptions[name] })),
    security: [{ token: [] }, { bearer: [] }],
    // Components before paths: gzip finds longer repetitions in this order.
    components: {
      securitySchemes: {
        token: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: '`Authorization: Token <API token>`',
        },
        bearer: { type: 'http', scheme: 'bearer' },
      },
      parameters: { ...pathParametersOf(operations), ...sharedParameters },
      responses: { Error: errorResponse(shapes) },
      schemas: inOrder([...shapes].map(([name, shape]) => [name, descriptionsLast(shape)])),
    },
    paths: inOrder(Object.entries(paths)),
  };
}

function describe(operation: Operation, request: unknown): Record<string, unknown> {
  const body = operation.body;
  const example = request !== undefined && JSON.stringify(request).length <= largestExample ? { example: request } : {};
  // The order of the members is the one in which gzip finds the longest repetitions.
  return {
    responses: responses(operation),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: operation.bodyRequired !== false,
            content: { [operation.mediaType ?? 'application/json']: { schema: body, ...example } },
          },
        }),
    description: explanation(operation),
    summary: operation.summary,
    ...(operation.audience === 'anybody' && { security: [] }),
    tags: [operation.tag],
    parameters: [...pathParameters(operation.path), ...queryParameters(operation), ...headerParameters(operation)],
    ...(operation.audience !== 'anybody' && { 'x-scope': operation.scope }),
    operationId: operation.id,
  };
}

/** Returns the description of an operation, with who may use it before the table of its error codes. */
function explanation(operation: Operation): string {
  const [text = '', ...tables] = words(operation.description ?? '').split(/\n\n(?=\| Code)/);
  return [text, operation.permission ?? whoMay(operation), ...tables].filter((part) => part !== '').join('\n\n');
}

/** Returns the value with each description after the other members, as gzip finds longer repetitions before it. */
function descriptionsLast(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(descriptionsLast);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, member]): [string, unknown] => [key, descriptionsLast(member)]);
  const isWords = ([key, member]: readonly [string, unknown]): boolean => key === 'description' && typeof member === 'string';
  return Object.fromEntries([...entries.filter((entry) => !isWords(entry)), ...entries.filter(isWords)]);
}

const parametersPath = '#/components/parameters/';

function pathParameters(path: string): unknown[] {
  return parameterNames(path).map((name) => ({ $ref: `${parametersPath}${name}` }));
}

function parameterNames(path: string): readonly string[] {
  return [...path.matchAll(parameterPattern)].map(([, name = '']) => name);
}

/** Returns the path parameters of the operations by name. Each is in the document once, which keeps it small. */
function pathParametersOf(operations: readonly Operation[]): Record<string, unknown> {
  const names = [...new Set(operations.flatMap(({ path }) => parameterNames(path)))].toSorted();
  return Object.fromEntries(names.map((name) => [name, pathParameter(name)]));
}

function pathParameter(name: string): Record<string, unknown> {
  return {
    name,
    in: 'path',
    required: true,
    description: pathParameterDescriptions[name],
    // Ids are uuids. Other parameters, for example a region or a segment, are plain strings.
    schema: name.endsWith('Id') ? { type: 'string', format: 'uuid' } : { type: 'string' },
  };
}

/** Returns the response that all errors refer to: they have one body, and their status says the kind. */
function errorResponse(shapes: Shapes): Record<string, unknown> {
  const schema = referring(ErrorBody, shapes);
  return { description: 'The body says what is wrong and what to do.', content: { 'application/json': { schema } } };
}

const anError = { $ref: '#/components/responses/Error' };

function queryParameters(operation: Operation): unknown[] {
  const query: JsonSchema | undefined = operation.query;
  const declared = Object.entries(query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    ...(query?.required?.includes(name) === true && { required: true }),
    ...lifted(schema),
  }));
  return isPaged(operation) ? [...declared, { $ref: `${parametersPath}page` }, { $ref: `${parametersPath}pageSize` }] : declared;
}

/** Moves the description of a query field to the parameter, where readers and generators look for it. */
function lifted(schema: object): Record<string, unknown> {
  const { description, ...rest }: { readonly description?: unknown } = schema;
  return description === undefined ? { schema } : { description, schema: rest };
}

const page = {
  name: 'page',
  in: 'query',
  description: 'The page to return, counted from 1. Without it and without `pageSize` the whole list is returned.',
  schema: { type: 'integer', minimum: 1, maximum: pageLimits.page, default: 1 },
};
const pageSize = {
  name: 'pageSize',
  in: 'query',
  description: 'How many records a page has. Without it and without `page` the whole list is returned.',
  schema: { type: 'integer', minimum: 1, maximum: pageLimits.pageSize, default: defaultPageSize },
};

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'A request that is repeated with the same key within 24 hours gets the response of the first one',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};
const ifMatch = {
  name: 'If-Match',
  in: 'header',
  description: '`ETag` of the record when it was read: 412 if it has changed since then',
  schema: { type: 'string' },
};

const lastEventId = {
  name: 'Last-Event-ID',
  in: 'header',
  description: 'Id of the last received event: the stream resumes after it',
  schema: { type: 'string', maxLength: 8000 },
};

const sharedParameters = { page, pageSize, 'Idempotency-Key': idempotencyKey, 'If-Match': ifMatch, 'Last-Event-ID': lastEventId };

function headerParameters({ method, record, events, audience }: Operation): unknown[] {
  if (events !== undefined) return [{ $ref: `${parametersPath}Last-Event-ID` }];
  if (method === 'POST') return audience === 'anybody' ? [] : [{ $ref: `${parametersPath}Idempotency-Key` }];
  return method === 'GET' || record === null ? [] : [{ $ref: `${parametersPath}If-Match` }];
}

/** Targets inside an environment. They cannot be changed any more while their environment is being deleted. */
const inEnvironments: readonly Target[] = ['environment', 'service', 'deploymentStage', 'deploymentRequest', 'variable'];

/**
 * Returns the error codes of an operation: the declared codes and those that follow from its method, target, query and
 * body.
 */
function errorsOf(operation: Operation): readonly number[] {
  const { method, target, query, body, events } = operation;
  const ofQuery = query !== undefined || isPaged(operation) || events !== undefined ? [400] : [];
  const ofBody = body === undefined ? [] : [400];
  const ofLocation = method !== 'GET' && inEnvironments.includes(target) ? [409] : [];
  const all = [...operation.errors, ...ofQuery, ...ofBody, ...ofLocation];
  // Linters want one code of this class at every operation. 401 is part of `default`, too.
  return all.length === 0 ? [401] : [...new Set(all)].toSorted((a, b) => a - b);
}

/**
 * Describes a stream. The extension `x-events` lists its events, as OpenAPI 3.1 cannot describe the parts of a stream.
 */
function streamed(events: NonNullable<Operation['events']>): Record<string, unknown> {
  const named = Object.entries(events).map(([name, data]) => {
    const { description, ...shape }: { readonly description?: string } & typeof data = data;
    return [name, Named(eventShape(name), shape, description)] as const;
  });
  // The keyword says that each event's data is a JSON text of one of these shapes.
  const contentSchema = { anyOf: named.map(([, shape]) => shape) };
  const schema = { type: 'string', contentMediaType: 'application/json', contentSchema };
  return {
    description: 'Server-sent events until the client disconnects or an event `END` gives the reason for the end',
    content: { 'text/event-stream': { schema, 'x-events': Object.fromEntries(named) } },
  };
}

/** Returns the name of the shape of an event: `ServiceStateEvent` for `SERVICE_STATE`. */
export function eventShape(event: string): string {
  return `${event.toLowerCase().replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}Event`;
}

function success(operation: Operation): Record<string, unknown> {
  const { events, response } = operation;
  if (events !== undefined) return streamed(events);
  if (response === null) return { description: 'Done' };
  return { description: 'Done', content: { [textTypeOf(operation) ?? 'application/json']: { schema: response } } };
}

function responses(operation: Operation): Record<string, unknown> {
  return {
    [operation.status]: success(operation),
    ...(operation.otherStatus === undefined ? {} : { [operation.otherStatus]: { description: 'Nothing to do' } }),
    ...Object.fromEntries(errorsOf(operation).map((status) => [status, anError])),
    // Every request may also get 401, 403, 404, 429, 500 and 503, one with a body 413 and 415, and one with the header
    // `Idempotency-Key` or `If-Match` 409 or 412.
    default: anError,
  };
}
