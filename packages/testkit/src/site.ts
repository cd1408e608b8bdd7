import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';

/** Starts a web server with the responses of a test, on loopback or at another address of this machine. */
export async function startTestSite(
  listener: RequestListener,
  host = '127.0.0.1',
): Promise<{ url: string; port: number; close(): Promise<void> }> {
  const server = createServer(listener).listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://${host}:${address.port}`,
    port: address.port,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Returns a port of 127.0.0.1 on which nothing listens. */
export async function freePort(): Promise<number> {
  const site = await startTestSite((_request, response) => response.end());
  await site.close();
  return site.port;
}
