import { isUuid } from '@davit/base';
import type { Body, Operation } from '@davit/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods, RouteOptions } from 'fastify';
import { refusal, suffices, targetNotFound } from '../auth/authorize.ts';
import type { Caller } from '../auth/caller.ts';
import { securityHeaders } from './failures.ts';
import { limitRequest } from './limit.ts';
import { OtherStatus, type Call, type MountedOperation } from './mount.ts';
import { pageOf, isPaged } from './paging.ts';
import type { Room } from './server.ts';
import { bodyChecker, queryChecker } from './validation.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Id of the operation that the route is. */
    operation?: string;
  }
}

type Parameters = Readonly<Record<string, string>>;

/**
 * Makes a route of an operation. Order of the checks: token (401), rate (429), ids (404), scope (403 or 404), then the body is
 * read (413, 415, 400) and checked (400), then the handler runs, which checks that the caller may see what it reads (404).
 */
export function addOperation(app: FastifyInstance, room: Room, mounted: MountedOperation): void {
  const { operation } = mounted;
  const route: RouteOptions = {
    method: operation.method as HTTPMethods,
    url: operation.path.replaceAll(/\{([^}]+)\}/g, ':$1'),
    config: { operation: operation.id },
    schema: operation.response === null ? {} : { response: { [operation.status]: operation.response } },
    onRequest: admission(room, operation),
    onResponse: (_request, reply, done) => {
      room.durations.observe(operation.id, reply.statusCode, reply.elapsedTime);
      if (room.options.logRequests) logRequest(operation.id, reply);
      done();
    },
    handler: handlerOf(mounted),
  };
  app.route(route);
}

function logRequest(operation: string, reply: FastifyReply): void {
  const caller = reply.request.caller;
  reply.log.info(
    { operation, status: reply.statusCode, ms: Math.round(reply.elapsedTime * 10) / 10, actor: caller?.actor },
    'request',
  );
}

type Admission = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void;

/** Token, rate, ids and scope: all that is decided before the body is read. Waits for nothing when the token is remembered. */
function admission(room: Room, operation: Operation): Admission {
  const { authenticator } = room.options;
  const ids = [...operation.path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1] ?? '').filter((name) => name.endsWith('Id'));

  const admit = (request: FastifyRequest, reply: FastifyReply, caller: Caller): Promise<never> | undefined => {
    limitRequest(room, request, reply, caller.actor);
    const parameters = request.params as Parameters;
    for (const name of ids) if (!isUuid(parameters[name] ?? '')) throw targetNotFound(operation);
    if (!suffices(caller, operation)) return refuse(room, operation, caller, parameters[ids[0] ?? '']);
    request.caller = caller;
    return undefined;
  };

  return (request, reply, done) => {
    try {
      const { authorization, 'user-agent': userAgent } = request.headers;
      const caller = authenticator.remembered(authorization, userAgent);
      const pending = caller === undefined ? lookUpAndAdmit(room, request, reply, admit) : admit(request, reply, caller);
      if (pending === undefined) done();
      else void pending.then(() => done(), done);
    } catch (error) {
      settle(room, request, reply, error, done);
    }
  };
}

async function refuse(room: Room, operation: Operation, caller: Caller, id: string | undefined): Promise<never> {
  throw await refusal(room.options, caller, operation, id);
}

type Admit = (request: FastifyRequest, reply: FastifyReply, caller: Caller) => Promise<never> | undefined;

async function lookUpAndAdmit(room: Room, request: FastifyRequest, reply: FastifyReply, admit: Admit): Promise<void> {
  const { authorization, 'user-agent': userAgent } = request.headers;
  // Guessing tokens is what an unknown one may be: counted by address, before the database is asked.
  limitRequest(room, request, reply, request.ip);
  const caller = await room.options.authenticator.lookUp(authorization, userAgent);
  await admit(request, reply, caller);
}

// A request without a usable token never came to the point where it is counted.
function settle(room: Room, request: FastifyRequest, reply: FastifyReply, error: unknown, done: (error?: Error) => void): void {
  try {
    if (!reply.hasHeader('x-ratelimit-limit')) limitRequest(room, request, reply, request.ip);
    done(error as Error);
  } catch (limited) {
    done(limited as Error);
  }
}

type RouteHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

function handlerOf({ operation, handler }: MountedOperation): RouteHandler {
  const checkBody = bodyChecker(operation);
  const checkQuery = queryChecker(operation);
  const paged = isPaged(operation);

  const run = (request: FastifyRequest): Promise<unknown> => {
    const { caller } = request;
    if (caller === null) throw new Error(`a request reached ${operation.id} without a caller`);
    const call: Call<Operation> = {
      params: request.params as Parameters,
      query: checkQuery(request.query as Record<string, unknown>),
      body: checkBody(request.body, request.bodyBytes) as Body<Operation>,
      caller,
    };
    return handler(call);
  };

  // The common case, without an await of its own.
  if (operation.response !== null && operation.otherStatus === undefined) {
    return (request, reply) => {
      void reply.code(operation.status).headers(securityHeaders);
      return paged ? pageOf(request.query as Record<string, unknown>, run(request)) : run(request);
    };
  }
  return async (request, reply) => {
    const result = await run(request);
    void reply.code(result instanceof OtherStatus ? result.status : operation.status).headers(securityHeaders);
    return reply.send(result instanceof OtherStatus ? undefined : result);
  };
}
