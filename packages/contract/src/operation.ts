import type { Static, TSchema } from 'typebox';
import type { EventType } from './shared/events.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** What a token must be allowed to do. Each scope contains the ones before it. */
export const scopes = ['READ', 'DEPLOY', 'WRITE', 'ADMIN'] as const;
export type Scope = (typeof scopes)[number];

/**
 * What the first id of the path names, so that the caller's right to see it can be checked in one place. `instance`: the
 * operation belongs to no organization (listing and creating organizations, variables that name their place in query or body,
 * and what people do with their own account).
 * `invitation`: the second id names it; whom it invites sees it without being of the organization yet.
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

/** One operation of the API: the only place that says its path, shapes, permission and codes. */
export interface Operation {
  /** Verb and noun, as in `createProject`. Public: generated clients name their methods by it. */
  readonly id: string;
  readonly method: Method;
  /** With parameters in braces, as in `/project/{projectId}`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly scope: Scope;
  readonly target: Target;
  /** `people`: only for who signed in through an issuer, whatever the role; an API token has no account and accepts nothing. */
  readonly audience?: 'people';
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** Whether a request without a body is answered 400. Default: yes where there is a `body`. */
  readonly bodyRequired?: boolean;
  /** The answer holds what lets its reader in somewhere: it is never compressed, as the length would say something of it. */
  readonly showsCredentials?: true;
  /** Code of success and its shape; `null` is an empty body. */
  readonly status: number;
  readonly response: TSchema | null;
  /** Of body and answer, where they are text instead of JSON. A body may still be sent as a JSON string. */
  readonly mediaType?: 'application/x-yaml';
  /** The same of the answer alone. */
  readonly answerType?: 'text/plain';
  /** The answer is a stream of server-sent events that lasts: shapes of their data by their names. */
  readonly events?: Readonly<Record<string, TSchema>>;
  /** Another code of success, with the same shape or none (uninstall of what never ran: 204). */
  readonly otherStatus?: number;
  /**
   * The path parameter that names the record which `If-Match` speaks of. Default: the last one. null: what it changes has no
   * version, so that no `ETag` holds.
   */
  readonly record?: string | null;
  /** Word of the audit log for what it does, where that is not CREATE, UPDATE or DELETE of a record or TRIGGER_ and the action. */
  readonly event?: EventType;
  /** Beside 401, 403, 404, 429 and 500, which every operation may answer. */
  readonly errors: readonly number[];
}

/** Of an answer that is text; undefined: it is JSON. */
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

/** Operations by their ids. */
export type ById<O extends Operation> = { readonly [One in O as One['id']]: One };

export function byId<O extends Operation>(all: readonly O[]): ById<O> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- TypeScript does not know the keys that `fromEntries` makes
  return Object.fromEntries(all.map((one) => [one.id, one])) as unknown as ById<O>;
}
