import type { IncomingHttpHeaders } from 'node:http';
import type { Operation } from '@davit/contract';
import type { FastifyReply } from 'fastify';
import type { Caller } from '../auth/caller.ts';
import type { AnyCall } from './mount.ts';
import { openOutlet, type Outlet } from './outlet.ts';
import type { Room } from './server.ts';

/** A checked request of a stream. */
export interface StreamCall extends AnyCall {
  /** Id of the last event that the client has received; null at the first request. */
  readonly lastEventId: string | null;
  /**
   * Checks again who the caller is and what it may do. Returns the caller and when the result expires. Throws
   * UNAUTHORIZED, TOKEN_EXPIRED, FORBIDDEN, NOT_FOUND.
   */
  readonly admit: () => Promise<Admitted>;
}

export interface Admitted {
  readonly caller: Caller;
  /** Milliseconds since 1970; infinite if the token does not expire. */
  readonly expiresAt: number;
}

/** A stream that is ready to begin; every check has passed before. */
export interface Stream {
  /** Sends events until there are no more or the client is gone; never rejects. */
  run(outlet: Outlet): Promise<void>;
  readonly patienceMilliseconds: number;
  readonly farewell: string;
}

export type StreamHandler = (call: StreamCall) => Promise<Stream>;

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // Proxies such as nginx would buffer events that must be sent at once.
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
};

/** Returns the handler that responds with the stream that `open` returns. */
export function answerStream<Request extends { readonly startedAt: number }>(
  room: Room,
  operation: Operation,
  open: (request: Request) => Promise<Stream>,
): (request: Request, reply: FastifyReply) => Promise<void> {
  return async (request, reply) => {
    const stream = await open(request);
    room.durations.observe(operation.id, operation.status, performance.now() - request.startedAt);
    const own = reply.getHeaders();
    reply.hijack();
    reply.raw.writeHead(operation.status, { ...definite(own), ...headers });
    reply.raw.flushHeaders();
    const { patienceMilliseconds, farewell } = stream;
    await stream.run(openOutlet(reply.raw, { patienceMilliseconds, farewell }));
  };
}

function definite(all: ReturnType<FastifyReply['getHeaders']>): Record<string, string | string[] | number> {
  return Object.fromEntries(Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** Returns the `Last-Event-ID` header; null if it is missing or empty. The handler rejects an invalid one. */
export function lastEventIdOf({ headers: sent }: { readonly headers: IncomingHttpHeaders }): string | null {
  const id = sent['last-event-id'];
  return typeof id === 'string' && id !== '' ? id : null;
}
