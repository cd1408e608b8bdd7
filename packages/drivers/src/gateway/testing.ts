import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, createServer, request, type IncomingHttpHeaders, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Backend, HttpRoute } from '../gateway.ts';
import { createGateway, type LocalGateway } from './gateway.ts';
import type { GatewayOptions } from './options.ts';

export const hasHaproxy = spawnSync('haproxy', ['-v']).status === 0;
export const title = hasHaproxy
  ? 'the gateway'
  : 'the gateway (skipped: the program haproxy is missing; apt-get install haproxy)';

/** Response of a test backend: its name and the request that it received. */
export interface Echo {
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** All objects of one test; `end` removes them. */
export class GatewaySetup {
  readonly folder = mkdtempSync(join(tmpdir(), 'davit-gw-'));
  readonly agent = new Agent({ keepAlive: true });
  port = 0;
  private readonly ends: (() => Promise<void> | void)[] = [];

  async gateway(options: Partial<GatewayOptions> = {}): Promise<LocalGateway> {
    if (this.port === 0) this.port = await freePort();
    const gateway = createGateway({ stateFolder: this.folder, port: this.port, bindAddress: '127.0.0.1', ...options });
    this.onEnd(() => gateway.stop());
    return gateway;
  }

  onEnd(end: () => Promise<void> | void): void {
    this.ends.unshift(end);
  }

  /** Starts an HTTP server that responds with its name and the request that it received. */
  async backend(name: string, host = '127.0.0.1', port = 0): Promise<Backend & { readonly server: Server }> {
    const server = createServer((message, response) => {
      const chunks: Buffer[] = [];
      message.on('data', (chunk: Buffer) => chunks.push(chunk));
      message.on('end', () => {
        const { method = '', url = '', headers } = message;
        const echo: Echo = { name, method, url, headers, body: Buffer.concat(chunks).toString() };
        response.end(JSON.stringify(echo));
      });
    });
    return { id: name, host, port: await this.listen(server, host, port), server };
  }

  async listen(server: Server | TcpServer, host = '127.0.0.1', port = 0): Promise<number> {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
    this.onEnd(() => closed(server));
    return portOf(server);
  }

  /** Sends a request through the gateway, over its own connection unless an agent is given. */
  async ask(
    host: string,
    path = '/',
    options: { headers?: Record<string, string>; method?: string; body?: string; agent?: Agent } = {},
  ): Promise<Answer> {
    return await new Promise((resolve, reject) => {
      const { headers = {}, method = 'GET', agent = false } = options;
      const outgoing = request({ host: '127.0.0.1', port: this.port, path, method, agent, headers: { host, ...headers } });
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString() }),
        );
      });
      outgoing.end(options.body);
    });
  }

  async echo(host: string, path = '/', options: Parameters<GatewaySetup['ask']>[2] = {}): Promise<Echo> {
    const answer = await this.ask(host, path, options);
    if (answer.status !== 200) throw new Error(`${host}${path} answered ${answer.status}: ${answer.text}`);
    return toEcho(answer.text);
  }

  async end(): Promise<void> {
    this.agent.destroy();
    for (const end of this.ends) await end();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function toEcho(text: string): Echo {
  return JSON.parse(text) as Echo; // oxlint-disable-line typescript/no-unsafe-type-assertion -- our own server's words
}

export function httpRoute(
  id: string,
  hosts: readonly string[],
  backends: readonly Backend[],
  more: Partial<HttpRoute> = {},
): HttpRoute {
  return { id, hosts, pathPrefix: '/', pathRewrite: null, protocol: 'HTTP', backends, ...more };
}

export async function freePort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const port = portOf(server);
  await closed(server);
  return port;
}

export async function closed(server: Server | TcpServer): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
}

/** Resolves once the condition holds; fails after ten seconds. */
export async function until(claim: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await claim())) {
    if (performance.now() > deadline) throw new Error('it did not come true in ten seconds');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function portOf(server: TcpServer): number {
  return (server.address() as AddressInfo).port; // oxlint-disable-line typescript/no-unsafe-type-assertion -- listens on TCP
}
