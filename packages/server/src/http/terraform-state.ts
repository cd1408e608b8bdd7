import { AppError } from '@davit/base';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { securityHeaders } from './failures.ts';
import { limitRequest } from './limit.ts';
import type { Room } from './server.ts';

/** As many as the state of a run of this machine may have. */
const bodyLimitBytes = 64 * 1024 * 1024;
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
        if (await engine.isTerraformRun(run)) return;
        // Those who guess are counted; a run may ask as often as it likes.
        limitRequest(room, reply, request.ip);
        throw refused();
      },
      handler: async (request, reply) => {
        const run = { runId: request.params.runId, token: tokenOf(request) };
        const text = Buffer.isBuffer(request.body) ? request.body.toString('utf8') : '';
        const { status, body } = await engine.terraformState(run, { method: request.method, body: text });
        if (status === 401) throw refused();
        reply.code(status).headers(securityHeaders);
        return body === null ? reply.send() : reply.type('application/json').send(body);
      },
    });
    done();
  });
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
