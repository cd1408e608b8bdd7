import { lookup as lookUpName, type LookupAddress } from 'node:dns';
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { isPrivateAddress, targetProblem } from './target.ts';

export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly allowPrivate: boolean;
  readonly signal: AbortSignal;
}

export interface PostAnswer {
  readonly status: number;
  /** Beginning of the response body. */
  readonly body: string;
}

const mostBytes = 4096;

/**
 * Sends a body and returns the response, whatever its status. Does not follow redirects. Rejects if there is no
 * response. Connects to the same address that was checked, so that a DNS name cannot change its address after the
 * check.
 */
export function post({ url, headers, body, allowPrivate, signal }: Post): Promise<PostAnswer> {
  const problem = targetProblem(url, allowPrivate);
  if (problem !== undefined) return Promise.reject(new Error(`target_url ${problem}`));
  const target = new URL(url);
  const request = target.protocol === 'https:' ? requestHttps : requestHttp;
  const length = String(Buffer.byteLength(body));
  const options = {
    method: 'POST',
    headers: { ...headers, 'content-length': length },
    agent: false,
    signal,
    ...(allowPrivate ? {} : { lookup: publicLookup }),
  };
  return new Promise((resolve, reject) => {
    const sent = request(target, options, (response) => {
      readAnswer(response).then(resolve, reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

async function readAnswer(response: IncomingMessage): Promise<PostAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    if (!Buffer.isBuffer(chunk)) continue;
    chunks.push(chunk.subarray(0, mostBytes - bytes));
    bytes += chunk.length;
    if (bytes >= mostBytes) break;
  }
  // PostgreSQL cannot store U+0000 and broken UTF-8.
  const body = Buffer.concat(chunks).toString('utf8').replaceAll('\0', '\u{fffd}');
  return { status: response.statusCode ?? 0, body };
}

const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookUpName(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    if (error !== null) return callback(error, []);
    const usable = addresses.filter(({ address }) => !isPrivateAddress(address));
    const [first] = usable;
    if (first === undefined) {
      return callback(new Error(`${hostname} is on this machine or in a private network, which webhooks may not call here`), []);
    }
    return options.all === true ? callback(null, usable) : callback(null, first.address, first.family);
  });
};
