import {
  operations,
  textTypeOf,
  type Body,
  type Operation,
  type OperationId,
  type PathParameters,
  type Query,
  type Response as Answer,
} from '@davit/contract';
import { ApiError } from './api-error.ts';
import { follow, type Received, type StreamOptions } from './stream.ts';
import type { Send } from './transport.ts';

type Operations = typeof operations;

type Needed<Name extends string, Value> = keyof Value extends never
  ? { readonly [N in Name]?: Value }
  : { readonly [N in Name]: Value };
type BodyInput<Value> = [Value] extends [undefined]
  ? { readonly body?: undefined }
  : undefined extends Value
    ? { readonly body?: Value }
    : { readonly body: Value };

/** Input of an operation: path parameters, query and body, as far as the operation has them. */
export type CallInput<Id extends OperationId> = Needed<'params', PathParameters<Operations[Id]>> & {
  readonly query?: Query<Operations[Id]>;
  readonly signal?: AbortSignal;
  /**
   * The `updated_at` of the record as the caller knows it. If the record was changed since, the server refuses the
   * operation with `PRECONDITION_FAILED`.
   */
  readonly ifUpdatedAt?: string;
} & BodyInput<Body<Operations[Id]>>;

/** Result of an operation; undefined if the response has no body. */
export type CallAnswer<Id extends OperationId> = Operations[Id] extends { readonly otherStatus: number }
  ? Answer<Operations[Id]> | undefined
  : Answer<Operations[Id]>;

/** Operations that return a stream of events. */
export type StreamOperationId = {
  [Id in OperationId]: Operations[Id] extends { readonly events: object } ? Id : never;
}[OperationId];

/** Input of a stream: path parameters, query, and options for following it. */
export type StreamInput<Id extends StreamOperationId> = Needed<'params', PathParameters<Operations[Id]>> & {
  readonly query?: Query<Operations[Id]>;
} & StreamOptions;

export interface ClientOptions {
  /** Base URL, for example `http://127.0.0.1:4440`. */
  readonly baseUrl: string;
  /** An API token. Left out: in a browser, the cookie of the session is sent. */
  readonly token?: string;
  /**
   * User agent, which is recorded in the deployment history: it distinguishes `CLI <version>` and `Terraform provider
   * <version>`.
   */
  readonly userAgent?: string;
  /** Sends the requests. Default: the `fetch` of the platform. */
  readonly fetch?: Send;
}

interface NoInput {
  readonly signal?: AbortSignal;
  readonly ifUpdatedAt?: string;
}

type Arguments<Id extends OperationId> = NoInput extends CallInput<Id> ? [input?: CallInput<Id>] : [input: CallInput<Id>];

/** The API, typed by the contract. */
export interface Client {
  /**
   * Calls an operation. Throws `ApiError` for every unsuccessful response, and the error of `fetch` if there is no
   * response.
   */
  call<Id extends Exclude<OperationId, StreamOperationId>>(id: Id, ...input: Arguments<Id>): Promise<CallAnswer<Id>>;
  /**
   * Follows a stream until the server ends it, or until `signal` aborts (which throws its reason). If the connection is
   * lost, resumes after the last event, with increasing pauses; with `reconnect: false` the stream ends instead. Throws
   * `ApiError` if the server refuses the stream. Leaving the loop closes the connection.
   */
  stream<Id extends StreamOperationId>(id: Id, input: StreamInput<Id>): AsyncGenerator<Received>;
}

interface AnyInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly ifUpdatedAt?: string;
}

export function createClient(options: ClientOptions): Client {
  const send: Send = options.fetch ?? fetch;
  const base = options.baseUrl.replace(/\/+$/, '');
  const headersOf = (accept: string): Record<string, string> => ({
    ...(options.token === undefined ? {} : { authorization: `Token ${options.token}` }),
    accept,
    ...(options.userAgent === undefined ? {} : { 'user-agent': options.userAgent }),
  });
  const urlOf = (operation: Operation, { params = {}, query = {} }: AnyInput): string =>
    `${base}${pathOf(operation.path, params)}${queryOf(query)}`;
  const stream: Client['stream'] = (id, input: AnyInput & StreamOptions) =>
    follow((lastEventId, signal) => {
      const headers = headersOf('text/event-stream');
      if (lastEventId !== null) headers['last-event-id'] = lastEventId;
      return send(urlOf(operations[id], input), { headers, signal });
    }, input);
  const call = async (id: OperationId, input: AnyInput = {}): Promise<unknown> => {
    const operation: Operation = operations[id];
    const headers = headersOf(textTypeOf(operation) ?? 'application/json');
    if (input.body !== undefined) headers['content-type'] = operation.mediaType ?? 'application/json';
    if (input.ifUpdatedAt !== undefined) headers['if-match'] = `"${input.ifUpdatedAt}"`;
    const response = await send(urlOf(operation, input), {
      method: operation.method,
      headers,
      ...(input.body === undefined ? {} : { body: bodyOf(operation, input.body) }),
      ...(input.signal === undefined ? {} : { signal: input.signal }),
    });
    const text = await response.text();
    if (!response.ok) throw ApiError.of(response.status, text, response.headers);
    if (operation.response !== null && textTypeOf(operation) !== undefined) return text;
    return text === '' ? undefined : JSON.parse(text);
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the types of a call follow from its id; inside, all are alike
  return { call: call as Client['call'], stream };
}

function bodyOf(operation: Operation, body: unknown): string {
  return operation.mediaType !== undefined && typeof body === 'string' ? body : JSON.stringify(body);
}

function pathOf(path: string, params: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{([^}]+)\}/g, (_all, name: string) => {
    const value = params[name];
    if (value === undefined) throw new TypeError(`the path parameter ${name} is missing`);
    return encodeURIComponent(value);
  });
}

function queryOf(query: Readonly<Record<string, unknown>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) search.append(name, typeof value === 'string' ? value : JSON.stringify(value));
  return search.size === 0 ? '' : `?${search.toString()}`;
}
