import { PrivateTarget, send, startOf } from '@davit/base-node';
import { targetProblem } from './target.ts';

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

const maxBytes = 4096;

/**
 * Sends a body and returns the response, whatever its status. Does not follow redirects. Rejects if there is no
 * response.
 */
export async function post({ url, headers, body, allowPrivate, signal }: Post): Promise<PostAnswer> {
  const problem = targetProblem(url, allowPrivate);
  if (problem !== undefined) throw new Error(`target_url ${problem}`);
  const response = await send({ method: 'POST', url, headers, body, signal, isPublicOnly: !allowPrivate }).catch(inWords);
  const start = await startOf(response, maxBytes);
  // PostgreSQL cannot store U+0000 and broken UTF-8.
  return { status: response.statusCode ?? 0, body: start.toString('utf8').replaceAll('\0', '\u{fffd}') };
}

function inWords(error: unknown): never {
  if (!(error instanceof PrivateTarget)) throw error;
  throw new Error(`${error.host} is on this machine or in a private network, which webhooks may not call here`, { cause: error });
}
