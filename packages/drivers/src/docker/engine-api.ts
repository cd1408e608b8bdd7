import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { messageOf } from '@davit/base';
import type Dockerode from 'dockerode';
import { DriverError } from '../errors.ts';

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

export interface EngineAnswer<Body = unknown> {
  readonly status: number;
  /** Response body: parsed JSON, or text if the body is not JSON. */
  readonly body: Body;
}

/** Thrown when the engine responds with a status that is not accepted. */
export class EngineRefusal extends Error {
  readonly status: number;
  /** Error message of the engine, unchanged. */
  readonly words: string;

  constructor(request: EngineRequest, status: number, words: string) {
    super(`${request.method} ${request.path}: ${status} ${words}`);
    this.name = 'EngineRefusal';
    this.status = status;
    this.words = words;
  }
}

const defaultTimeoutMilliseconds = 120_000;

/**
 * Calls the engine's API over dockerode's connection, which handles sockets, hosts, TLS and the negotiated version.
 * dockerode's own methods are not used: if the engine disconnects in the middle of a response, docker-modem 5.0 waits
 * for an `end` event that never fires, and the promise stays pending forever.
 *
 * Every call here ends in one of these ways:
 * - It returns a response.
 * - It fails with an `EngineRefusal`.
 * - It fails with a `DriverError` ENGINE_UNREACHABLE (retryable).
 * - It fails with the signal's reason.
 *
 * `Body` is the type that the engine's API promises for a 2xx status.
 */
export async function call<Body = unknown>(docker: Dockerode, request: EngineRequest): Promise<EngineAnswer<Body>> {
  const milliseconds = request.timeoutMilliseconds ?? defaultTimeoutMilliseconds;
  const deadline = milliseconds === 0 ? null : AbortSignal.timeout(milliseconds);
  const signal = deadline ? AbortSignal.any([request.signal, deadline]) : request.signal;
  try {
    const response = await dial(docker, request, signal);
    const answer = checked(request, response, parse(await text(response)));
    return answer as EngineAnswer<Body>; // oxlint-disable-line typescript/no-unsafe-type-assertion -- the engine's API is trusted
  } catch (error) {
    request.signal.throwIfAborted();
    if (error instanceof EngineRefusal || error instanceof DriverError) throw error;
    const why = deadline?.aborted ? `gave no answer within ${milliseconds / 1000} s` : 'does not answer';
    throw unreachable(why, error);
  }
}

/** Like `call`, but returns the response as a stream. The caller reads `response` to its end or destroys it. */
export async function stream(docker: Dockerode, request: EngineRequest): Promise<IncomingMessage> {
  try {
    const response = await dial(docker, request, request.signal);
    if (isSuccess(response, request)) return response;
    const body = parse(await text(response));
    checked(request, response, body);
    return response;
  } catch (error) {
    request.signal.throwIfAborted();
    if (error instanceof EngineRefusal || error instanceof DriverError) throw error;
    throw unreachable('does not answer', error);
  }
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

interface ModemOptions {
  path: string;
  method: string;
  options?: { _query: Readonly<Record<string, string>>; _body: object };
  file?: Buffer | Readable;
  authconfig?: RegistryAuth;
  isStream: true;
  statusCodes: Readonly<Record<number, true>>;
  abortSignal: AbortSignal;
}

interface Modem {
  dial(options: ModemOptions, callback: (error: Error | null, response: IncomingMessage) => void): void;
}

// The modem treats every status as success. `checked` distinguishes them, in one place for all calls.
const allStatuses: Readonly<Record<number, true>> = Object.fromEntries(
  Array.from({ length: 500 }, (_, offset) => [100 + offset, true] as const),
);

function dial(docker: Dockerode, request: EngineRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const modem = docker.modem as unknown as Modem; // oxlint-disable-line typescript/no-unsafe-type-assertion -- its types lack abortSignal
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    modem.dial(
      {
        // The modem appends the query to a path that ends with a question mark.
        path: `${request.path}?`,
        method: request.method,
        options: { _query: request.query ?? {}, _body: request.body ?? {} },
        ...(request.archive && { file: request.archive }),
        ...(request.registryAuth && { authconfig: request.registryAuth }),
        isStream: true,
        statusCodes: allStatuses,
        abortSignal: signal,
      },
      (error, response) => (error ? reject(error) : resolve(response)),
    );
  });
}

/** Returns the response body as typed chunks: Node.js emits buffers unless an encoding is set. */
export function chunksOf(response: IncomingMessage): AsyncIterable<Buffer> {
  return response;
}

async function text(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of chunksOf(response)) chunks.push(chunk);
  // Without this check, a connection that ends early can look like a short response.
  if (!response.complete) throw new Error('the connection ended in the middle of an answer');
  return Buffer.concat(chunks).toString('utf8');
}

function parse(content: string): unknown {
  if (content === '') return '';
  try {
    const value: unknown = JSON.parse(content);
    return value;
  } catch {
    // The body is plain text of a proxy or of the engine's router. It is shown unchanged.
    return content;
  }
}

function isSuccess(response: IncomingMessage, request: EngineRequest): boolean {
  const status = response.statusCode ?? 0;
  return (status >= 200 && status < 300) || request.accept?.includes(status) === true;
}

function checked(request: EngineRequest, response: IncomingMessage, body: unknown): EngineAnswer {
  const status = response.statusCode ?? 0;
  if (isSuccess(response, request)) return { status, body };
  throw new EngineRefusal(request, status, words(body));
}

function words(body: unknown): string {
  if (typeof body === 'string') return body.trim();
  const message = typeof body === 'object' && body !== null && 'message' in body ? body.message : undefined;
  return typeof message === 'string' ? message.trim() : JSON.stringify(body);
}
