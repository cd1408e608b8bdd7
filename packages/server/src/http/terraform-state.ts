import { AppError } from '@davit/base';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { securityHeaders } from './failures.ts';
import { limitRequest } from './limit.ts';
import type { HttpContext } from './context.ts';

/** Largest state in bytes; the same limit as for the state of a run on this machine. */
const bodyLimitBytes = 64 * 1024 * 1024;
/**
 * Limit for all bodies that are read concurrently: each is in memory several times until it is stored. Small states
 * share it.
 */
const maxBytesAtOnce = 2 * bodyLimitBytes;
const againSeconds = 2;
const methods = ['GET', 'POST', 'LOCK', 'UNLOCK'];

interface Shape {
  Params: { runId: string };
}

/**
 * Adds the storage for the Terraform state of runs on clusters, with the protocol of Terraform's backend `http`. The
 * routes are not operations of the contract: a run sends the token that was created for it, as the password of the user
 * `davit`, and the token permits nothing else. The body is read only after the token was accepted.
 */
export async function addTerraformState(app: FastifyInstance, context: HttpContext): Promise<void> {
  const { engine } = context.options;
  const bodies = new Bodies();
  await app.register((runs, _options, done) => {
    for (const method of methods.slice(2)) runs.addHttpMethod(method, { hasBody: true });
    runs.removeAllContentTypeParsers();
    runs.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes: Buffer, parsed) => parsed(null, bytes));
    runs.route<Shape>({
      method: methods,
      url: '/internal/terraform-state/:runId',
      bodyLimit: bodyLimitBytes,
      onRequest: async (request, reply) => {
        const run = { runId: request.params.runId, token: tokenOf(request) };
        if (!(await engine.isTerraformRun(run))) {
          // Requests with an invalid token count against the rate limit; those of a run do not.
          limitRequest(context, reply, request.ip);
          throw refused();
        }
        if (request.method === 'GET' || bodies.take(request, reply, run.runId)) return;
        // Terraform retries.
        void reply.code(503).headers({ ...securityHeaders, 'retry-after': String(againSeconds) });
        void reply.send();
      },
      handler: async (request, reply) => {
        const run = { runId: request.params.runId, token: tokenOf(request) };
        const text = Buffer.isBuffer(request.body) ? request.body.toString('utf8') : '';
        const { status, body } = await engine.terraformState(run, { method: request.method, body: text });
        // The body is released before the response is sent, because the run sends its next request right after it.
        bodies.release(request);
        if (status === 401) throw refused();
        reply.code(status).headers(securityHeaders);
        return body === null ? reply.send() : reply.type('application/json').send(body);
      },
    });
    done();
  });
}

/** The bodies that are being read and stored: at most one per run, and only as many as fit into memory. */
class Bodies {
  readonly #taken = new Map<FastifyRequest, { readonly runId: string; readonly bytes: number }>();

  /**
   * Returns whether the body may be read now. The body is released after the response, or when the connection closes.
   */
  take(request: FastifyRequest, reply: FastifyReply, runId: string): boolean {
    const declared = Number(request.headers['content-length'] ?? bodyLimitBytes);
    const bytes = Math.min(declared, bodyLimitBytes);
    const all = [...this.#taken.values()];
    const taken = all.reduce((sum, one) => sum + one.bytes, 0);
    if (all.some((one) => one.runId === runId) || taken + bytes > maxBytesAtOnce) return false;
    this.#taken.set(request, { runId, bytes });
    reply.raw.once('close', () => this.release(request));
    return true;
  }

  release(request: FastifyRequest): void {
    this.#taken.delete(request);
  }
}

/** Returns the password of the header `authorization`; empty if there is none. */
function tokenOf({ headers }: FastifyRequest): string {
  const [scheme = '', encoded = ''] = (headers.authorization ?? '').split(' ', 2);
  if (scheme.toLowerCase() !== 'basic') return '';
  return Buffer.from(encoded, 'base64').toString('utf8').split(':').slice(1).join(':');
}

function refused(): AppError {
  return new AppError({
    code: 'UNAUTHORIZED',
    message: 'This run of Terraform has ended, or the password is not valid for it. Deploy again to start a new run.',
  });
}
