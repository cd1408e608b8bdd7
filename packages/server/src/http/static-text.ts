import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptedEncoding, compressed, type Encoding } from './compression.ts';

/** A text that is the same for all callers during the life of the process. */
export interface StaticText {
  /** Sends the text, compressed if the client accepts that; 304 if the client has it already (`If-None-Match`). */
  send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
}

/** `Cache-Control` of texts whose address changes with their content. */
export const immutable = 'public, max-age=31536000, immutable';

/**
 * Returns a static text. `make` is called when the text is first requested. By default clients may cache the text, but
 * must revalidate it each time: an update of Davit changes it.
 */
export function staticText(type: string, make: () => string | Promise<string>, cacheControl = 'no-cache'): StaticText {
  let text: Promise<{ readonly body: string; readonly etag: string }> | undefined;
  const encoded = new Map<Encoding, Promise<Buffer>>();
  const load = async () => {
    const body = await make();
    return { body, etag: createHash('sha256').update(body).digest('base64url').slice(0, 22) };
  };
  return {
    send: async (request, reply) => {
      text ??= load().catch((error: unknown) => {
        // The next request tries again.
        text = undefined;
        throw error;
      });
      const { body, etag } = await text;
      const encoding = acceptedEncoding(request.headers['accept-encoding'], ['br', 'gzip']);
      // Each encoding needs its own tag (RFC 9110, 8.8.3.3).
      const tag = `"${encoding === null ? etag : `${etag}-${encoding}`}"`;
      void reply.headers({ etag: tag, 'cache-control': cacheControl, vary: 'accept-encoding' });
      if (namesTag(request.headers['if-none-match'], tag)) return reply.code(304).send();
      void reply.type(type);
      if (encoding === null) return reply.send(body);
      const known = encoded.get(encoding) ?? compressed(body, encoding);
      encoded.set(encoding, known);
      return reply.header('content-encoding', encoding).send(await known);
    },
  };
}

/** Returns whether the header `If-None-Match` names the tag, which stands in quotes. */
export function namesTag(header: string | undefined, tag: string): boolean {
  return header?.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === tag) ?? false;
}
