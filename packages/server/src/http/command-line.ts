import { createHash } from 'node:crypto';
import { access, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { commandLinePackage } from './command-line-package.ts';
import { namesTag, staticText } from './static-text.ts';

/** The one file into which the command line is built. */
const builtFile = fileURLToPath(new URL('../../../cli/dist/davit.mjs', import.meta.url));

const notBuilt = `The command line of Davit is not built. The API works without it: /docs describes it.
To build it, run "npm run build --workspace=@davit/cli" in the checkout of Davit, then try again.
`;

/** Serves the command line as a file and as a package for npm, so that everybody has the one that fits this server. */
export function addCommandLine(pages: FastifyInstance, version: string, file = builtFile): void {
  const program = staticText('text/javascript; charset=utf-8', () => readFile(file, 'utf8'));
  let archive: Promise<Buffer> | undefined;
  const whenBuilt =
    (send: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      void reply.header('x-content-type-options', 'nosniff');
      // The file may be built while the server runs.
      const isBuilt = await access(file).then(
        () => true,
        () => false,
      );
      if (isBuilt) return send(request, reply);
      return reply.code(503).header('cache-control', 'no-store').type('text/plain; charset=utf-8').send(notBuilt);
    };
  pages.get(
    '/cli/davit.mjs',
    whenBuilt((request, reply) => program.send(request, reply)),
  );
  pages.get(
    '/cli/davit.tgz',
    whenBuilt(async (request, reply) => {
      archive ??= readFile(file, 'utf8').then((text) => commandLinePackage(text, version));
      const body = await archive.catch((error: unknown) => {
        // The next request tries again.
        archive = undefined;
        throw error;
      });
      const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
      void reply.headers({ etag, 'cache-control': 'no-cache' });
      if (namesTag(request.headers['if-none-match'], etag)) return reply.code(304).send();
      return reply.type('application/gzip').send(body);
    }),
  );
}
