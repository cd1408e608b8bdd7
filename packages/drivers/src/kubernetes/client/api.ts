import type { IncomingMessage } from 'node:http';
import { messageOf } from '@davit/base';
import {
  call as callApi,
  HttpRefusal,
  openConnection,
  stream as streamApi,
  wordsOf as wholeWordsOf,
  type Connection,
  type JsonAnswer,
  type JsonApi,
  type JsonRequest,
  type TlsSettings,
} from '@davit/base-node';
import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import { DriverError } from '../../errors.ts';
import { asksNode, isNotFound } from './absence.ts';
import type { ClusterAccess } from './kubeconfig.ts';

/** A connection to an API server. */
export interface Api {
  readonly access: ClusterAccess;
  readonly connection: Connection;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path without the query. Davit's own names need no escaping. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: object;
  readonly contentType?: 'application/json' | 'application/apply-patch+yaml' | 'application/merge-patch+json';
  readonly signal: AbortSignal;
  /** Requests only the metadata of the objects of a list. */
  readonly metadataOnly?: boolean;
  /** Statuses besides 2xx that count as a response, not as a failure. */
  readonly accept?: readonly number[];
}

/** Any object of the API, with the fields that all kinds share. */
export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
}

export interface ListOf<T> {
  readonly metadata: { readonly resourceVersion?: string };
  readonly items: readonly T[];
}

export type ApiAnswer<Body> = JsonAnswer<Body>;

/** The API server responded and refused the request. */
export class ApiRefusal extends HttpRefusal {}

/** Longer than any API server needs for a response. Watches and logs have no such limit. */
const timeoutMilliseconds = 60_000;
/**
 * How often a request is repeated if the server was too busy, and the pause before each repeat: `repeatMilliseconds` if
 * the server sends no Retry-After, at most `maxRepeatMilliseconds` if it does.
 */
const maxRepeats = 2;
const repeatMilliseconds = 1_000;
const maxRepeatMilliseconds = 5_000;
const maxBytes = 128 * 1024 * 1024;
/** Characters of a refusal that are kept. */
const maxWords = 2_000;

/** Returns a connection to an API server. Does not contact it. */
export function openApi(access: ClusterAccess): Api {
  return { access, connection: openConnection({ origin: access.server, tls: tlsOptions(access), maxSockets: 32 }) };
}

/** Closes all connections, including those in use. */
export function closeApi({ connection }: Api): void {
  connection.close();
}

/** Returns the TLS settings for an API server. */
export function tlsOptions(access: ClusterAccess): TlsSettings {
  return {
    ...(access.authority !== undefined && { ca: access.authority }),
    ...(access.certificate !== undefined && { cert: access.certificate, key: access.key }),
    ...(access.serverName !== undefined && { servername: access.serverName }),
    rejectUnauthorized: !access.isUnchecked,
  };
}

/** Returns the headers that authenticate Davit. */
export function authorization({ token, basic }: ClusterAccess): Record<string, string> {
  if (token !== undefined) return { authorization: `Bearer ${token}` };
  if (basic === undefined) return {};
  return { authorization: `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString('base64')}` };
}

/**
 * Sends a request and returns its whole response. Repeats the request a few times if the server is too busy: being busy
 * for a moment does not make a cluster unreachable. Rejects with an `ApiRefusal`, a `DriverError` ENGINE_UNREACHABLE
 * (retryable), or the signal's reason. `Body` is the type that the API promises for a status of 2xx.
 */
export async function call<Body = unknown>(api: Api, request: ApiRequest): Promise<ApiAnswer<Body>> {
  return callApi<Body>(jsonApi(api), toJson(api, request), timeoutMilliseconds);
}

/** Works like `call` for a streamed response. The caller reads it with `chunksOf` or destroys it. */
export async function stream(api: Api, request: ApiRequest): Promise<IncomingMessage> {
  return streamApi(jsonApi(api), toJson(api, request));
}

function jsonApi({ connection }: Api): JsonApi {
  return { connection, prefix: '', maxBytes, repeatsIfStale: true, refused, unreachable, repeatAfter };
}

function toJson({ access }: Api, request: ApiRequest): JsonRequest {
  const { method, path, query, body, contentType = 'application/json', signal, metadataOnly = false, accept } = request;
  return {
    method,
    path,
    signal,
    ...(query !== undefined && { query }),
    ...(accept !== undefined && { accept }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
    headers: {
      accept: metadataOnly ? 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' : 'application/json',
      ...authorization(access),
      ...(body !== undefined && { 'content-type': contentType }),
    },
  };
}

/** Returns the error for a refusal: an `ApiRefusal` if the server works, otherwise ENGINE_UNREACHABLE. */
export function refused(request: Pick<JsonRequest, 'method' | 'path'>, status: number, words: string): ApiRefusal | DriverError {
  const shown = words.slice(0, maxWords);
  if (isNotFound(request, status, shown)) return unreachable(`answers with ${status}`, shown);
  return new ApiRefusal(request, status, shown);
}

// A request that was rejected for lack of capacity (429) was not started. A request that failed in the server may have
// been processed, so only reads are repeated. Failed reads from a node are not repeated either: an unreachable node is
// dialed for half a minute each time.
function repeatAfter(
  { method, path }: JsonRequest,
  { statusCode = 0, headers }: IncomingMessage,
  repeats: number,
): number | null {
  const isBusy = statusCode === 429 || (method === 'GET' && statusCode >= 500 && !asksNode(path));
  if (repeats >= maxRepeats || !isBusy) return null;
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isNaN(seconds) ? repeatMilliseconds : Math.min(Math.max(seconds, 0) * 1_000, maxRepeatMilliseconds);
}

/** Returns the error for an unreachable server. `why` continues the sentence "The API server of the cluster". */
export function unreachable(why: string, error: unknown): DriverError {
  const original = messageOf(error);
  return new DriverError({
    cause: 'ENGINE_UNREACHABLE',
    message: `The API server of the cluster ${why}: ${original}.`,
    hint: isUntrusted(error)
      ? 'Its certificate is not one that the kubeconfig trusts: compare certificate-authority-data, tls-server-name and the address of the server, and see whether the certificate has expired. Deploying again is safe.'
      : 'Check that the cluster runs and that this machine reaches the address of its kubeconfig; deploying again is safe.',
    evidence: { original },
    retryable: true,
    error,
  });
}

const untrusted =
  /^(?:ERR_TLS_CERT_ALTNAME_INVALID|CERT_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(?:GET_ISSUER_CERT|VERIFY_LEAF))/;

/**
 * Returns whether the server presented a certificate that is not trusted
 * (https://nodejs.org/api/tls.html#x509-certificate-error-codes).
 */
function isUntrusted(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && untrusted.test(error.code);
}

/** Returns the object at the path, or null if there is none. */
export async function find<T>(api: Api, path: string, signal: AbortSignal): Promise<T | null> {
  const { status, body } = await call<T>(api, { method: 'GET', path, signal, accept: [404] });
  return status === 404 ? null : body;
}

/** Returns the message of a refusal: the message of a `Status`, or the beginning of anything else (a proxy). */
export function wordsOf(text: string): string {
  return wholeWordsOf(text).slice(0, maxWords);
}
