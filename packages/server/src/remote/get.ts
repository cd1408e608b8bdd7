import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '@davit/base';
import { bodyOf, OversizedResponse, PrivateTarget, send as sendRequest } from '@davit/base-node';

/* Requests to hosts that callers name: registries and repositories. */

/** Restrictions on the hosts, and the timeout for all requests of one purpose together. */
export interface RemoteSettings {
  readonly allowPrivateTargets: boolean;
  readonly allowHttp: boolean;
  readonly skipTlsVerification?: boolean;
  readonly timeoutSeconds: number;
  /** Aborts after `timeoutSeconds`. */
  readonly signal: AbortSignal;
}

export function remoteSettings(
  config: { readonly allowPrivateTargets: boolean; readonly allowHttpRegistries: boolean },
  {
    skipTlsVerification = false,
    timeoutSeconds = 10,
  }: { readonly skipTlsVerification?: boolean; readonly timeoutSeconds?: number } = {},
): RemoteSettings {
  return {
    allowPrivateTargets: config.allowPrivateTargets,
    allowHttp: config.allowHttpRegistries,
    skipTlsVerification,
    timeoutSeconds,
    signal: AbortSignal.timeout(timeoutSeconds * 1000),
  };
}

export interface RemoteRequest {
  readonly url: URL;
  readonly accept: string;
  readonly authorization?: string | undefined;
  readonly maximumBytes: number;
}

/** A JSON request that changes something on the host. */
export interface RemoteChange extends RemoteRequest {
  readonly change: { readonly method: 'POST' | 'PUT' | 'PATCH'; readonly body: string };
}

export interface RemoteAnswer {
  /** The final URL after redirects. */
  readonly url: URL;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const maxRedirects = 5;
const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * Sends a GET and follows redirects; `authorization` is sent to the first origin only. Returns the response whatever
 * its status. REMOTE_UNREACHABLE, REMOTE_NOT_UNDERSTOOD (too large, too many redirects).
 */
export async function get(request: RemoteRequest, settings: RemoteSettings): Promise<RemoteAnswer> {
  let { url, authorization } = request;
  for (let count = 0; count <= maxRedirects; count += 1) {
    const answer = await getOnce({ ...request, url, authorization }, settings);
    const { location } = answer.headers;
    if (!redirects.has(answer.status) || location === undefined) return answer;
    const next = URL.canParse(location, url.href) ? new URL(location, url.href) : null;
    if (next === null) throw notUnderstood(url, 'it redirects to an invalid URL');
    if (next.origin !== url.origin) authorization = undefined;
    url = next;
  }
  throw notUnderstood(request.url, `it redirects more than ${maxRedirects} times`);
}

/** Sends a request that changes something, once, without following redirects. Otherwise like `get`. */
export function send(request: RemoteChange, settings: RemoteSettings): Promise<RemoteAnswer> {
  return getOnce(request, settings);
}

async function getOnce(request: RemoteRequest | RemoteChange, settings: RemoteSettings): Promise<RemoteAnswer> {
  const { url } = request;
  refuseUrl(url, settings);
  try {
    return await exchange(request, settings);
  } catch (error) {
    if (error instanceof PrivateTarget) throw privateTarget(error);
    if (error instanceof OversizedResponse) throw notUnderstood(url, error.message.replace('the answer', 'its answer'), error);
    if (settings.signal.aborted) throw unreachable(url, `it did not answer within ${settings.timeoutSeconds} seconds`, error);
    throw unreachable(url, reason(error), error);
  }
}

function refuseUrl(url: URL, settings: RemoteSettings): void {
  if (url.protocol === 'https:' || (url.protocol === 'http:' && settings.allowHttp)) return;
  throw unreachable(url, 'only https is allowed; the operator may set DAVIT_ALLOW_HTTP_REGISTRIES=true for http');
}

async function exchange(request: RemoteRequest | RemoteChange, settings: RemoteSettings): Promise<RemoteAnswer> {
  const { url, accept, authorization, maximumBytes } = request;
  const change = 'change' in request ? request.change : undefined;
  const response = await sendRequest({
    method: change?.method ?? 'GET',
    url,
    headers: {
      accept,
      'accept-encoding': 'identity',
      ...(authorization !== undefined && { authorization }),
      ...(change !== undefined && { 'content-type': 'application/json' }),
    },
    ...(change !== undefined && { body: change.body }),
    signal: settings.signal,
    isPublicOnly: !settings.allowPrivateTargets,
    isUnchecked: settings.skipTlsVerification === true,
  });
  const body = await bodyOf(response, maximumBytes);
  return { url, status: response.statusCode ?? 0, headers: response.headers, body };
}

function privateTarget({ host, address }: PrivateTarget): AppError {
  const message = `${host} is at the private address ${address}, which is not allowed here. The operator may set DAVIT_ALLOW_PRIVATE_TARGETS=true.`;
  return new AppError({ code: 'REMOTE_UNREACHABLE', message });
}

const reasons: Readonly<Record<string, string>> = {
  ENOTFOUND: 'its name does not resolve',
  EAI_AGAIN: 'its name does not resolve at the moment',
  ECONNREFUSED: 'nothing accepts connections there',
  ECONNRESET: 'it ended the connection',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  ETIMEDOUT: 'nothing answers there',
  CERT_HAS_EXPIRED: 'its TLS certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its TLS certificate is signed by itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'its TLS certificate is signed by an authority that this machine does not trust',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its TLS certificate is signed by an authority that this machine does not trust',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its TLS certificate is signed by an authority that this machine does not trust',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its TLS certificate is for another name',
};

function reason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return reasons[code] ?? `the connection failed${code === '' ? '' : ` (${code})`}`;
}

export function unreachable(url: URL, why: string, cause?: unknown): AppError {
  return new AppError({ code: 'REMOTE_UNREACHABLE', message: `${url.host} cannot be reached: ${why}.`, cause });
}

export function notUnderstood(url: URL, why: string, cause?: unknown): AppError {
  return new AppError({ code: 'REMOTE_NOT_UNDERSTOOD', message: `The answer of ${url.host} cannot be used: ${why}.`, cause });
}

export function refused(url: URL, why: string): AppError {
  return new AppError({ code: 'REMOTE_REFUSED', message: `${url.host} refused: ${why}.` });
}
