import { openApi, operationList } from '@davit/contract';
import { statement, takesNoChanges } from '@davit/db';
import type { FastifyInstance } from 'fastify';
import { processMetrics } from '../metrics/process.ts';
import { render } from '../metrics/series.ts';
import { Source } from '../metrics/source.ts';
import { errorAnswer } from './answers.ts';
import { addCommandLine } from './command-line.ts';
import { Console, prefersPage } from './console.ts';
import { addExamples } from './examples.ts';
import { securityHeaders, sendError } from './failures.ts';
import { setLimitHeaders } from './limit.ts';
import { addReference } from './reference/routes.ts';
import type { HttpContext } from './context.ts';
import { renderServiceMetrics } from './service-metrics.ts';
import { staticText } from './static-text.ts';
import { writingChecks, writingMetrics } from './writing.ts';

// A database that rejects changes makes the server not ready, even if its connections were opened earlier.
const alive = statement<{ refuses: boolean }>('ready_check', `select ${takesNoChanges} as refuses`);

/**
 * Adds the pages beside the contract's paths: health, metrics, the description of the API, its reference page, the
 * console, and the command line as a file and as a package.
 */
export async function addPages(app: FastifyInstance, context: HttpContext): Promise<void> {
  await app.register(async (pages) => {
    pages.addHook('onRequest', (request, reply, done) => {
      setLimitHeaders(context, reply, context.limiter.peek(request.ip));
      done();
    });
    addHealth(pages, context);
    const consolePages = new Console();
    consolePages.addTo(pages);
    addCommandLine(pages, context.options.version);
    addDescription(pages, context, consolePages);
    addReference(pages, context.options.version);
  });
}

function addHealth(pages: FastifyInstance, context: HttpContext): void {
  pages.get('/healthz', (_request, reply) => reply.headers(securityHeaders).send({ status: 'ok' }));
  pages.get<{ Querystring: { readonly verbose?: string } }>('/readyz', async (request, reply) => {
    if (context.options.isLeaving?.() === true) return reply.code(503).headers(securityHeaders).send({ status: 'stopping' });
    if (context.options.isStarting?.() === true) return reply.code(503).headers(securityHeaders).send({ status: 'starting' });
    try {
      const { refuses } = await context.options.database.one(alive);
      if (refuses) return sendError(reply, errorAnswer('DATABASE_UNAVAILABLE', 'The database accepts no changes.'));
    } catch (error) {
      context.options.logger?.warn({ err: error }, 'not ready: the database does not answer');
      return sendError(reply, errorAnswer('DATABASE_UNAVAILABLE', 'The database does not answer.'));
    }
    const writing = request.query.verbose === undefined ? undefined : await context.options.writing?.();
    const checks = writing === undefined ? {} : { checks: { database: { state: 'ok' }, ...writingChecks(writing) } };
    return reply.headers(securityHeaders).send({ status: 'ready', ...checks });
  });
  const services = serviceSource(context);
  pages.get('/metrics', async (_request, reply) => {
    const [platform, ofServices, ofProcess, writing] = await Promise.all([
      context.options.metrics.render(),
      services.get(),
      processMetrics(),
      context.options.writing?.(),
    ]);
    const ofWriting = writing === undefined ? '' : writingMetrics(writing);
    const text = `${render([context.durations.family])}${platform}${ofWriting}${ofServices?.value ?? ''}${ofProcess}`;
    return reply.headers(securityHeaders).type('text/plain; version=0.0.4; charset=utf-8').send(text);
  });
}

/** The metrics page needs no token and can be requested often; the database is queried at most once a second. */
function serviceSource({ options }: HttpContext): Source<string> {
  return new Source({
    read: async () => renderServiceMetrics(await options.engine.metricTotals(options.database), options.engine.latencyBuckets),
    keepMilliseconds: 1000,
    onFailure: (err) => options.logger?.warn({ err }, 'metrics of services could not be read'),
  });
}

function addDescription(pages: FastifyInstance, context: HttpContext, consolePages: Console): void {
  const { version } = context.options;
  const document = staticText('application/json; charset=utf-8', async () => {
    const { exampleOf } = await import('@davit/contract/examples');
    return JSON.stringify(openApi(operationList, version, { requestOf: (id) => exampleOf(id)?.request }));
  });
  pages.get('/openapi.json', (request, reply) => document.send(request, reply.header('x-content-type-options', 'nosniff')));
  addExamples(pages, context, operationList);
  pages.get('/', async (request, reply) => {
    const isBuilt = await consolePages.isBuilt();
    void reply.headers({ ...securityHeaders, vary: 'accept' });
    if (prefersPage(request)) return reply.redirect(isBuilt ? '/console/' : '/docs');
    return reply.send(welcome(version, isBuilt));
  });
}

const about =
  'A self-hosted deployment platform with one JSON API. Requests need an API token: "Authorization: Token <token>". ' +
  'People begin at `console`, programs at `reference` (for people) or `description` (OpenAPI).';

/** The response to a program that opens the address of the server. */
function welcome(version: string, isConsoleBuilt: boolean): object {
  const paths = { reference: '/docs', description: '/openapi.json', errors: '/docs/errors', health: '/readyz' };
  return { name: 'Davit', about, version, ...paths, console: isConsoleBuilt ? '/console/' : null };
}
