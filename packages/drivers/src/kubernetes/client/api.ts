import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import { abortablePause, messageOf } from '@davit/base';
import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import { DriverError } from '../../errors.ts';
import { asksNode, tellsAbsence } from './absence.ts';
import type { ClusterAccess } from './kubeconfig.ts';

/** A connection to an API server. */
export interface Api {
  readonly access: ClusterAccess;
  /** Keeps connections open between requests. */
  readonly agent: https.Agent;
  /** Agent for long-lived responses: one connection for each log and watch, so that none of them blocks a request. */
  readonly streams: https.Agent;
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

export interface ApiAnswer<Body> {
  readonly status: number;
  /** Parsed JSON, or the text if it is not JSON. */
  readonly body: Body;
}

/** The API server responded and refused the request. */
export class ApiRefusal extends Error {
  readonly status: number;
  /** The server's own message. */
  readonly words: string;

  constructor(request: Pick<ApiRequest, 'method' | 'path'>, status: number, words: string) {
    super(`${request.method} ${request.path}: ${status} ${words}`);
    this.name = 'ApiRefusal';
    this.status = status;
    this.words = words;
  }
}

/** Longer than any API server needs for a response. Watches and logs have no such limit. */
const timeoutMilliseconds = 60_000;
/**
 * How often a request is repeated if the server was too busy, and the pause before each repeat: `repeatMilliseconds` if
 * the server sends no Retry-After, at most `mostRepeatMilliseconds` if it does.
 */
const mostRepeats = 2;
const repeatMilliseconds = 1_000;
const mostRepeatMilliseconds = 5_000;
const mostBytes = 128 * 1024 * 1024;

export function openApi(access: ClusterAccess): Api {
  const options = { keepAlive: true, ...tlsOptions(access) };
  const agent = new https.Agent({ ...options, maxSockets: 32 });
  return { access, agent, streams: new https.Agent(options) };
}

/** Closes all connections, including those in use. */
export function closeApi({ agent, streams }: Api): void {
  agent.destroy();
  streams.destroy();
}

/** Returns the TLS options for an API server. */
export function tlsOptions(access: ClusterAccess): https.AgentOptions {
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

export function urlOf({ access }: Api, { path, query }: Pick<ApiRequest, 'path' | 'query'>): string {
  const search = new URLSearchParams(query).toString();
  return `${access.server}${path}${search === '' ? '' : `?${search}`}`;
}

/**
 * Sends a request and returns its whole response. Repeats the request a few times if the server is too busy: being busy
 * for a moment does not make a cluster unreachable. Rejects with an `ApiRefusal`, a `DriverError` ENGINE_UNREACHABLE
 * (retryable), or the signal's reason. `Body` is the type that the API promises for a status of 2xx.
 */
export async function call<Body = unknown>(api: Api, request: ApiRequest): Promise<ApiAnswer<Body>> {
  const deadline = AbortSignal.timeout(timeoutMilliseconds);
  const signal = AbortSignal.any([request.signal, deadline]);
  try {
    const response = await answered(api, api.agent, { ...request, signal });
    const answer = { status: response.statusCode ?? 0, body: parse(await bodyOf(response)) };
    return answer as ApiAnswer<Body>; // oxlint-disable-line typescript/no-unsafe-type-assertion -- the API is trusted
  } catch (error) {
    request.signal.throwIfAborted();
    if (error instanceof ApiRefusal || error instanceof DriverError) throw error;
    throw unreachable(deadline.aborted ? `gave no answer within ${timeoutMilliseconds / 1000} s` : 'does not answer', error);
  }
}

/** Returns a response as soon as it begins. Rejects with `refused` if its status is not accepted. */
async function answered(api: Api, agent: https.Agent, request: ApiRequest): Promise<IncomingMessage> {
  for (let repeats = 0; ; repeats += 1) {
    const response = await send(api, agent, request);
    const status = response.statusCode ?? 0;
    if (isAnswer(request, status)) return response;
    const words = wordsOf(await bodyOf(response));
    if (repeats >= mostRepeats || !isBusy(request, status)) throw refused(request, status, words);
    await abortablePause(repeatAfter(response), request.signal);
  }
}

/** Returns the error for a refusal: an `ApiRefusal` if the server works, otherwise ENGINE_UNREACHABLE. */
export function refused(request: Pick<ApiRequest, 'method' | 'path'>, status: number, words: string): ApiRefusal | DriverError {
  if (tellsAbsence(request, status, words)) return unreachable(`answers with ${status}`, words);
  return new ApiRefusal(request, status, words);
}

// A request that was rejected for lack of capacity (429) was not started. A request that failed in the server may have
// been processed, so only reads are repeated. Failed reads from a node are not repeated either: an unreachable node is
// dialed for half a minute each time.
function isBusy({ method, path }: ApiRequest, status: number): boolean {
  return status === 429 || (method === 'GET' && status >= 500 && !asksNode(path));
}

function repeatAfter({ headers }: IncomingMessage): number {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isNaN(seconds) ? repeatMilliseconds : Math.min(Math.max(seconds, 0) * 1_000, mostRepeatMilliseconds);
}

/** Works like `call` for a streamed response. The caller reads the response to its end or destroys it. */
export async function stream(api: Api, request: ApiRequest): Promise<IncomingMessage> {
  try {
    return await answered(api, api.streams, request);
  } catch (error) {
    request.signal.throwIfAborted();
    if (error instanceof ApiRefusal || error instanceof DriverError) throw error;
    throw unreachable('does not answer', error);
  }
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

// The server may close a kept connection just when it is used. Nothing has been processed then, and a new connection
// works.
async function send(api: Api, agent: https.Agent, request: ApiRequest): Promise<IncomingMessage> {
  try {
    return await sendOnce(api, agent, request);
  } catch (error) {
    if (!(error instanceof StaleConnection) || request.signal.aborted) throw error;
    return sendOnce(api, agent, request);
  }
}

class StaleConnection extends Error {}

function sendOnce(api: Api, agent: https.Agent, request: ApiRequest): Promise<IncomingMessage> {
  const { method, body, contentType = 'application/json', signal } = request;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const content = body && Buffer.from(JSON.stringify(body));
    const headers = {
      accept:
        request.metadataOnly === true ? 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' : 'application/json',
      'user-agent': 'davit',
      ...authorization(api.access),
      // Sent for all methods: without the length, Node.js sends the body of a DELETE as if it were the next request.
      ...(content && { 'content-type': contentType, 'content-length': content.length }),
    };
    const sent = https.request(urlOf(api, request), { method, headers, agent, signal }, resolve);
    sent.once('error', (error: NodeJS.ErrnoException) => {
      const isStale = sent.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      reject(isStale ? new StaleConnection(error.message, { cause: error }) : error);
    });
    sent.end(content);
  });
}

/** Returns the whole body of a response as text. */
export async function bodyOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    // The server is not under Davit's control: its response must not fill the memory of this process.
    if (length > mostBytes) throw new Error(`the answer is larger than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  if (!response.complete) throw new Error('the connection ended in the middle of an answer');
  return Buffer.concat(chunks).toString('utf8');
}

function isAnswer({ accept }: ApiRequest, status: number): boolean {
  return (status >= 200 && status < 300) || accept?.includes(status) === true;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Returns the message of a refusal: the message of a `Status`, or the whole text of anything else (a proxy). */
export function wordsOf(text: string): string {
  const body = parse(text);
  const message = typeof body === 'object' && body !== null && 'message' in body ? body.message : undefined;
  return (typeof message === 'string' ? message : text).trim().slice(0, 2_000);
}
