import { textTypeOf, type Operation } from '@davit/contract';
import type { FastifyInstance } from 'fastify';
import { errorAnswer } from './answers.ts';
import type { HttpContext } from './context.ts';
import { sendError } from './failures.ts';
import { setLimitHeaders } from './limit.ts';
import { staticText, type StaticText } from './static-text.ts';

/** Translations of the bodies of an example. */
export interface ExampleWords {
  request(body: unknown): unknown;
  answer(body: unknown): unknown;
}

interface ExamplePath {
  readonly operationId: string;
  readonly part: string;
}

export interface ExampleOptions {
  /** Where the description of the API is, without a trailing slash. Default: the root. */
  readonly basePath?: string;
  /** Returns the translations into the words of the base path. Default: none. */
  readonly words?: (operation: Operation) => ExampleWords;
}

const own: ExampleWords = { request: (body) => body, answer: (body) => body };

/**
 * Serves the examples of all operations: `examples/<operation>/request` and `…/answer`, each as it would be sent. They
 * need no token.
 */
export function addExamples(
  app: FastifyInstance,
  context: HttpContext,
  operations: readonly Operation[],
  { basePath = '', words = () => own }: ExampleOptions = {},
): void {
  const byId = new Map(operations.map((one) => [one.id, one]));
  const texts = new Map<string, StaticText>();
  app.get<{ Params: ExamplePath }>(`${basePath}/examples/:operationId/:part`, async (request, reply) => {
    setLimitHeaders(context, reply, context.limiter.peek(request.ip));
    const { operationId, part } = request.params;
    const operation = byId.get(operationId);
    // The examples are loaded with the first request, as most servers are never asked for one.
    const { exampleOf } = await import('@davit/contract/examples');
    const example = exampleOf(operationId);
    const body = part === 'request' ? example?.request : part === 'answer' ? example?.answer : undefined;
    if (operation === undefined || body === undefined) {
      const message = `There is no example of ${operationId} with that name. The reference at /docs shows all examples.`;
      return sendError(reply, errorAnswer('NOT_FOUND', message));
    }
    const key = `${operationId} ${part}`;
    const text = texts.get(key) ?? exampleText(operation, part, body, words(operation));
    texts.set(key, text);
    return text.send(request, reply.header('x-content-type-options', 'nosniff'));
  });
}

function exampleText(operation: Operation, part: string, body: unknown, words: ExampleWords): StaticText {
  const type = typeOf(operation, part);
  const worded = (): unknown => (part === 'request' ? words.request(body) : words.answer(body));
  if (type === undefined) return staticText('application/json; charset=utf-8', () => JSON.stringify(worded(), null, 2));
  return staticText(`${type}; charset=utf-8`, () => String(worded()));
}

/** Returns the media type of a text, or undefined for JSON. */
function typeOf(operation: Operation, part: string): string | undefined {
  if (part === 'request') return operation.mediaType;
  // A browser that opens the address of a stream's example should show it, and not wait for more.
  return operation.events === undefined ? textTypeOf(operation) : 'text/plain';
}
