import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient, type Client } from '@davit/client';
import { freePort, type Place } from './place.ts';
import { end } from './processes.ts';

const program = fileURLToPath(new URL('../davit', import.meta.url));
const token = 'dvt_bench_0123456789abcdef';

export interface DavitOptions {
  /** The name of the state folder. Servers with the same name share their state. */
  readonly name: string;
  /** Default: the server's own embedded PostgreSQL. */
  readonly databaseUrl?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A running `./davit serve`, started as by an operator, but with the rate limit turned off. */
export interface Davit {
  readonly port: number;
  readonly gatewayPort: number;
  readonly pid: number;
  readonly home: string;
  readonly client: Client;
  /** Headers for every request of a load. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds from the start of the program to its first response. */
  readonly startMilliseconds: number;
  /** Stops the server and waits until it has exited. The default is SIGTERM; another signal simulates a crash. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a server and waits for the first response to a request that reads the database. */
export async function startDavit(location: Place, options: DavitOptions): Promise<Davit> {
  const home = location.newFolder(options.name);
  const ports = { port: await freePort(), gatewayPort: await freePort() };
  const log = path.join(home, 'serve.log');
  const output = openSync(log, 'a');
  const { address } = await location.engine();
  const env = { ...environmentOf(options, { home, ...ports }), DOCKER_HOST: address };
  const began = performance.now();
  // A later run finds the processes of a killed run by this folder.
  const child = spawn(program, ['serve'], { stdio: ['ignore', output, output], env, cwd: home });
  closeSync(output);
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} cannot be run`);
  const startMilliseconds = await firstAnswer(child, ports.port, began).catch((error: unknown) => {
    throw new Error(`davit serve did not start:\n${readFileSync(log, 'utf8').slice(-3000)}`, { cause: error });
  });
  return {
    ...ports,
    pid,
    home,
    client: createClient({ baseUrl: `http://127.0.0.1:${ports.port}`, token }),
    headers: { authorization: `Token ${token}`, accept: 'application/json' },
    startMilliseconds,
    stop: (signal = 'SIGTERM') => end(pid, signal),
  };
}

interface Ports {
  readonly home: string;
  readonly port: number;
  readonly gatewayPort: number;
}

function environmentOf(options: DavitOptions, { home, port, gatewayPort }: Ports): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    // For profiles.
    ...(process.env['NODE_OPTIONS'] !== undefined && { NODE_OPTIONS: process.env['NODE_OPTIONS'] }),
    DAVIT_HOME: home,
    DAVIT_PORT: String(port),
    DAVIT_GATEWAY_PORT: String(gatewayPort),
    DAVIT_BOOTSTRAP_TOKEN: token,
    DAVIT_RATE_LIMIT: '0',
    // Allowed because the git server listens on loopback.
    DAVIT_ALLOW_PRIVATE_REPOSITORIES: 'true',
    ...(options.databaseUrl !== undefined && { DATABASE_URL: options.databaseUrl }),
    ...options.environment,
  };
}

async function firstAnswer(child: ChildProcess, port: number, began: number): Promise<number> {
  const deadline = began + 60_000;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    if ((await ask(port)) === 200) return performance.now() - began;
    await pause(2);
  }
  throw new Error('it gave no answer within a minute');
}

/** Returns the status of one request on a new connection, or 0 if the server is unreachable. */
function ask(port: number): Promise<number> {
  return new Promise((resolve) => {
    const call = request({
      host: '127.0.0.1',
      port,
      path: '/organization',
      agent: false,
      headers: { authorization: `Token ${token}` },
    });
    call.once('error', () => resolve(0));
    call.once('response', (response) => {
      response.resume();
      response.once('close', () => resolve(response.statusCode ?? 0));
    });
    call.end();
  });
}
