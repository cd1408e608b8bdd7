import { AppError } from '@davit/base';
import type { FastifyReply } from 'fastify';
import type { HttpContext } from './context.ts';

/** Counts a request for a key, sets the headers of D12, and throws RATE_LIMITED if the limit is exceeded. */
export function limitRequest(context: HttpContext, reply: FastifyReply, key: string): void {
  const { limiter } = context;
  if (limiter.limit === 0) return;
  const left = limiter.take(key);
  setLimitHeaders(context, reply, left);
  if (left >= 0) return;
  const seconds = limiter.secondsToReset();
  void reply.header('retry-after', String(seconds));
  throw new AppError({
    code: 'RATE_LIMITED',
    message: `Too many requests: ${limiter.limit} a minute are allowed. Try again in ${seconds} s.`,
  });
}

export function setLimitHeaders(context: HttpContext, reply: FastifyReply, left: number): void {
  const { limiter } = context;
  if (limiter.limit === 0) return;
  void reply
    .header('x-ratelimit-limit', String(limiter.limit))
    .header('x-ratelimit-remaining', String(Math.max(0, left)))
    .header('x-ratelimit-reset', String(limiter.secondsToReset()));
}
