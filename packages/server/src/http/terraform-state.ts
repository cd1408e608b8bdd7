import { AppError } from '@davit/base';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { securityHeaders } from './failures.ts';
import { limitRequest } from './limit.ts';
import type { Room } from './server.ts';

/** As many as the state of a run of this machine may have. */
const bodyLimitBytes = 64 * 1024 * 1024;
/** Of bodies at once: each is in memory several times over until it is stored. Smaller states share it. */
const mostBytesAtOnce = 2 * bodyLimitBytes;
const againSeconds = 2;
const methods = ['GET', 'POST', 'LOCK', 'UNLOCK'];

interface Shape {
  Params: { runId: string };
}

/**
 * Where runs of Terraform on clusters have their state, by the protocol of its backend `http`. No operations: a run shows the token that
 * was made for it, as the password of `davit`, and can do nothing else with it. The body is read only where that is so.
 */
export async function addTerraformState(app: FastifyInstance, room: Room): Promise<void> {
  const { engine } = room.options;
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
          // Those who guess are counted; a run may ask as often as it likes.
          limitRequest(room, reply, request.ip);
          throw refused();
        }
        if (request.method === 'GET' || bodies.take(request, reply, run.runId)) return;
        // Terraform tries again.
        void reply.code(503).headers({ ...securityHeaders, 'retry-after': String(againSeconds) });
        void reply.send();
      },
      handler: async (request, reply) => {
        const run = { runId: request.params.runId, token: tokenOf(request) };
        const text = Buffer.isBuffer(request.body) ? request.body.toString('utf8') : '';
        const { status, body } = await engine.terraformState(run, { method: request.method, body: text });
        // Before the answer, behind which the next request of the run comes.
        bodies.release(request);
        if (status === 401) throw refused();
        reply.code(status).headers(securityHeaders);
        return body === null ? reply.send() : reply.type('application/json').send(body);
      },
    });
    done();
  });
}

/** The bodies that are being read and stored: one of each run, and as many as the memory holds. */
class Bodies {
  readonly #taken = new Map<FastifyRequest, { readonly runId: string; readonly bytes: number }>();

  /** Whether the body may be read now; it is let go of with its answer, or its connection. */
  take(request: FastifyRequest, reply: FastifyReply, runId: string): boolean {
    const declared = Number(request.headers['content-length'] ?? bodyLimitBytes);
    const bytes = Math.min(declared, bodyLimitBytes);
    const all = [...this.#taken.values()];
    const taken = all.reduce((sum, one) => sum + one.bytes, 0);
    if (all.some((one) => one.runId === runId) || taken + bytes > mostBytesAtOnce) return false;
    this.#taken.set(request, { runId, bytes });
    reply.raw.once('close', () => this.release(request));
    return true;
  }

  release(request: FastifyRequest): void {
    this.#taken.delete(request);
  }
}

/** The password of the header; empty: there is none. */
function tokenOf({ headers }: FastifyRequest): string {
  const [scheme = '', encoded = ''] = (headers.authorization ?? '').split(' ', 2);
  if (scheme.toLowerCase() !== 'basic') return '';
  return Buffer.from(encoded, 'base64').toString('utf8').split(':').slice(1).join(':');
}

function refused(): AppError {
  return new AppError({
    code: 'UNAUTHORIZED',
    message: 'This run of Terraform is over, or the password is not its own. A deployment makes a new one.',
  });
}
