import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';

/** The only paths that are served. */
const pages: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** The health server of a process that serves no API. */
export interface Health {
  readonly address: string;
  close(): Promise<void>;
}

/** Listens for monitoring: serves the health pages of the API's server, which itself does not listen. */
export async function listenForHealth(
  api: FastifyInstance,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Health> {
  const server = createServer((request, response) => void answer(api, request, response));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it listens on no port');
  const shown = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    address: `http://${shown}:${address.port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(api: FastifyInstance, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [url = ''] = (request.url ?? '').split('?', 1);
  if (request.method !== 'GET' || !pages.has(url)) {
    const text =
      'This process has the role worker: it answers /healthz, /readyz and /metrics only. Send requests of the API to a process with the role api.\n';
    response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end(text);
    return;
  }
  try {
    const { statusCode, headers, rawPayload } = await api.inject({ method: 'GET', url });
    response.writeHead(statusCode, { 'content-type': headers['content-type'] ?? 'text/plain' }).end(rawPayload);
  } catch {
    response.writeHead(503, { 'content-type': 'text/plain' }).end('not ready\n');
  }
}
