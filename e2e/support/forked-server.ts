import { fork, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { FakeCluster } from '../../packages/drivers/src/index.ts';
import type { TestDatabase } from '../../packages/testkit/src/database.ts';
import { offerCluster } from '../../packages/testkit/src/remote-cluster.ts';

const program = resolve(import.meta.dirname, 'fake-server.ts');
const secretKey = Buffer.alloc(32, 7).toString('base64');

export interface ForkedServerOptions {
  readonly fake: FakeCluster;
  readonly database: TestDatabase;
  /** The instance administrator's token. */
  readonly token: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** `davit serve` in its own process, over the fake cluster of this process. It can be killed and started again. */
export class ForkedServer {
  readonly #home = mkdtempSync(join(tmpdir(), 'davit-forked-'));
  readonly #options: ForkedServerOptions;
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  /** The address of the API. Null while the server is down, and always null for a worker. */
  address: string | null = null;
  /** The address of the health checks. Null while the server is down. */
  health: string | null = null;

  constructor(options: ForkedServerOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const child = fork(program, {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: {
        ...process.env,
        DAVIT_HOME: this.#home,
        DAVIT_PORT: '0',
        DAVIT_RATE_LIMIT: '0',
        DAVIT_LOG_LEVEL: 'fatal',
        DAVIT_BOOTSTRAP_TOKEN: this.#options.token,
        DAVIT_SECRET_KEY: secretKey,
        DATABASE_URL: this.#options.database.connectionString,
        ...this.#options.environment,
      },
    });
    this.#child = child;
    this.#exited = new Promise((done) => child.once('exit', () => done()));
    offerCluster(this.#options.fake, child);
    this.address = await new Promise<string | null>((done, fail) => {
      child.on('message', (message: object) => {
        if ('health' in message) this.health = String(message.health);
        if ('address' in message) done(typeof message.address === 'string' ? message.address : null);
      });
      child.once('exit', () => fail(new Error('the server ended')));
    });
  }

  /** Kills the server without a chance to end anything. */
  async kill(): Promise<void> {
    this.address = null;
    this.health = null;
    this.#child?.kill('SIGKILL');
    await this.#exited;
  }

  remove(): void {
    rmSync(this.#home, { recursive: true, force: true });
  }
}
