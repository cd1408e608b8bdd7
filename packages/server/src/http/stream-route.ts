import type { IncomingHttpHeaders } from 'node:http';
import type { Operation } from '@davit/contract';
import type { FastifyReply } from 'fastify';
import type { Caller } from '../auth/caller.ts';
import type { AnyCall } from './mount.ts';
import { openOutlet, type Outlet } from './outlet.ts';
import type { Room } from './server.ts';

/** A request of a stream, checked. */
export interface StreamCall extends AnyCall {
  /** Id of the last event that the client has; null: it begins. */
  readonly lastEventId: string | null;
  /** Checks anew who calls and what it may; until when that holds. Throws UNAUTHORIZED, TOKEN_EXPIRED, FORBIDDEN, NOT_FOUND. */
  readonly admit: () => Promise<Admitted>;
}

export interface Admitted {
  readonly caller: Caller;
  /** Milliseconds since 1970; infinite where the token does not expire. */
  readonly expiresAt: number;
}

/** A stream that may begin. Whatever there is to refuse was refused before. */
export interface Stream {
  /** Tells until there is nothing more to tell or the client is gone; never rejects. */
  run(outlet: Outlet): Promise<void>;
  readonly patienceMilliseconds: number;
  readonly farewell: string;
}

export type StreamHandler = (call: StreamCall) => Promise<Stream>;

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // Proxies of nginx' kind would gather what is to be told at once.
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
};

/** Answers with what the handler opens. */
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

/** A wrong one is for the handler to refuse. */
export function lastEventIdOf({ headers: sent }: { readonly headers: IncomingHttpHeaders }): string | null {
  const id = sent['last-event-id'];
  return typeof id === 'string' && id !== '' ? id : null;
}
