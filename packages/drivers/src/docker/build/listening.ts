import { connect } from 'node:net';
import type Dockerode from 'dockerode';

interface Address {
  readonly socketPath?: unknown;
  readonly host?: unknown;
  readonly port?: unknown;
  readonly protocol?: unknown;
}

/**
 * Returns whether the engine still accepts new connections. An engine that is stopping still responds on existing
 * connections and so looks healthy. It has closed its listening socket before it kills its containers.
 */
export function takesConnections(docker: Dockerode): Promise<boolean> {
  const options = addressOf(docker.modem as unknown as Address); // oxlint-disable-line typescript/no-unsafe-type-assertion -- its types hide them
  if (options === null) return Promise.resolve(true);
  return new Promise((resolve) => {
    const socket = connect(options);
    const answer = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.setTimeout(2000, () => answer(false));
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
  });
}

function addressOf({ socketPath, host, port, protocol }: Address): { path: string } | { host: string; port: number } | null {
  if (typeof socketPath === 'string') return { path: socketPath };
  const isTcp = protocol === 'http' || protocol === 'https';
  return isTcp && typeof host === 'string' && Number(port) > 0 ? { host, port: Number(port) } : null;
}
