import type { Socket } from 'node:net';
import { AppError } from '@davit/base';
import { TooManyAttempts } from '../auth/attempts.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { answerOf, errorAnswer, type ErrorAnswer } from './answers.ts';
import { limitRequest } from './limit.ts';
import type { Methods } from './methods.ts';
import type { HttpContext } from './context.ts';

export function overloaded(): AppError {
  return new AppError({ code: 'OVERLOADED', message: 'The server is overloaded at the moment. Try again in a few seconds.' });
}

/** Makes every failure return the error body of D9: failures of handlers, of Fastify and of unknown routes. */
export function handleErrors(app: FastifyInstance, context: HttpContext, methods: Methods): void {
  app.setErrorHandler((error, request, reply) => {
    const answer = answerOf(error, request.id);
    if (answer.status >= 500) logFailure(request, error, answer);
    // Under a base path the failure is the cause of the one in other words.
    const causes = error instanceof Error ? [error, error.cause] : [];
    const attempts = causes.find((one) => one instanceof TooManyAttempts);
    if (attempts !== undefined) void reply.header('retry-after', String(attempts.seconds));
    return sendError(reply, answer);
  });
  app.setNotFoundHandler((request, reply) => {
    limitRequest(context, reply, request.ip);
    const allowed = methods.of(pathOf(request.url));
    if (allowed.length === 0) {
      return sendError(
        reply,
        errorAnswer('ROUTE_NOT_FOUND', 'There is no such path in this API. /openapi.json lists all operations.'),
      );
    }
    void reply.header('allow', allowed.join(', '));
    if (request.method === 'OPTIONS') return reply.code(204).headers(securityHeaders).send();
    const message = `${request.method} is not supported by this path; use ${allowed.join(', ')}.`;
    return sendError(reply, errorAnswer('METHOD_NOT_ALLOWED', message));
  });
}

/** Returns the thrown value as an Error, as callbacks require. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Sends an error response with the headers that belong to its code. */
export function sendError(reply: FastifyReply, answer: ErrorAnswer): FastifyReply {
  void reply.code(answer.status).header('content-type', 'application/json; charset=utf-8').headers(securityHeaders);
  if (answer.status === 401) void reply.header('www-authenticate', challenges[answer.code] ?? challenges['UNAUTHORIZED']);
  if (answer.status === 503) void reply.header('retry-after', '5');
  return reply.serializer(JSON.stringify).send(answer);
}

const challenges: Readonly<Record<string, string>> = {
  UNAUTHORIZED: 'Token realm="davit", Bearer realm="davit"',
  TOKEN_EXPIRED: 'Token realm="davit", Bearer realm="davit", error="invalid_token", error_description="The token has expired"',
};

/**
 * Headers of data responses: caches must not store them, and browsers must not interpret them as a page. The
 * other headers of pages are omitted, since each header costs time on every response.
 */
export const securityHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

/** Logs a failure of the server itself, without the query, which may hold values that must not be logged. */
export function logFailure(request: FastifyRequest, error: unknown, answer: ErrorAnswer): void {
  const level = answer.status === 500 ? 'error' : 'warn';
  request.log[level](
    { err: error, operation: request.routeOptions.config.operation, method: request.method, path: pathOf(request.url) },
    answer.status === 500 ? 'a request failed' : answer.message,
  );
}

/** Returns the path of a URL without the query, which may hold values that must not be logged. */
export function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}

/**
 * Responds to input that is not HTTP and to requests that do not arrive in time. Fastify has no request object for
 * these.
 */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const answer = clientErrorAnswer(error.code);
  const body = JSON.stringify(answer);
  const head = [
    `HTTP/1.1 ${answer.status} ${answer.error}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function clientErrorAnswer(code: string | undefined): ErrorAnswer {
  if (code === 'HPE_HEADER_OVERFLOW') return errorAnswer('HEADERS_TOO_LARGE', 'The headers of the request are too large.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return errorAnswer('REQUEST_TIMEOUT', 'The request did not arrive in time.');
  return errorAnswer('MALFORMED_REQUEST', 'This is not a valid HTTP request.');
}
