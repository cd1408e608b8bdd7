import { access, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { staticText } from './static-text.ts';

/** The one file into which the command line is built. */
const builtFile = fileURLToPath(new URL('../../../cli/dist/davit.mjs', import.meta.url));

const notBuilt = `The command line of Davit is not built. The API works without it: /docs describes it.
To build it, run "npm run build --workspace=@davit/cli" in the checkout of Davit, then try again.
`;

/** Serves the command line, so that everybody has the one that fits to this server. */
export function addCommandLine(pages: FastifyInstance, file = builtFile): void {
  const program = staticText('text/javascript; charset=utf-8', () => readFile(file, 'utf8'));
  pages.get('/cli/davit.mjs', async (request, reply) => {
    void reply.header('x-content-type-options', 'nosniff');
    // The file may be built while the server runs.
    const isBuilt = await access(file).then(
      () => true,
      () => false,
    );
    if (isBuilt) return program.send(request, reply);
    return reply.code(503).header('cache-control', 'no-store').type('text/plain; charset=utf-8').send(notBuilt);
  });
}
