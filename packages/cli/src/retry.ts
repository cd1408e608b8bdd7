import { sleep, type HttpRequest, type HttpResponse, type Send } from '@davit/client';

/** HTTP statuses that pass: of RATE_LIMITED, OVERLOADED, DATABASE_UNAVAILABLE and the like. */
const passing: ReadonlySet<number> = new Set([429, 503]);
const firstPauseMilliseconds = 500;
/** The time in which a read is sent again. After it, the refusal of the server is reported. */
const longestMilliseconds = 30_000;

/**
 * Returns a function that sends reads again while the server has no capacity for them, after growing pauses, which are
 * no shorter than its `Retry-After`. A refusal that would last longer than 30 seconds is returned as it is.
 * Writes are sent once, as one may have had its effect. Streams have pauses of their own.
 */
export function retrying(send: Send): Send {
  return async (url, request) => {
    const end = performance.now() + longestMilliseconds;
    for (let pause = firstPauseMilliseconds; ; pause *= 2) {
      const response = await send(url, request);
      if (!isRead(request) || !passing.has(response.status)) return response;
      const wait = Math.max(retryAfterOf(response), pause);
      if (performance.now() + wait > end) return response;
      // The connection is free for the next request once the response is read.
      await response.text();
      await sleep(wait, request.signal);
      request.signal?.throwIfAborted();
    }
  };
}

function isRead({ method = 'GET', headers }: HttpRequest): boolean {
  return method === 'GET' && headers['accept'] !== 'text/event-stream';
}

/** Returns the milliseconds of `Retry-After`; 0 if the response has none, or one that is a date. */
function retryAfterOf({ headers }: HttpResponse): number {
  const text = headers.get('retry-after') ?? '';
  return /^\d+$/.test(text) ? Number(text) * 1000 : 0;
}
