import { createServer, connect, type Server, type Socket } from 'node:net';

/**
 * A proxy to the API server that can be cut. While it is cut, it accepts data and never responds, like a network that
 * loses every packet.
 */
export class Way {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  isCut = false;

  constructor(to: URL) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => this.#sockets.delete(socket));
      const there = connect(Number(to.port === '' ? 443 : to.port), to.hostname);
      there.on('error', () => socket.destroy());
      there.once('close', () => socket.destroy());
      socket.once('close', () => there.destroy());
      socket.on('data', (data) => this.isCut || there.write(data));
      there.on('data', (data) => this.isCut || socket.write(data));
    });
  }

  async open(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    const address = this.#server.address();
    return `https://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  /** Restores the connection to the API server. Closes the sockets, so data sent during the cut never arrives. */
  restore(): void {
    this.isCut = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.restore();
    await new Promise((done) => this.#server.close(done));
  }
}
