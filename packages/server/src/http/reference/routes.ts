import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { pageHeaders } from '../console.ts';
import { staticText, type StaticText } from '../static-text.ts';
import type { Reference } from './reference.ts';

const documentation = new URL('../../../../../docs/', import.meta.url);

/** Pages that are kept after they were made, some 50 KB each. Others are made again, in a few milliseconds. */
const mostKept = 64;

/** Adds the reference of the API below `/docs`. Its script and style are files of the console. */
export function addReference(pages: FastifyInstance, version: string): void {
  let made: Promise<Reference> | undefined;
  const reference = (): Promise<Reference> => {
    made ??= makeReference(version).catch((error: unknown) => {
      // The next request tries again.
      made = undefined;
      throw error;
    });
    return made;
  };
  const kept = new Map<string, StaticText>();
  const send = async (address: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    void reply.headers(pageHeaders);
    const page = kept.get(address) ?? textOf((await reference()).page(address));
    if (page === undefined) {
      const missing = (await reference()).missingPage();
      return reply.code(404).header('cache-control', 'no-store').type('text/html; charset=utf-8').send(missing);
    }
    // The page that was asked for last is the last to go.
    kept.delete(address);
    kept.set(address, page);
    for (const [oldest] of [...kept].slice(0, -mostKept)) kept.delete(oldest);
    return page.send(request, reply);
  };
  const search = staticText('application/json; charset=utf-8', async () => (await reference()).searchIndex());
  pages.get('/docs', (request, reply) => send('/', request, reply));
  pages.get('/docs/search.json', (request, reply) => search.send(request, reply.headers(pageHeaders)));
  pages.get<{ Params: { readonly '*': string } }>('/docs/*', (request, reply) => send(`/${request.params['*']}`, request, reply));
}

function textOf(page: string | undefined): StaticText | undefined {
  return page === undefined ? undefined : staticText('text/html; charset=utf-8', () => page);
}

/** Loads the pages and the examples when somebody reads the reference, as most servers are never asked for it. */
async function makeReference(version: string): Promise<Reference> {
  const [{ Reference }, { readGuides }] = await Promise.all([import('./reference.ts'), import('./guides.ts')]);
  return new Reference(version, await readGuides(documentation));
}
