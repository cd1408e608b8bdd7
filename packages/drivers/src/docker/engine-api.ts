import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { messageOf } from '@davit/base';
import {
  call as callApi,
  HttpRefusal,
  stream as streamApi,
  type JsonAnswer,
  type JsonApi,
  type JsonRequest,
} from '@davit/base-node';
import { DriverError } from '../errors.ts';
import type { EngineConnection } from './connection.ts';

export interface EngineRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  /**
   * Path without API version and query, such as `/containers/json`. Segments other than Davit's own ids and names must
   * be encoded with encodeURIComponent.
   */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Request body, sent as JSON. */
  readonly body?: object;
  /** Request body, sent as a tar archive. */
  readonly archive?: Buffer | Readable;
  /** Credentials sent as X-Registry-Auth. The engine authenticates to a registry with them. */
  readonly registryAuth?: RegistryAuth;
  readonly signal: AbortSignal;
  /** HTTP statuses besides 2xx that count as a result and not as a failure. */
  readonly accept?: readonly number[];
  /**
   * Timeout in milliseconds, for calls that wait on purpose; 0 means no limit. Default: two minutes, which is longer
   * than an engine takes for any call that does not wait.
   */
  readonly timeoutMilliseconds?: number;
}

export interface RegistryAuth {
  readonly username: string;
  readonly password: string;
  readonly serveraddress: string;
}

export type EngineAnswer<Body = unknown> = JsonAnswer<Body>;

/** Thrown when the engine responds with a status that is not accepted. */
export class EngineRefusal extends HttpRefusal {}

const defaultTimeoutMilliseconds = 120_000;
/** Largest response that is read at once. The state of a thousand containers is some 10 MB. */
const maxBytes = 256 * 1024 * 1024;

/**
 * Calls the engine's API. `Body` is the type that the API promises for a 2xx status. Every call ends in one of these
 * ways:
 * - It returns a response.
 * - It fails with an `EngineRefusal`.
 * - It fails with a `DriverError` ENGINE_UNREACHABLE (retryable).
 * - It fails with the error of the stream that is the archive.
 * - It fails with the signal's reason.
 */
export async function call<Body = unknown>(engine: EngineConnection, request: EngineRequest): Promise<EngineAnswer<Body>> {
  return callApi<Body>(apiOf(engine), toJson(request), request.timeoutMilliseconds ?? defaultTimeoutMilliseconds);
}

/** Like `call`, but returns the response as a stream. The caller reads it with `chunksOf` or destroys it. */
export async function stream(engine: EngineConnection, request: EngineRequest): Promise<IncomingMessage> {
  return streamApi(apiOf(engine), toJson(request));
}

function apiOf({ connection, apiVersion }: EngineConnection): JsonApi {
  return {
    connection,
    prefix: apiVersion === null ? '' : `/v${apiVersion}`,
    maxBytes,
    // A request that changes something may have had its effect before the engine closed the socket.
    repeatsIfStale: false,
    refused: (request, status, words) => new EngineRefusal(request, status, words),
    unreachable,
  };
}

function toJson(request: EngineRequest): JsonRequest {
  const { method, path, query, signal, accept, body, archive, registryAuth } = request;
  return {
    method,
    path,
    signal,
    ...(query !== undefined && { query }),
    ...(accept !== undefined && { accept }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(archive !== undefined && { body: archive }),
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(archive !== undefined && { 'content-type': 'application/tar' }),
      ...(registryAuth !== undefined && { 'x-registry-auth': encoded(registryAuth) }),
    },
  };
}

/** Encodes credentials as engines expect them: base64 for URLs, with padding. */
function encoded(registryAuth: RegistryAuth): string {
  return Buffer.from(JSON.stringify(registryAuth)).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}

/** Returns the error for an unreachable engine. `why` continues the sentence "The container engine …". */
export function unreachable(why: string, error: unknown): DriverError {
  const original = messageOf(error);
  return new DriverError({
    cause: 'ENGINE_UNREACHABLE',
    message: `The container engine ${why}: ${original}.`,
    evidence: { original },
    retryable: true,
    error,
  });
}
