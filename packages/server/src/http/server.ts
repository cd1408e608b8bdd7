import { Socket } from 'node:net';
import { SerializerSelector, type Serializer, type SerializerFactory } from '@fastify/fast-json-stringify-compiler';
import { AppError, isAppError } from '@davit/base';
import { operationList, type Operation } from '@davit/contract';
import Fastify, { LogController, type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Caller } from '../auth/caller.ts';
import { endIdleConnections } from './idle-connections.ts';
import { parseJson, parseText } from './json.ts';
import { answerOf, wrongMediaType } from './answers.ts';
import { answerClientError, handleErrors, overloaded, sendError, toError } from './failures.ts';
import { RequestDurations } from '../metrics/requests.ts';
import type { HttpContext, ServerOptions } from './context.ts';
import { addGitInbox } from './git-inbox.ts';
import { addGitRemote } from './git-remote.ts';
import { IdempotencyKeys } from './idempotency.ts';
import { collectMethods } from './methods.ts';
import type { MountedOperation } from './mount.ts';
import { addPages } from './pages.ts';
import { addOperation } from './route.ts';
import { addVocabulary } from './vocabulary-routes.ts';
import { addTerraformState } from './terraform-state.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller; set before the handler of an operation runs. */
    caller: Caller | null;
    /** Bytes of the body as received. */
    bodyBytes: number;
    /** When the request of an operation began, as a value of performance.now(). */
    startedAt: number;
  }
}

/** Milliseconds within which one request must arrive completely. A push to the git remote has more time. */
const requestTimeoutMilliseconds = 60_000;
const pushTimeoutMilliseconds = 3_600_000;

/**
 * Creates the HTTP server, with one route per operation of the contract. Throws if an operation has no handler, has
 * two, or is not in the contract. `listen` and `close` are Fastify's; `close` lets running requests finish.
 */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  checkMounted(options.mounted);
  const requestIds = requestIdSequence();
  const app = Fastify({
    bodyLimit: options.bodyLimitBytes,
    trustProxy: options.trustProxy,
    requestTimeout: pushTimeoutMilliseconds,
    logController: new LogController({ disableRequestLogging: true }),
    // A request on a kept-alive connection is still served while the server closes; then the connection is closed.
    return503OnClosing: false,
    genReqId: requestIds,
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      void sendError(reply, answerOf(error, request.id));
    },
    routerOptions: { ignoreTrailingSlash: true },
    schemaController: { compilersFactory: { buildSerializer: whenNeeded } },
    ...(options.logger === undefined ? { logger: false } : { loggerInstance: options.logger }),
  });
  const context: HttpContext = {
    options,
    limiter: options.limiter,
    durations: new RequestDurations(),
    idempotency: new IdempotencyKeys(options),
  };
  app.addHook('onClose', () => context.idempotency.close());
  app.decorateRequest('caller', null);
  app.decorateRequest('bodyBytes', 0);
  app.decorateRequest('startedAt', 0);
  limitBodies(app);
  sendElsewhere(app, options);
  endIdleConnections(app);
  await allowOrigins(app, options);
  acceptBodies(app);
  await refuseUnderPressure(app, options);
  handleErrors(app, context, collectMethods(app));
  for (const mounted of options.mounted) addOperation(app, context, mounted);
  if (options.vocabulary !== undefined) addVocabulary(app, context, options.vocabulary);
  await addGitInbox(app, context, options.gitInbox);
  await addGitRemote(app, context, options.gitRemote);
  await addTerraformState(app, context);
  await addPages(app, context);
  return app;
}

function checkMounted(mounted: readonly MountedOperation[]): void {
  const times = new Map<Operation, number>(operationList.map((operation) => [operation, 0]));
  const faults: string[] = [];
  for (const { operation } of mounted) {
    const count = times.get(operation);
    if (count === undefined) faults.push(`${operation.id} is mounted but not in the contract`);
    else times.set(operation, count + 1);
  }
  for (const [operation, count] of times) {
    if (count === 0) faults.push(`${operation.id} is not mounted`);
    if (count > 1) faults.push(`${operation.id} is mounted ${count} times`);
  }
  if (faults.length > 0) throw new Error(`operations and handlers do not agree:\n  ${faults.join('\n  ')}`);
}

const compilers: SerializerFactory = SerializerSelector();

/**
 * Compiles a serialiser when it is first needed: compiling those of all operations takes half a second of the start,
 * and 60 MB.
 */
const whenNeeded: SerializerFactory = (schemas, options) => {
  const compile = compilers(schemas, options);
  return (definition) => {
    let serialize: Serializer | undefined;
    return (data) => (serialize ??= compile(definition))(data);
  };
};

/** Answers requests whose body does not arrive in time, except for pushes. */
function limitBodies(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw, routeOptions }, _reply, done) => {
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = raw.headers;
    const hasBody = length !== '0' || encoding !== undefined;
    // The server's own calls have no socket.
    if (hasBody && raw.socket instanceof Socket && routeOptions.url?.startsWith('/git/') !== true) {
      const timer = setTimeout(() => {
        if (raw.complete) return;
        answerClientError(Object.assign(new Error('the body is late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), raw.socket);
      }, requestTimeoutMilliseconds);
      raw.once('close', () => clearTimeout(timer));
    }
    done();
  });
}

/**
 * Closes each connection after its next response while this process shuts down, so that the following request reaches
 * another process.
 */
function sendElsewhere(app: FastifyInstance, { isLeaving }: ServerOptions): void {
  if (isLeaving === undefined) return;
  app.addHook('onRequest', (_request, reply, done) => {
    if (isLeaving()) reply.header('connection', 'close');
    done();
  });
}

/** Response headers that a page of another origin may read. */
const exposedHeaders = [
  'ETag',
  'Retry-After',
  'WWW-Authenticate',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
];

/**
 * Allows cross-origin requests (CORS of the Fetch standard) from the pages of the configured origins. A page sends its
 * token itself, like any client, so browsers need not be allowed to add credentials.
 */
async function allowOrigins(app: FastifyInstance, { allowedOrigins = [] }: ServerOptions): Promise<void> {
  if (allowedOrigins.length === 0) return;
  const { default: cors } = await import('@fastify/cors');
  await app.register(cors, {
    origin: [...allowedOrigins],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
    exposedHeaders,
    maxAge: 3_600,
    strictPreflight: false,
  });
}

function acceptBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    request.bodyBytes = bytes.length;
    try {
      done(null, parseJson(bytes));
    } catch (error) {
      done(withAdvice(toError(error), request));
    }
  });
  app.addContentTypeParser(yamlTypes, { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    request.bodyBytes = bytes.length;
    try {
      if (bytes.length > 0 && request.routeOptions.config.mediaType === undefined) throw wrongType(request);
      done(null, parseText(bytes));
    } catch (error) {
      done(toError(error));
    }
  });
  // The media type of an empty body is ignored: `curl -X POST -d ''` and some clients send one.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    if (bytes.length === 0) done(null, undefined);
    else done(wrongType(request));
  });
}

const yamlTypes = ['application/x-yaml', 'application/yaml', 'text/yaml'];

function wrongType({ routeOptions }: FastifyRequest): AppError {
  const { mediaType } = routeOptions.config;
  const message = mediaType === undefined ? wrongMediaType : `The body is sent as it is with \`Content-Type: ${mediaType}\`.`;
  return new AppError({ code: 'UNSUPPORTED_MEDIA_TYPE', message });
}

/**
 * Returns the error with advice. A body that is declared as JSON but is not valid JSON may be text that the operation
 * accepts under another media type.
 */
function withAdvice(error: Error, { routeOptions }: FastifyRequest): Error {
  const { mediaType } = routeOptions.config;
  if (mediaType === undefined || !isAppError(error) || error.code !== 'MALFORMED_JSON') return error;
  const message = `${error.message} To send a text as it is, use \`Content-Type: ${mediaType}\`.`;
  return new AppError({ code: error.code, message, cause: error });
}

const pressureSampleMilliseconds = 1000;

async function refuseUnderPressure(app: FastifyInstance, { overloadedAfterMilliseconds = 1_500 }: ServerOptions): Promise<void> {
  // The first samples contain the delay of a slow start, which is no reason to refuse requests.
  let countsFrom = Infinity;
  app.addHook('onListen', (done) => {
    countsFrom = performance.now() + 3 * pressureSampleMilliseconds;
    done();
  });
  const { default: underPressure } = await import('@fastify/under-pressure');
  await app.register(underPressure, {
    maxEventLoopDelay: overloadedAfterMilliseconds,
    sampleInterval: pressureSampleMilliseconds,
    retryAfter: 5,
    pressureHandler: (request) => {
      // The pages for monitoring must stay available under load.
      if (performance.now() > countsFrom && !operationsPages.has(request.url)) throw overloaded();
    },
  });
}

const operationsPages = new Set(['/healthz', '/readyz', '/metrics']);

/**
 * Returns a generator of request ids that are unique across restarts, so that lines of an old log are not mixed up with
 * new ones.
 */
function requestIdSequence(): () => string {
  const start = Date.now().toString(36);
  let count = 0;
  return () => `${start}-${(count += 1).toString(36)}`;
}
