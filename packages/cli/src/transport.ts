import type { IncomingMessage, RequestOptions } from 'node:http';
import type { HttpRequest, HttpResponse } from '@davit/client';
import { codeOf } from './errors.ts';

type Environment = Readonly<Partial<Record<string, string>>>;

/** The silence after which a server that holds a connection counts as gone. `fetch` waits as long. */
const silenceMilliseconds = 300_000;

/**
 * Sends a request, as `fetch` does and with the same errors. The `fetch` of Node.js takes 40 ms of processor time to
 * load, which is half of what a short command needs: only proxies and redirections, which `node:http` has not, use it.
 */
export async function send(url: string, request: HttpRequest, environment: Environment): Promise<HttpResponse> {
  if (usesProxy(environment)) return fetch(url, request);
  const message = await ask(url, request);
  const status = message.statusCode ?? 0;
  if (status >= 300 && status < 400 && message.headers.location !== undefined) {
    message.resume();
    return fetch(url, request);
  }
  return toResponse(message, status, request.signal);
}

/** Returns whether Node.js was told to use the proxies that variables name. */
function usesProxy({ NODE_USE_ENV_PROXY: isOn = '', NODE_OPTIONS: options = '' }: Environment): boolean {
  return isOn !== '' || [...process.execArgv, options].some((words) => words.includes('--use-env-proxy'));
}

/** Sends the request; returns the message of the server as soon as its headers are there. */
async function ask(url: string, sent: HttpRequest): Promise<IncomingMessage> {
  const { method = 'GET', headers, body, signal } = sent;
  // An import would read all exports of the module, WebSocket among them, which loads as much as `fetch` does.
  const { request } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http');
  signal?.throwIfAborted();
  const isStream = headers['accept'] === 'text/event-stream';
  const options: RequestOptions = {
    method,
    headers: {
      ...headers,
      ...(!isStream && { 'accept-encoding': 'gzip' }),
      ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
    },
    timeout: silenceMilliseconds,
    ...(signal && { signal }),
  };
  try {
    return await new Promise<IncomingMessage>((resolve, reject) => {
      const asking = request(url, options, resolve);
      asking.on('timeout', () => asking.destroy(new Error(`no answer in ${silenceMilliseconds / 1000} s`)));
      asking.on('error', (error) => {
        // The server closed the kept connection while the request was on its way.
        const isStale = asking.reusedSocket && codeOf(error) === 'ECONNRESET' && method === 'GET';
        if (isStale) ask(url, sent).then(resolve, reject);
        else reject(error);
      });
      asking.end(body);
    });
  } catch (error) {
    throw failureOf('fetch failed', error, signal);
  }
}

/** Returns the error that `fetch` throws: the reason of the signal, or a TypeError with the cause. */
function failureOf(message: string, error: unknown, signal: AbortSignal | undefined): Error {
  if (signal?.aborted === true) return signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason));
  return error instanceof TypeError ? error : new TypeError(message, { cause: error });
}

function toResponse(message: IncomingMessage, status: number, signal: AbortSignal | undefined): HttpResponse {
  const isPacked = message.headers['content-encoding'] === 'gzip';
  return {
    ok: status >= 200 && status < 300,
    status,
    headers: {
      get: (name) => {
        const value = message.headers[name.toLowerCase()];
        return value === undefined ? null : String(value);
      },
    },
    get body() {
      return ReadableStream.from(chunksOf(message, signal));
    },
    text: async () => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of chunksOf(message, signal)) chunks.push(chunk);
      const bytes = Buffer.concat(chunks);
      return (isPacked ? await unpack(bytes) : bytes).toString('utf8');
    },
  };
}

async function* chunksOf(message: IncomingMessage, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of message) yield chunk;
  } catch (error) {
    throw failureOf('terminated', error, signal);
  }
}

async function unpack(bytes: Buffer): Promise<Buffer> {
  const { gunzipSync } = await import('node:zlib');
  try {
    return gunzipSync(bytes);
  } catch (error) {
    throw new TypeError('terminated', { cause: error });
  }
}
