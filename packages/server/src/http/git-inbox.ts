import { isUuid, AppError } from '@davit/base';
import type { FastifyInstance } from 'fastify';
import { errorAnswer } from './answers.ts';
import { securityHeaders, sendError } from './failures.ts';
import { limitRequest } from './limit.ts';
import type { GitInbox, HttpContext } from './context.ts';

// Bytes of the largest payload that git hosts send.
const bodyLimitBytes = 25 * 1024 * 1024;

interface Shape {
  Params: { webhookId: string };
}

/**
 * Adds the webhook addresses to which git hosts send pushes and pull requests. They are not operations of the contract:
 * the sender has no token but signs the payload. The body is kept unparsed, since the signature covers its bytes. The
 * body is read only if the webhook exists.
 */
export async function addGitInbox(app: FastifyInstance, context: HttpContext, inbox: GitInbox): Promise<void> {
  await app.register((hosts, _options, done) => {
    hosts.removeAllContentTypeParsers();
    hosts.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes: Buffer, parsed) => parsed(null, bytes));
    hosts.post<Shape>('/git-webhook/:webhookId', {
      bodyLimit: bodyLimitBytes,
      onRequest: async (request, reply) => {
        limitRequest(context, reply, request.ip);
        const { webhookId } = request.params;
        if (!isUuid(webhookId) || !(await inbox.knows(webhookId))) throw unknownAddress();
      },
      handler: async (request, reply) => {
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        const receipt = await inbox.receive(request.params.webhookId, { headers: request.headers, body });
        if (receipt === null) throw unknownAddress();
        if (receipt.status === 401) return sendError(reply, errorAnswer('UNAUTHORIZED', receipt.message));
        if (receipt.status === 400) return sendError(reply, errorAnswer('MALFORMED_JSON', receipt.message));
        return reply.code(receipt.status).headers(securityHeaders).send({ message: receipt.message });
      },
    });
    done();
  });
}

function unknownAddress(): AppError {
  return new AppError({
    code: 'NOT_FOUND',
    message: 'There is no such webhook. Read its address again: POST /service/{serviceId}/gitWebhook.',
  });
}
