import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createClient, type Client } from '../../packages/client/src/index.ts';
import { createTestDatabase, type TestDatabase } from '../../packages/testkit/src/database.ts';
import { eventually } from './eventually.ts';

const program = resolve(import.meta.dirname, '../../packages/server/src/main/cli.ts');
export const token = 'e2e-administrator-token';

export interface DavitOptions {
  /** Socket of the container engine. */
  readonly socketPath: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** The database of another server, which drops the database. Default: a database of its own. */
  readonly database?: TestDatabase;
}

/** A real `davit serve` in its own process, with its own database, state folder and gateway. */
export class Davit {
  readonly folder: string;
  readonly url: string;
  readonly client: Client;
  readonly gatewayPort: number;
  readonly database: TestDatabase;
  readonly #options: DavitOptions;
  readonly #port: number;
  #process: ChildProcess | undefined;
  #output = '';

  private constructor(options: DavitOptions, parts: { port: number; gatewayPort: number; database: TestDatabase }) {
    this.#options = options;
    this.#port = parts.port;
    this.gatewayPort = parts.gatewayPort;
    this.database = parts.database;
    this.folder = mkdtempSync(join(tmpdir(), 'davit-e2e-'));
    // An embedded database runs as another user, who needs access to the folder.
    chmodSync(this.folder, 0o711);
    this.url = `http://127.0.0.1:${parts.port}`;
    this.client = createClient({ baseUrl: this.url, token });
  }

  static async start(options: DavitOptions): Promise<Davit> {
    const [port, gatewayPort] = await freePorts();
    const database = options.database ?? (await createTestDatabase());
    const davit = new Davit(options, { port, gatewayPort, database });
    await davit.serve();
    return davit;
  }

  /**
   * Starts another server on the same database. The servers share a key only if the environment sets
   * `DAVIT_SECRET_KEY`.
   */
  peer(): Promise<Davit> {
    return Davit.start({ ...this.#options, database: this.database });
  }

  /** Everything that the server has printed so far, over all its restarts. */
  get output(): string {
    return this.#output;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** Starts or restarts the server and waits until it responds. */
  async serve(extra: Readonly<Record<string, string>> = {}): Promise<void> {
    const child = spawn(process.execPath, [program, 'serve'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        DAVIT_HOME: this.folder,
        DAVIT_PORT: String(this.#port),
        DAVIT_GATEWAY_PORT: String(this.gatewayPort),
        DAVIT_BOOTSTRAP_TOKEN: token,
        DAVIT_RATE_LIMIT: '0',
        // The git servers of tests listen on loopback. The address is allowed by name, so that git is reached as in a
        // shared installation.
        DAVIT_ALLOW_PRIVATE_REPOSITORIES: '127.0.0.1',
        DAVIT_TERMINATION_GRACE_SECONDS: '2',
        DAVIT_DRAIN_SECONDS: '5',
        // These tests do not depend on the free space of the machine's disk.
        DAVIT_LEAST_FREE_DISK_MIB: '0',
        DATABASE_URL: this.database.connectionString,
        DOCKER_HOST: `unix://${this.#options.socketPath}`,
        DAVIT_TEST_ORDERS: this.#orders,
        ...this.#options.environment,
        ...extra,
      },
    });
    const collect = (chunk: Buffer): void => {
      this.#output += chunk.toString();
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    this.#process = child;
    const headers = { authorization: `Token ${token}` };
    await eventually(async () => {
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new Error(`davit serve ended:\n${this.#output.slice(-4_000)}`);
      }
      // The server must be ready and must also accept requests: after a slow start on a busy machine it rejects
      // requests for a moment.
      const answers = await Promise.all(
        ['/readyz', '/organization'].map((path) => fetch(`${this.url}${path}`, { headers }).catch(() => null)),
      );
      return answers.every((answer) => answer?.status === 200) ? true : undefined;
    }, 'the server');
  }

  /**
   * Calls the API by method and path, for calls that differ only in the type of service. Fails unless the status is
   * 2xx.
   */
  async ask(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object): Promise<unknown> {
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers: { authorization: `Token ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  /** Makes the server act once when it reaches this crash point; see `crash-point.ts`. */
  order(point: string, what: 'kill' | 'hold'): void {
    writeFileSync(this.#orders, `${point} ${what}`);
  }

  /** Waits until the server holds at the ordered crash point. */
  async holds(): Promise<void> {
    const isHeld = async () => (existsSync(`${this.#orders}.held`) ? true : undefined);
    await eventually(isHeld, 'the server to come to its point').catch((error: unknown) => {
      throw new Error(`the server did not come to its point:\n${this.#output.slice(-4_000)}`, { cause: error });
    });
  }

  /** Lets the held server continue. */
  release(): void {
    rmSync(`${this.#orders}.held`, { force: true });
  }

  /** Withdraws an order whose point was not reached, and starts the server if it is not running. */
  async recover(): Promise<void> {
    rmSync(this.#orders, { force: true });
    this.release();
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) await this.serve();
  }

  get #orders(): string {
    return join(this.folder, 'orders');
  }

  /** Resolves when the process has exited. */
  async exited(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    await new Promise((done) => child.once('exit', done));
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    this.#process?.kill(signal);
    await this.exited();
  }

  /** Stops the server, gateway and database, and removes the state folder. */
  async remove(): Promise<void> {
    await this.kill('SIGTERM');
    await endGateway(this.folder);
    if (this.#options.database === undefined) await this.database.drop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Stops the gateway by the pid in its pid file. The gateway outlives the server on purpose. */
async function endGateway(folder: string): Promise<void> {
  const { createGateway } = await import('../../packages/drivers/src/gateway/gateway.ts');
  const gateway = createGateway({ stateFolder: join(folder, 'gateway'), port: 1, bindAddress: '127.0.0.1' });
  await gateway.stop();
}

async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()];
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((done) => {
          server.listen(0, '127.0.0.1', () => {
            const address = server.address();
            done(typeof address === 'object' && address !== null ? address.port : 0);
          });
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return [ports[0] ?? 0, ports[1] ?? 0];
}

/**
 * Returns the arguments of every process of this machine, and the environment of each process whose environment is
 * readable, as `ps` would show them.
 */
export function processTexts(): string {
  const { readdirSync } = process.getBuiltinModule('node:fs');
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return '';
      }
    })
    .join('\n');
}
