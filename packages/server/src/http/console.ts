import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { immutable, staticText, type StaticText } from './static-text.ts';

/** The folder into which the console is built. */
const builtFolder = fileURLToPath(new URL('../../../console/dist/', import.meta.url));

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
};

/** Scripts, styles, images and requests come from this server alone, and no script is part of the page's text. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};

const notBuilt = `The console of Davit is not built. The API works without it: /docs describes it.
To build the console, run "npm run build --workspace=@davit/console" in the checkout of Davit, then load this page again.
`;

/** Returns whether the client asks for a page rather than for data: a browser does, and names the type. */
export function prefersPage({ headers: { accept = '' } }: FastifyRequest): boolean {
  return accept.includes('text/html');
}

/** The console: static files that a browser turns into pages. The addresses of all its pages return the same file. */
export class Console {
  readonly #folder: string;
  #files: ReadonlyMap<string, StaticText> = new Map();

  constructor(folder = builtFolder) {
    this.#folder = folder;
  }

  /** Returns whether there is a console to serve. It may be built while the server runs. */
  async isBuilt(): Promise<boolean> {
    if (this.#files.size === 0) this.#files = await readFiles(this.#folder);
    return this.#files.has('index.html');
  }

  addTo(pages: FastifyInstance): void {
    pages.get('/console', (request, reply) => this.#send('', request, reply));
    pages.get<{ Params: { readonly '*': string } }>('/console/*', (request, reply) =>
      this.#send(request.params['*'], request, reply),
    );
  }

  async #send(name: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    void reply.headers(pageHeaders);
    if (!(await this.isBuilt())) {
      return reply.code(503).header('cache-control', 'no-store').type('text/plain; charset=utf-8').send(notBuilt);
    }
    const file = this.#files.get(name);
    if (file !== undefined) return file.send(request, reply);
    // A script of another version: the page that asks for it must notice.
    if (name.startsWith('assets/')) {
      return reply.code(404).header('cache-control', 'no-store').type('text/plain; charset=utf-8').send('There is no such file.');
    }
    const page = this.#files.get('index.html');
    if (page === undefined) throw new Error('the console has no page');
    return page.send(request, reply);
  }
}

/** Returns the files that may be served, by their path; empty if the folder is missing. */
async function readFiles(folder: string): Promise<Map<string, StaticText>> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const files = names.flatMap((name) => {
    const type = types[path.extname(name)];
    const read = (): Promise<string> => readFile(path.join(folder, name), 'utf8');
    const cacheControl = name.startsWith('assets/') ? immutable : undefined;
    return type === undefined ? [] : [[name, staticText(type, read, cacheControl)] as const];
  });
  return new Map(files);
}
