import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';

/** A web server on loopback that answers what a test wants. */
export async function startTestSite(listener: RequestListener): Promise<{ url: string; port: number; close(): Promise<void> }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A port of 127.0.0.1 on which nobody listens. */
export async function freePort(): Promise<number> {
  const site = await startTestSite((_request, response) => response.end());
  await site.close();
  return site.port;
}
