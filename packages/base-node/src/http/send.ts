import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type { Readable } from 'node:stream';
import { isPrivateAddress } from './addresses.ts';
import type { Connection } from './connection.ts';
import { PrivateTarget, publicLookup } from './public-lookup.ts';

/*
 * All HTTP requests that Davit sends go through `send`, apart from probes of instances and git's proxy. It uses
 * node:http and not undici. undici can do everything that is needed here, but the server already has node:http loaded,
 * and undici in use adds 18 MB to the memory of an idle process (see docs/adr/0031-one-http-client.md). undici also
 * reports a connection that ends before a response and one that ends in the middle of it with the same error.
 */

export interface HttpRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * A text or Buffer is sent with its length, a stream in chunks. The stream is destroyed when the request ends. If the
   * stream fails, the request fails with the stream's own error.
   */
  readonly body?: string | Buffer | Readable;
  /** Closes the socket, also while the response is read. */
  readonly signal: AbortSignal;
  /** The sockets to use. Left out: a new one for this request. */
  readonly over?: { readonly connection: Connection; readonly use: 'calls' | 'streams' };
  /** Whether the host may only have public addresses. Default: false. Not for a `connection`. */
  readonly isPublicOnly?: boolean;
  /** Whether any certificate is accepted. Default: false. A `connection` has its own setting. */
  readonly isUnchecked?: boolean;
  /**
   * Whether the request is sent again if a kept socket was closed by the server just when it was used, which is not
   * known to have had no effect. Default: false. Never for a stream as body.
   */
  readonly repeatsIfStale?: boolean;
}

/** Thrown when the server closed the connection before its response was complete. */
export class SeveredResponse extends Error {
  readonly code = 'ECONNRESET';

  constructor(cause?: unknown) {
    super('the connection ended in the middle of an answer', { cause });
    this.name = 'SeveredResponse';
  }
}

/** Thrown when a response is larger than the caller accepts. */
export class OversizedResponse extends Error {
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`the answer is larger than ${maxBytes} bytes`);
    this.name = 'OversizedResponse';
    this.maxBytes = maxBytes;
  }
}

/** The server closed a kept socket just when it was used. */
class StaleSocket extends Error {}

/**
 * Sends a request and resolves when the response begins, whatever its status. Redirects are not followed. The caller
 * reads the response to its end or destroys it. Rejects with
 * - the signal's reason,
 * - `PrivateTarget`,
 * - the error of the stream that is the body,
 * - or the error of Node.js, whose `code` is the reason: `ECONNREFUSED`, `CERT_HAS_EXPIRED`, …
 */
export async function send(request: HttpRequest): Promise<IncomingMessage> {
  let mayRepeat = request.repeatsIfStale === true && !isStream(request.body);
  for (;;) {
    try {
      return await sendOnce(request);
    } catch (error) {
      if (!(error instanceof StaleSocket)) throw error;
      if (!mayRepeat) throw error.cause;
      mayRepeat = false;
    }
  }
}

async function sendOnce({ url, body, signal, isPublicOnly = false, ...request }: HttpRequest): Promise<IncomingMessage> {
  signal.throwIfAborted();
  const target = new URL(url);
  // An address as the host is never looked up, so `publicLookup` does not see it.
  const host = target.hostname.replace(/^\[|\]$/g, '');
  if (isPublicOnly && isIP(host) !== 0 && isPrivateAddress(host)) throw new PrivateTarget(host, host);
  const { connection, use } = request.over ?? {};
  const options = {
    method: request.method,
    headers: {
      'user-agent': 'davit',
      ...request.headers,
      // The length is sent for all methods: without it, Node.js sends the body of a DELETE as if it were the next
      // request.
      ...(body !== undefined && !isStream(body) && { 'content-length': String(Buffer.byteLength(body)) }),
    },
    agent: connection === undefined || use === undefined ? (false as const) : connection[use],
    signal,
    ...(connection?.socketPath !== undefined && { socketPath: connection.socketPath }),
    ...(isPublicOnly && { lookup: publicLookup }),
    ...(connection === undefined && { rejectUnauthorized: request.isUnchecked !== true }),
  };
  const open = target.protocol === 'https:' ? https.request : http.request;
  return new Promise((resolve, reject) => {
    const sent = open(target, options, resolve);
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = sent.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the caller's own reason
      if (signal.aborted) reject(signal.reason);
      else reject(isStale ? new StaleSocket(error.message, { cause: error }) : error);
    });
    if (!isStream(body)) return void sent.end(body);
    // The socket does not notice that its source is gone: it would wait for more data forever.
    const isGone = (): boolean => body.destroyed && !body.readableEnded;
    const end = (): void => {
      if (isGone()) sent.destroy(body.errored ?? new Error('the body of the request was closed before its end'));
    };
    body.once('error', end).once('close', end);
    sent.once('close', () => body.destroy());
    if (isGone()) return end();
    body.pipe(sent);
  });
}

function isStream(body: HttpRequest['body']): body is Readable {
  return body !== undefined && typeof body !== 'string' && !Buffer.isBuffer(body);
}

/**
 * Yields the body of a response as it arrives. Fails with `SeveredResponse` if the connection ends first: a response
 * without a length could otherwise look complete. Destroys the response if the caller stops reading.
 */
export async function* chunksOf(response: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) yield chunk;
  } catch (error) {
    throw isSevered(error) ? new SeveredResponse(error) : error;
  }
  if (!response.complete) throw new SeveredResponse();
}

/** Returns whether an error says that a peer closed the connection. */
export function isSevered(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNRESET';
}

/** Returns the whole body of a response. Fails with `OversizedResponse`, or as `chunksOf`. */
export async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunksOf(response)) {
    length += chunk.length;
    // The server is not under Davit's control: its response must not fill the memory of this process.
    if (length > maxBytes) throw new OversizedResponse(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Returns the first bytes of the body of a response, and drops the rest. */
export async function startOf(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunksOf(response)) {
    chunks.push(chunk.subarray(0, maxBytes - length));
    length += chunk.length;
    if (length >= maxBytes) break;
  }
  return Buffer.concat(chunks);
}
