import { connect } from 'node:net';
import type { EngineConnection } from '../connection.ts';

/**
 * Returns whether the engine still accepts new connections. An engine that is stopping still responds on existing
 * connections and so looks healthy. It has closed its listening socket before it kills its containers.
 */
export function takesConnections(docker: EngineConnection): Promise<boolean> {
  const { socketPath, origin } = docker.connection;
  const { hostname, port } = new URL(origin);
  return new Promise((resolve) => {
    const socket = socketPath === undefined ? connect(Number(port), hostname) : connect(socketPath);
    const answer = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.setTimeout(2000, () => answer(false));
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
  });
}
