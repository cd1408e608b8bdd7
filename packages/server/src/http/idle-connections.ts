import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

const sweepEveryMilliseconds = 100;

/**
 * Ends idle connections while a server closes. Node.js ends the connections that are idle when the close begins, but
 * neither of these:
 * - connections that become idle later;
 * - connections that have not received a request yet, which it counts as busy. Browsers open some of these in advance.
 *
 * Without this, the server would wait for both until its timeout.
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
