import { isUuid } from '@davit/base';
import { isPaged, textTypeOf, type Operation } from '@davit/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { admits, callerAt, refusal, targetNotFound } from '../auth/authorize.ts';
import { anonymous, type Caller } from '../auth/caller.ts';
import { narrowed } from '../auth/custom-role.ts';
import { answersRecord, changeOf, etagOf } from './change.ts';
import { compressAnswer } from './compression.ts';
import { securityHeaders, toError } from './failures.ts';
import { limitRequest } from './limit.ts';
import type { Admitted, AnyCall, Stream } from './call.ts';
import { authorizationOf, ClientFacts, refuseForeignPage } from './client-facts.ts';
import { OtherStatus, WithCookie, type MountedOperation } from './mount.ts';
import { pageOf } from './paging.ts';
import type { HttpContext } from './context.ts';
import { answerStream, lastEventIdOf } from './stream-route.ts';
import { bodyChecker, queryChecker } from './validation.ts';
import type { Wording } from './wording.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Id of the operation that the route serves. */
    operation?: string;
    /** Media type of the body, if the body is text. */
    mediaType?: string;
  }
}

interface Shape {
  Params: Record<string, string>;
  Querystring: Record<string, unknown>;
}
type OperationRequest = FastifyRequest<Shape>;

/**
 * Adds the routes of an operation: at its path, or in other words at the paths of a wording. The checks run in this
 * order: token (401), rate (429), ids (404), scope (403 or 404), reading the body (413, 415, 400), validating the body
 * (400). Then the handler runs, which checks that the caller may see the resources it reads (404).
 */
export function addOperation(
  app: FastifyInstance,
  context: HttpContext,
  mounted: MountedOperation,
  wording: Wording | null = null,
): void {
  for (const path of wording?.paths ?? [mounted.operation.path]) addRoute(app, context, { mounted, wording, path });
}

interface Route {
  readonly mounted: MountedOperation;
  readonly wording: Wording | null;
  readonly path: string;
}

function addRoute(app: FastifyInstance, context: HttpContext, { mounted, wording, path }: Route): void {
  const { operation } = mounted;
  const isCompressed = operation.method === 'GET' && operation.showsCredentials !== true;
  app.route<Shape>({
    method: operation.method,
    url: path.replaceAll(/\{([^}]+)\}/g, ':$1'),
    // The headers of a stream's response are known only when the stream begins.
    exposeHeadRoute: mounted.open === undefined,
    config: { operation: operation.id, ...(operation.mediaType === undefined ? {} : { mediaType: operation.mediaType }) },
    schema:
      operation.response === null || textTypeOf(operation) !== undefined
        ? {}
        : { response: { [operation.status]: wording === null ? operation.response : wording.response } },
    onRequest: operation.audience === 'anybody' ? openAdmission(context, operation) : admission(context, operation),
    // onResponse is not used: it costs two listeners per request, and adds the time that the socket takes.
    onSend: (request, reply, payload, done) => {
      const milliseconds = request.startedAt === 0 ? 0 : performance.now() - request.startedAt;
      context.durations.observe(operation.id, reply.statusCode, milliseconds);
      if (context.options.logRequests) logRequest(operation.id, reply, milliseconds);
      if (isCompressed) compressAnswer(request, reply, payload, done);
      else done(null, payload);
    },
    handler: handlerOf(context, mounted, wording),
  });
}

function logRequest(operation: string, reply: FastifyReply, milliseconds: number): void {
  const { caller } = reply.request;
  const ms = Math.round(milliseconds * 10) / 10;
  reply.log.info({ operation, status: reply.statusCode, ms, actor: caller?.actor }, 'request');
}

type Admission = (request: OperationRequest, reply: FastifyReply, done: (error?: Error) => void) => void;

/**
 * Returns the hook with all checks that precede reading the body: token, rate, ids and scope. The hook is synchronous
 * if the token is cached.
 */
function admission(context: HttpContext, operation: Operation): Admission {
  const { authenticator } = context.options;
  const ids = [...operation.path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1] ?? '').filter((name) => name.endsWith('Id'));

  const admit = (request: OperationRequest, reply: FastifyReply, caller: Caller): Promise<void> | undefined => {
    limitRequest(context, reply, caller.actor);
    const parameters = request.params;
    for (const name of ids) {
      const id = parameters[name] ?? '';
      if (!isUuid(id)) throw targetNotFound(operation);
      // Ids are normalised to lower case, as PostgreSQL returns them, because they are compared as text.
      const lower = id.toLowerCase();
      if (lower !== id) parameters[name] = lower;
    }
    const verdict = admits(caller, operation);
    if (verdict === 'no') return refuse(context, operation, caller, parameters);
    if (verdict === 'ask') return admitThere(context, operation, caller, request);
    request.caller = caller;
    return undefined;
  };

  return (request, reply, done) => {
    request.startedAt = performance.now();
    try {
      const authorization = authorizationOf(request, context.options.publicUrl);
      const caller = authenticator.remembered(authorization, request.headers['user-agent']);
      const pending = caller === undefined ? lookUpAndAdmit(context, request, reply, admit) : admit(request, reply, caller);
      if (pending === undefined) done();
      else void settle(pending, done);
    } catch (error) {
      done(counted(context, request, reply, error));
    }
  };
}

/** Returns the hook of an operation that needs no token. Its requests are counted by address. */
function openAdmission(context: HttpContext, operation: Operation): Admission {
  return (request, reply, done) => {
    request.startedAt = performance.now();
    try {
      limitRequest(context, reply, request.ip);
      if (operation.method !== 'GET') refuseForeignPage(request, context.options.publicUrl);
      request.caller = anonymous;
      done();
    } catch (error) {
      done(toError(error));
    }
  };
}

async function refuse(context: HttpContext, operation: Operation, caller: Caller, ids: Record<string, string>): Promise<never> {
  throw await refusal(context.options, caller, operation, ids);
}

/** Admits people and custom roles, whose rights depend on the location of the resource. */
async function admitThere(context: HttpContext, operation: Operation, caller: Caller, request: OperationRequest): Promise<void> {
  request.caller = await callerAt(context.options, caller, operation, request.params);
}

type Admit = (request: OperationRequest, reply: FastifyReply, caller: Caller) => Promise<void> | undefined;

/** Repeats the checks of a request, for a stream that outlasts their validity. */
async function admitAgain(context: HttpContext, operation: Operation, request: OperationRequest): Promise<Admitted> {
  const authorization = authorizationOf(request, context.options.publicUrl);
  const userAgent = request.headers['user-agent'];
  const { caller, expiresAt } = await context.options.authenticator.standing(authorization, userAgent);
  const verdict = admits(caller, operation);
  if (verdict === 'no') return refuse(context, operation, caller, request.params);
  // The caller's rights may suffice without a lookup; it is made all the same, since the resource may have been
  // deleted.
  return { caller: await callerAt(context.options, caller, operation, request.params), expiresAt };
}

async function lookUpAndAdmit(context: HttpContext, request: OperationRequest, reply: FastifyReply, admit: Admit): Promise<void> {
  const authorization = authorizationOf(request, context.options.publicUrl);
  const userAgent = request.headers['user-agent'];
  // An unknown token may be a guess. It is counted by address, before the database is queried.
  limitRequest(context, reply, request.ip);
  const caller = await context.options.authenticator.lookUp(authorization, userAgent);
  await admit(request, reply, caller);
}

async function settle(pending: Promise<void>, done: (error?: Error) => void): Promise<void> {
  try {
    await pending;
  } catch (error) {
    done(toError(error));
    return;
  }
  done();
}

/**
 * Returns the failure to send. A request without a usable token failed before it was counted, so it is counted here,
 * which may exceed the limit.
 */
function counted(context: HttpContext, request: OperationRequest, reply: FastifyReply, error: unknown): Error {
  try {
    if (!reply.hasHeader('x-ratelimit-limit')) limitRequest(context, reply, request.ip);
    return toError(error);
  } catch (limited) {
    return toError(limited);
  }
}

/** Milliseconds after which the caller of a request whose body came late is looked up again. */
const lateBodyMilliseconds = 1000;

type RouteHandler = (request: OperationRequest, reply: FastifyReply) => Promise<unknown>;

function handlerOf(context: HttpContext, { operation, handler, open }: MountedOperation, wording: Wording | null): RouteHandler {
  const call = callOf(operation, context, wording);
  if (open !== undefined) {
    const begin: Run<Stream> = async (request, reply) =>
      open({
        ...call(request, reply),
        lastEventId: lastEventIdOf(request),
        admit: () => admitAgain(context, operation, request),
      });
    return answerStream<OperationRequest>(context, operation, inWords(wording, begin), wording);
  }
  const handle = (checked: AnyCall): Promise<unknown> =>
    checked.caller.access.kind === 'custom' ? narrowed(operation, checked.caller, handler(checked)) : handler(checked);
  if (operation.method === 'GET') {
    return readHandler(
      operation,
      inWords(
        wording,
        (request, reply) => handle(call(request, reply)),
        (answer) => wording?.answer(answer),
      ),
    );
  }
  const change = changeOf(operation);
  const tagged = answersRecord(operation);
  const textType = textTypeOf(operation);

  const run = async (request: OperationRequest, reply: FastifyReply, idempotencyId: string | null): Promise<unknown> => {
    // A session may have ended while a slow body arrived.
    if (operation.audience === 'people' && performance.now() - request.startedAt > lateBodyMilliseconds)
      request.caller = (await admitAgain(context, operation, request)).caller;
    const answer = await inWords(wording, (asked: OperationRequest, answering: FastifyReply) => {
      const checked = call(asked, answering);
      return change(asked, checked.caller, idempotencyId, () => handle(checked));
    })(request, reply);
    const result = answer instanceof WithCookie ? answer.body : answer;
    if (answer instanceof WithCookie) void reply.header('set-cookie', answer.cookie);
    const isOther = result instanceof OtherStatus;
    void reply.code(isOther ? result.status : operation.status).headers(securityHeaders);
    if (textType !== undefined) void reply.type(textType);
    if (tagged) tag(reply, result);
    return isOther ? undefined : wording === null ? result : wording.answer(result);
  };

  return async (request, reply) => {
    const key = request.headers['idempotency-key'];
    if (typeof key === 'string' && operation.method === 'POST' && operation.audience !== 'anybody') {
      const actor = callerOf(request, operation).actor;
      return context.idempotency.answer({ request, reply, actor, key, run: (id) => run(request, reply, id) });
    }
    return reply.send(await run(request, reply, null));
  };
}

type Run<Result> = (request: OperationRequest, reply: FastifyReply) => Promise<Result>;

/** Returns the function with its answers and failures in the words of a base path; the function itself without one. */
function inWords<Result>(
  wording: Wording | null,
  run: Run<Result>,
  translate: (answer: Result) => Result = (answer) => answer,
): Run<Result> {
  if (wording === null) return run;
  return async (request, reply) => {
    try {
      return translate(await run(request, reply));
    } catch (error) {
      throw wording.failure(error);
    }
  };
}

/** Returns the handler of a read. It avoids an `await` of its own. */
function readHandler(operation: Operation, run: RouteHandler): RouteHandler {
  const paged = isPaged(operation);
  const tagged = answersRecord(operation);
  const textType = textTypeOf(operation);
  return (request, reply) => {
    if (operation.status !== 200) void reply.code(operation.status);
    if (textType !== undefined) void reply.type(textType);
    void reply.headers(securityHeaders);
    if (paged) return pageOf(request.query, () => run(request, reply));
    return tagged ? run(request, reply).then((record) => tag(reply, record)) : run(request, reply);
  };
}

function tag(reply: FastifyReply, record: unknown): unknown {
  const etag = etagOf(record);
  if (etag !== undefined) void reply.header('etag', etag);
  return record;
}

/** Returns the function that checks the query and body of a request. */
function callOf(
  operation: Operation,
  { options }: HttpContext,
  wording: Wording | null,
): (request: OperationRequest, reply: FastifyReply) => AnyCall {
  const checkBody = bodyChecker(operation);
  const checkQuery = queryChecker(operation);
  return (request, reply) => ({
    basePath: wording?.basePath ?? null,
    params: wording === null ? request.params : wording.params(request.params),
    query: checkQuery(wording === null ? request.query : wording.query(request.query)),
    body: checkBody(wording === null ? request.body : wording.body(request.body), request.bodyBytes),
    caller: callerOf(request, operation),
    client: new ClientFacts(request, options.publicUrl),
    gone: () => goneOf(reply),
  });
}

function goneOf({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  if (raw.closed) gone.abort();
  else raw.once('close', () => gone.abort());
  return gone.signal;
}

function callerOf({ caller }: OperationRequest, operation: Operation): Caller {
  if (caller === null) throw new Error(`a request reached ${operation.id} without a caller`);
  return caller;
}
