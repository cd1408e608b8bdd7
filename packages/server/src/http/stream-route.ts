import type { IncomingHttpHeaders } from 'node:http';
import type { Operation } from '@davit/contract';
import type { FastifyReply } from 'fastify';
import type { HttpContext } from './context.ts';
import { openOutlet, type Outlet } from './outlet.ts';
import type { Wording } from './wording.ts';
import type { Stream } from './call.ts';

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // Proxies such as nginx would buffer events that must be sent at once.
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
};

/** Returns the handler that responds with the stream that `open` returns. */
export function answerStream<Request extends { readonly startedAt: number }>(
  context: HttpContext,
  operation: Operation,
  open: (request: Request, reply: FastifyReply) => Promise<Stream>,
  wording: Wording | null,
): (request: Request, reply: FastifyReply) => Promise<void> {
  return async (request, reply) => {
    const stream = await open(request, reply);
    context.durations.observe(operation.id, operation.status, performance.now() - request.startedAt);
    const own = reply.getHeaders();
    reply.hijack();
    reply.raw.writeHead(operation.status, { ...definite(own), ...headers });
    reply.raw.flushHeaders();
    const { patienceMilliseconds, farewell } = stream;
    const outlet = openOutlet(reply.raw, { patienceMilliseconds, farewell });
    await stream.run(wording === null ? outlet : translatedOutlet(outlet, wording.events()));
  };
}

/** Returns an outlet that translates the data of events, by their names, before it writes them. */
export function translatedOutlet(outlet: Outlet, translations: ReadonlyMap<string, (data: unknown) => unknown>): Outlet {
  if (translations.size === 0) return outlet;
  const messageInWords = (message: string): string => {
    const translate = translations.get(/^event: (.*)$/m.exec(message)?.[1] ?? '');
    if (translate === undefined) return message;
    return message.replace(/^data: (.*)$/m, (_, data: string) => `data: ${JSON.stringify(translate(JSON.parse(data)))}`);
  };
  return { ...outlet, write: (text) => outlet.write(text.toString().split('\n\n').map(messageInWords).join('\n\n')) };
}

function definite(all: ReturnType<FastifyReply['getHeaders']>): Record<string, string | string[] | number> {
  return Object.fromEntries(Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** Returns the `Last-Event-ID` header; null if it is missing or empty. The handler rejects an invalid one. */
export function lastEventIdOf({ headers: sent }: { readonly headers: IncomingHttpHeaders }): string | null {
  const id = sent['last-event-id'];
  return typeof id === 'string' && id !== '' ? id : null;
}
