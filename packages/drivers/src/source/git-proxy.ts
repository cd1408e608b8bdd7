import { randomBytes, timingSafeEqual } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { createServer, request as openRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, isIP } from 'node:net';
import type { Duplex } from 'node:stream';

/** Whether git may connect to an address. `host`: the name that resolves to the address, or the address itself. */
export type MayReach = (address: string, host: string) => boolean;

/** Checks all addresses of a name. Returns the first address that may not be reached; null if all may be reached. */
export async function refusedAddress(host: string, mayReach: MayReach): Promise<string | null> {
  const addresses = await addressesOf(host);
  return addresses.find((address) => !mayReach(address, host)) ?? null;
}

async function addressesOf(host: string): Promise<string[]> {
  const bare = host.replace(/^\[|\]$/g, '');
  if (isIP(bare) !== 0) return [bare];
  return (await lookup(bare, { all: true })).map(({ address }) => address);
}

/** Proxy access for the processes of one git command. */
export interface ProxyPass {
  /** URL for `http_proxy` and `https_proxy`, with a password that only these processes have. */
  readonly url: string;
  /** Returns the `host` of the first refused connection; null if none was refused. */
  readonly refused: () => string | null;
  close(): void;
}

interface Pass {
  readonly password: Buffer;
  refused: string | null;
}

/**
 * An HTTP proxy on loopback. Git connects through it if git may not reach all hosts. The proxy resolves a name itself
 * and connects to the address that it has checked. So neither redirects, submodules and Git LFS nor a name whose
 * address changes can bypass the check. It connects to nothing before the check, so that a refusal reveals nothing
 * about the target.
 */
export class GitProxy {
  readonly #mayReach: MayReach;
  readonly #passes = new Map<string, Pass>();
  #started: Promise<{ readonly port: number }> | undefined;

  constructor(mayReach: MayReach) {
    this.#mayReach = mayReach;
  }

  async open(): Promise<ProxyPass> {
    const { port } = await (this.#started ??= this.#start());
    const name = randomBytes(8).toString('hex');
    const password = randomBytes(24).toString('hex');
    const pass: Pass = { password: Buffer.from(password), refused: null };
    this.#passes.set(name, pass);
    return {
      url: `http://${name}:${password}@127.0.0.1:${port}`,
      refused: () => pass.refused,
      close: () => void this.#passes.delete(name),
    };
  }

  #start(): Promise<{ readonly port: number }> {
    const server: Server = createServer((request, response) => void this.#forward(request, response));
    server.on(
      'connect',
      (request: IncomingMessage, socket: Duplex, head: Buffer) => void this.#tunnel(request, { socket, head }),
    );
    // Git may pause between two packets, and a clone may take hours.
    server.requestTimeout = 0;
    server.timeout = 0;
    server.unref();
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        resolve({ port: typeof address === 'object' && address !== null ? address.port : 0 });
      });
    });
  }

  async #tunnel(request: IncomingMessage, { socket, head }: { readonly socket: Duplex; readonly head: Buffer }): Promise<void> {
    socket.on('error', () => socket.destroy());
    const target = URL.canParse(`https://${request.url}`) ? new URL(`https://${request.url}`) : null;
    const way = target === null ? 400 : await this.#wayTo(request, target);
    if (typeof way === 'number' || target === null) {
      const challenge = way === 407 ? 'Proxy-Authenticate: Basic realm="davit"\r\n' : '';
      socket.end(`HTTP/1.1 ${way} Refused\r\n${challenge}Content-Length: 0\r\nConnection: close\r\n\r\n`);
      return;
    }
    const there = connect({ host: way, port: Number(target.port === '' ? 443 : target.port) });
    there.once('connect', () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n');
      there.write(head);
      there.pipe(socket).pipe(there);
    });
    there.on('error', () => socket.destroy());
    there.on('close', () => socket.destroy());
    socket.on('close', () => there.destroy());
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = URL.canParse(request.url ?? '') ? new URL(request.url ?? '') : null;
    const way = target?.protocol === 'http:' ? await this.#wayTo(request, target) : 400;
    if (typeof way === 'number' || target === null) {
      const challenge = way === 407 ? { 'proxy-authenticate': 'Basic realm="davit"' } : {};
      response.writeHead(typeof way === 'number' ? way : 400, { ...challenge, connection: 'close' }).end();
      return;
    }
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !name.startsWith('proxy-')));
    const sent = openRequest({
      host: way,
      port: target.port === '' ? 80 : Number(target.port),
      method: request.method,
      path: `${target.pathname}${target.search}`,
      headers: { ...headers, host: target.host },
      agent: false,
    });
    sent.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    sent.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
    response.on('close', () => sent.destroy());
    request.pipe(sent);
  }

  /** Returns the address to connect to, or the status of the refusal. */
  async #wayTo(request: IncomingMessage, target: URL): Promise<string | 400 | 403 | 407 | 502> {
    const pass = this.#passOf(request);
    if (pass === null) return 407;
    try {
      const addresses = await addressesOf(target.hostname);
      const isOpen = addresses.every((address) => this.#mayReach(address, target.hostname));
      if (!isOpen) pass.refused ??= target.hostname;
      return isOpen ? (addresses[0] ?? 502) : 403;
    } catch {
      return 502; // The name does not exist.
    }
  }

  #passOf(request: IncomingMessage): Pass | null {
    const [scheme, value = ''] = (request.headers['proxy-authorization'] ?? '').split(' ');
    const [name = '', password = ''] = Buffer.from(value, 'base64').toString().split(':');
    const pass = this.#passes.get(name);
    if (scheme?.toLowerCase() !== 'basic' || pass === undefined) return null;
    const given = Buffer.from(password);
    return given.length === pass.password.length && timingSafeEqual(given, pass.password) ? pass : null;
  }
}
