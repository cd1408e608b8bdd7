import { Agent, request, type ClientRequestArgs } from 'node:http';
import type { Duplex } from 'node:stream';

const isTaken = ({ code }: NodeJS.ErrnoException): boolean => code === 'EADDRINUSE' || code === 'EADDRNOTAVAIL';

export interface LoadResult {
  readonly succeeded: number;
  readonly failures: readonly string[];
  readonly versions: ReadonlySet<string>;
}

export interface LoadOptions {
  /** The host that they connect to, whatever the name in the address is. Default: this machine. */
  readonly connectTo?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Nothing but GET. */
  readonly isReading?: boolean;
  /** Each request has a connection of its own: what closes the others is not what is tested. */
  readonly isFresh?: boolean;
}

/**
 * Each connection begins at a port of its own, below those that others get: what a kernel remembers of an earlier one leads the next one from the same
 * port to where that one was led (conntrack, up to two minutes), and one that was tried before the node knew of a Service was led nowhere. Clients
 * of one machine that make hundreds of connections a second come to the same ports again within seconds.
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
 * Ten clients with keep-alive and two without, GET and POST, one request after the other each. Nothing is asked a second time: a request
 * that finds its connection closed has failed.
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
      // Of a port that somebody else has nothing was sent.
      sent.on('error', (error: NodeJS.ErrnoException) => (isTaken(error) ? resolve(one(agent, method)) : fail(error.message)));
      // An answer that never comes is a lost request too.
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
