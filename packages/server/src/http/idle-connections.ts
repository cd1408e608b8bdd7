import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

const sweepEveryMilliseconds = 100;

/**
 * Has a server that closes end the connections on which nothing is under way. Node.js ends the idle ones once, and not those that
 * become idle later; those on which nothing was asked yet, of which browsers open some ahead of need, it counts as busy. The server
 * would wait for both until its patience ends.
 */
export function endIdleConnections(app: FastifyInstance): void {
  const open = new Set<Socket>();
  app.server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  app.addHook('preClose', (done) => {
    const sweep = setInterval(() => {
      app.server.closeIdleConnections();
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
    }, sweepEveryMilliseconds);
    app.server.once('close', () => clearInterval(sweep));
    done();
  });
}
