import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { abortablePause, isAppError } from '@davit/base';
import type { Connection } from './connection.ts';
import { bodyOf, send } from './send.ts';

export interface JsonRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path without the query. Segments other than Davit's own ids and names must be encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | Readable;
  readonly signal: AbortSignal;
  /** Statuses besides 2xx that count as a result and not as a refusal. */
  readonly accept?: readonly number[];
}

/** An API of JSON over HTTP, and what its failures mean to its callers. */
export interface JsonApi {
  readonly connection: Connection;
  /** Put before each path, such as `/v1.47`. */
  readonly prefix: string;
  /** Largest response of `call`, in bytes. */
  readonly maxBytes: number;
  readonly repeatsIfStale: boolean;
  /** Returns the error for a status that is neither 2xx nor accepted. `words`: the message of the server. */
  refused(request: JsonRequest, status: number, words: string): Error;
  /** Returns the error for a server that gives no response, or no whole one. `why` continues a sentence about it. */
  unreachable(why: string, error: unknown): Error;
  /**
   * Returns the milliseconds after which a refused request is sent again; null: it is not. `repeats`: how often it was
   * sent again already.
   */
  repeatAfter?(request: JsonRequest, response: IncomingMessage, repeats: number): number | null;
}

export interface JsonAnswer<Body = unknown> {
  readonly status: number;
  /** Response body: parsed JSON, or text if the body is not JSON. */
  readonly body: Body;
}

/** Thrown when a server responds with a status that is not accepted. */
export class HttpRefusal extends Error {
  readonly status: number;
  /** The server's own message. */
  readonly words: string;

  constructor(request: Pick<JsonRequest, 'method' | 'path'>, status: number, words: string) {
    super(`${request.method} ${request.path}: ${status} ${words}`);
    this.name = 'HttpRefusal';
    this.status = status;
    this.words = words;
  }
}

/**
 * Sends a request and returns its whole response. Rejects with the signal's reason, with `refused`, with `unreachable`,
 * or with the error of the stream that is the body. `Body` is the type that the API promises for a status of 2xx.
 *
 * @param timeoutMilliseconds 0 means no limit.
 */
export async function call<Body = unknown>(
  api: JsonApi,
  request: JsonRequest,
  timeoutMilliseconds: number,
): Promise<JsonAnswer<Body>> {
  const deadline = timeoutMilliseconds === 0 ? null : AbortSignal.timeout(timeoutMilliseconds);
  const signal = deadline === null ? request.signal : AbortSignal.any([request.signal, deadline]);
  try {
    const response = await answered(api, { ...request, signal }, 'calls');
    const answer = { status: response.statusCode ?? 0, body: parse(await textOf(api, response)) };
    return answer as JsonAnswer<Body>; // oxlint-disable-line typescript/no-unsafe-type-assertion -- the API is trusted
  } catch (error) {
    throw failureOf(api, request, {
      error,
      why: deadline?.aborted === true ? `gave no answer within ${timeoutMilliseconds / 1000} s` : 'does not answer',
    });
  }
}

/** Works like `call`, but returns the response as a stream. The caller reads it (`chunksOf`) or destroys it. */
export async function stream(api: JsonApi, request: JsonRequest): Promise<IncomingMessage> {
  try {
    return await answered(api, request, 'streams');
  } catch (error) {
    throw failureOf(api, request, { error, why: 'does not answer' });
  }
}

/** Returns what a failure means to the caller. */
function failureOf(api: JsonApi, { signal, body }: JsonRequest, { error, why }: { error: unknown; why: string }): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof HttpRefusal || isAppError(error)) return error;
  const isSource = typeof body === 'object' && 'errored' in body && body.errored === error;
  return isSource ? error : api.unreachable(why, error);
}

async function answered(api: JsonApi, request: JsonRequest, use: 'calls' | 'streams'): Promise<IncomingMessage> {
  const { connection, prefix, repeatsIfStale } = api;
  const { method, path, headers, body, signal } = request;
  const search = new URLSearchParams(request.query).toString();
  const url = `${connection.origin}${prefix}${path}${search === '' ? '' : `?${search}`}`;
  for (let repeats = 0; ; repeats += 1) {
    const response = await send({ method, url, headers, body, signal, over: { connection, use }, repeatsIfStale });
    const status = response.statusCode ?? 0;
    if ((status >= 200 && status < 300) || request.accept?.includes(status) === true) return response;
    const words = wordsOf(await textOf(api, response));
    const milliseconds = api.repeatAfter?.(request, response, repeats) ?? null;
    if (milliseconds === null) throw api.refused(request, status, words);
    await abortablePause(milliseconds, signal);
  }
}

async function textOf({ maxBytes }: JsonApi, response: IncomingMessage): Promise<string> {
  return (await bodyOf(response, maxBytes)).toString('utf8');
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    // The body is empty, or plain text of a proxy or of the server's router. It is shown unchanged.
    return text;
  }
}

/** Returns the message of a refusal: the `message` of a JSON object, otherwise the whole text. */
export function wordsOf(text: string): string {
  const body = parse(text);
  const message = typeof body === 'object' && body !== null && 'message' in body ? body.message : undefined;
  return (typeof message === 'string' ? message : text).trim();
}
