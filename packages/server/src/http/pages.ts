import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { openApi, operationList } from '@davit/contract';
import { statement, takesNoChanges } from '@davit/db';
import type { FastifyInstance } from 'fastify';
import { errorAnswer } from './answers.ts';
import { errorsPage } from './errors-page.ts';
import { securityHeaders, sendError } from './failures.ts';
import { setLimitHeaders } from './limit.ts';
import { processMetrics } from './metrics.ts';
import type { Room } from './server.ts';
import { renderServiceMetrics } from './service-metrics.ts';
import { writingChecks, writingMetrics } from './writing.ts';

// One that takes no changes is of no use, also where its connections are from before.
const alive = statement<{ refuses: boolean }>('ready_check', `select ${takesNoChanges} as refuses`);

/** What stands beside the contract's paths: health, metrics, the description of the API, and its reference page. */
export async function addPages(app: FastifyInstance, room: Room): Promise<void> {
  await app.register(async (pages) => {
    pages.addHook('onRequest', (request, reply, done) => {
      setLimitHeaders(room, reply, room.limiter.peek(request.ip));
      done();
    });
    addHealth(pages, room);
    addDescription(pages, room);
    await addReference(pages);
  });
}

function addHealth(pages: FastifyInstance, room: Room): void {
  pages.get('/healthz', (_request, reply) => reply.headers(securityHeaders).send({ status: 'ok' }));
  pages.get<{ Querystring: { readonly verbose?: string } }>('/readyz', async (request, reply) => {
    if (room.options.isLeaving?.() === true) return reply.code(503).headers(securityHeaders).send({ status: 'stopping' });
    if (room.options.isStarting?.() === true) return reply.code(503).headers(securityHeaders).send({ status: 'starting' });
    try {
      const { refuses } = await room.options.database.one(alive);
      if (refuses) return sendError(reply, errorAnswer('DATABASE_UNAVAILABLE', 'The database takes no changes.'));
    } catch (error) {
      room.options.logger?.warn({ err: error }, 'not ready: the database does not answer');
      return sendError(reply, errorAnswer('DATABASE_UNAVAILABLE', 'The database does not answer.'));
    }
    const writing = request.query.verbose === undefined ? undefined : await room.options.writing?.();
    const checks = writing === undefined ? {} : { checks: { database: { state: 'ok' }, ...writingChecks(writing) } };
    return reply.headers(securityHeaders).send({ status: 'ready', ...checks });
  });
  const ofServices = rememberFor(1000, () => serviceMetrics(room));
  pages.get('/metrics', async (_request, reply) => {
    const writing = await room.options.writing?.();
    const ofWriting = writing === undefined ? '' : writingMetrics(writing);
    const text = `${room.durations.render()}${ofWriting}${await ofServices()}${await processMetrics()}`;
    return reply.headers(securityHeaders).type('text/plain; version=0.0.4; charset=utf-8').send(text);
  });
}

/** However often the page is asked for, which nobody needs a token for, the database is asked once in that time. */
function rememberFor(milliseconds: number, make: () => Promise<string>): () => Promise<string> {
  let until = 0;
  let known = Promise.resolve('');
  return () => {
    if (Date.now() >= until) {
      until = Date.now() + milliseconds;
      known = make();
    }
    return known;
  };
}

/** Without the database the page still tells of the process itself. */
async function serviceMetrics({ options }: Room): Promise<string> {
  try {
    return renderServiceMetrics(await options.engine.metricTotals(options.database), options.engine.latencyBuckets);
  } catch (error) {
    options.logger?.warn({ err: error }, 'metrics of services could not be read');
    return '';
  }
}

function addDescription(pages: FastifyInstance, room: Room): void {
  let document: string | undefined;
  pages.get('/openapi.json', (_request, reply) => {
    document ??= JSON.stringify(openApi(operationList, room.options.version));
    return reply.headers(securityHeaders).type('application/json; charset=utf-8').send(document);
  });
}

// The page and its one script come from this server; nothing of it asks another host.
async function addReference(pages: FastifyInstance): Promise<void> {
  const { default: helmet } = await import('@fastify/helmet');
  await pages.register(async (reference) => {
    await reference.register(helmet, {
      contentSecurityPolicy: {
        useDefaults: false,
        directives: {
          defaultSrc: ["'none'"],
          scriptSrc: ["'self'"],
          styleSrc: ["'self'", "'unsafe-inline'"],
          imgSrc: ["'self'", 'data:'],
          fontSrc: ["'self'", 'data:'],
          connectSrc: ["'self'"],
          baseUri: ["'none'"],
          formAction: ["'none'"],
          frameAncestors: ["'none'"],
        },
      },
      // Davit serves plain HTTP itself; whoever puts TLS before it decides on this.
      strictTransportSecurity: false,
    });
    reference.get('/docs', (_request, reply) => reply.type('text/html; charset=utf-8').send(page));
    reference.get('/docs/errors', async (_request, reply) => {
      const document = await readFile(new URL('../../../../docs/errors.md', import.meta.url), 'utf8');
      return reply.type('text/html; charset=utf-8').send(errorsPage(document));
    });
    const script = createRequire(import.meta.url).resolve('rapidoc/dist/rapidoc-min.js');
    reference.get('/docs/rapidoc.js', async (_request, reply) =>
      reply
        .type('text/javascript; charset=utf-8')
        .header('cache-control', 'max-age=3600')
        .send(await readFile(script)),
    );
  });
}

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Davit API</title>
<script type="module" src="/docs/rapidoc.js"></script>
</head>
<body>
<rapi-doc spec-url="/openapi.json" render-style="read" schema-style="table" show-header="false" load-fonts="false"
  allow-spec-file-load="false" allow-spec-url-load="false" theme="light"></rapi-doc>
</body>
</html>
`;
