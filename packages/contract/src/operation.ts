import type { Static, TSchema } from 'typebox';
import type { EventType } from './shared/events.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** The scope that a token needs. Each scope contains the ones before it. */
export const scopes = ['READ', 'DEPLOY', 'WRITE', 'ADMIN'] as const;
export type Scope = (typeof scopes)[number];

/**
 * The kind of record that the first id of the path names. The caller's right to see the record is checked by it in one
 * place.
 * - `instance`: the operation belongs to no organization. It lists or creates organizations, or concerns variables
 *   whose scope is named in query or body, or the caller's own account.
 * - `invitation`: the second id names the invitation. The invited person sees it without being a member of the
 *   organization yet.
 */
export type Target =
  | 'instance'
  | 'organization'
  | 'project'
  | 'environment'
  | 'cluster'
  | 'service'
  | 'deploymentStage'
  | 'deploymentRequest'
  | 'variable'
  | 'invitation';

/** One operation of the API: the only place that declares its path, shapes, permission and status codes. */
export interface Operation {
  /** Verb and noun, for example `createProject`. The id is public: generated clients name their methods after it. */
  readonly id: string;
  readonly method: Method;
  /** The path with its parameters in braces, for example `/project/{projectId}`. */
  readonly path: string;
  readonly tag: string;
  /** The title: at most 60 characters, in the imperative, without backticks, for example `Deploy an application`. */
  readonly summary: string;
  /** The explanation in markdown. CONTRIBUTING.md lists what belongs to it. */
  readonly description?: string;
  readonly scope: Scope;
  /** Who may use the operation, as a sentence. Default: the rule of `permissions.ts` for scope, id and path. */
  readonly permission?: string;
  readonly target: Target;
  /**
   * `people`: only callers who signed in through an issuer may use the operation, whatever their role. API tokens are
   * refused: a token has no account and accepts nothing.
   * `anybody`: the operation needs no token and ignores the one that is sent. Its body proves what the caller may do.
   */
  readonly audience?: 'people' | 'anybody';
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** Whether a request without a body returns 400. Default: true if the operation has a `body`. */
  readonly bodyRequired?: boolean;
  /**
   * The response contains credentials. It is never compressed, as its compressed length would reveal something about
   * them.
   */
  readonly showsCredentials?: true;
  /** The status code of success. A `response` of `null` is an empty body. */
  readonly status: number;
  readonly response: TSchema | null;
  /**
   * The media type of request and response body if they are text instead of JSON. A request body may still be a JSON
   * string.
   */
  readonly mediaType?: 'application/x-yaml';
  /** The media type of the response alone. */
  readonly answerType?: 'text/plain';
  /**
   * The response is a long-lived stream of server-sent events. Maps the name of each event to the shape of its data.
   */
  readonly events?: Readonly<Record<string, TSchema>>;
  /**
   * A second status code of success, with the same shape or an empty body (204 if an uninstalled service never ran).
   */
  readonly otherStatus?: number;
  /**
   * The path parameter that names the record to which `If-Match` applies. Default: the last parameter. null: the
   * changed data has no version, so no `ETag` matches.
   */
  readonly record?: string | null;
  /**
   * The audit log's event type. Default: CREATE, UPDATE or DELETE for a record, else TRIGGER_ and the name of the
   * action.
   */
  readonly event?: EventType;
  /** Error codes besides 401, 403, 404, 429, 500 and 503, which every operation may return. */
  readonly errors: readonly number[];
}

/** Returns the media type of a text response, or undefined for JSON. */
export function textTypeOf({ answerType, mediaType }: Operation): string | undefined {
  return answerType ?? mediaType;
}

/** Keeps the literal types of a declaration. */
export function operation<const O extends Operation>(declared: O): O {
  return declared;
}

type ParameterName<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterName<Rest>
  : never;

export type PathParameters<O extends Operation> = { readonly [Name in ParameterName<O['path']>]: string };
type NoQuery = Readonly<Record<string, never>>;
export type Query<O extends Operation> = O['query'] extends TSchema ? Static<O['query']> : NoQuery;
export type Body<O extends Operation> = O['body'] extends TSchema
  ? O['bodyRequired'] extends false
    ? Static<O['body']> | undefined
    : Static<O['body']>
  : undefined;
export type Response<O extends Operation> = O['response'] extends TSchema ? Static<O['response']> : undefined;

/** Returns the operations keyed by their ids. */
export type ById<O extends Operation> = { readonly [One in O as One['id']]: One };

export function byId<O extends Operation>(all: readonly O[]): ById<O> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- TypeScript does not know the keys that `fromEntries` makes
  return Object.fromEntries(all.map((one) => [one.id, one])) as unknown as ById<O>;
}
