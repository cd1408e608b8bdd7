import { Agent, request, type ClientRequestArgs } from 'node:http';
import type { Duplex } from 'node:stream';

const isTaken = ({ code }: NodeJS.ErrnoException): boolean => code === 'EADDRINUSE' || code === 'EADDRNOTAVAIL';

export interface LoadResult {
  readonly succeeded: number;
  readonly failures: readonly string[];
  readonly versions: ReadonlySet<string>;
}

export interface LoadOptions {
  /** The host to which the clients connect, whatever host the address names. Default: this machine. */
  readonly connectTo?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the clients send only GET requests. */
  readonly isReading?: boolean;
  /** Whether each request uses a new connection, for tests in which something else closes kept connections. */
  readonly isFresh?: boolean;
}

/**
 * Opens each connection from its own local port, below the ports that other programs get. The kernel remembers a
 * connection for up to two minutes (conntrack) and leads the next connection from the same port to the same place. A
 * connection that was tried before the node knew of a Service led nowhere. Clients of one machine that open hundreds of
 * connections per second reuse a port within seconds.
 */
class OwnPorts extends Agent {
  static #next = 10_000 + Math.floor(Math.random() * 5_000);

  override createConnection(options: ClientRequestArgs, callback?: (error: Error | null, stream: Duplex) => void) {
    const localPort = OwnPorts.#next;
    OwnPorts.#next = localPort < 32_767 ? localPort + 1 : 10_000;
    return super.createConnection({ ...options, localPort }, callback);
  }
}

/**
 * Starts ten clients with keep-alive and two without. Each client sends GET and POST requests, one after the other. No
 * request is retried: a request that finds its connection closed has failed.
 */
export function startLoad(
  address: string,
  { connectTo = '127.0.0.1', headers = {}, isReading = false, isFresh = false }: LoadOptions = {},
): { end(atLeast: number): Promise<LoadResult> } {
  const { host, port, pathname: path } = new URL(address);
  const failures: string[] = [];
  const versions = new Set<string>();
  let succeeded = 0;
  let until = Number.POSITIVE_INFINITY;
  const agents = [
    ...Array.from({ length: 10 }, () => (isFresh ? (false as const) : new OwnPorts({ keepAlive: true, maxSockets: 1 }))),
    false as const,
    false as const,
  ];
  const one = (agent: Agent | false, method: string): Promise<void> =>
    new Promise((resolve) => {
      const fail = (reason: string): void => {
        failures.push(
          `${reason}, to ${agent === false ? 'a new connection' : 'one that is kept'}, at ${new Date().toISOString()}`,
        );
        resolve();
      };
      const by = agent === false ? new OwnPorts() : agent;
      const sent = request({ host: connectTo, port, path, method, agent: by, headers: { host, ...headers } }, (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => (body += chunk.toString()));
        response.on('error', (error) => fail(error.message));
        response.on('end', () => {
          if (response.statusCode !== 200) return fail(`status ${response.statusCode}: ${body.slice(0, 200)}`);
          versions.add(body);
          succeeded += 1;
          resolve();
        });
      });
      // If the local port is taken, nothing was sent, so the request is sent from another port.
      sent.on('error', (error: NodeJS.ErrnoException) => (isTaken(error) ? resolve(one(agent, method)) : fail(error.message)));
      // A request without a response counts as lost too.
      sent.setTimeout(30_000, () => sent.destroy(new Error(`no answer to ${method} within 30 s`)));
      sent.end(method === 'POST' ? 'x'.repeat(1_000) : undefined);
    });
  const client = async (agent: Agent | false, index: number): Promise<void> => {
    for (let count = index; succeeded + failures.length < until; count += 1)
      await one(agent, count % 3 === 0 && !isReading ? 'POST' : 'GET');
    if (agent !== false) agent.destroy();
  };
  const clients = agents.map((agent, index) => client(agent, index));
  return {
    end: async (atLeast) => {
      until = atLeast;
      await Promise.all(clients);
      return { succeeded, failures, versions };
    },
  };
}
