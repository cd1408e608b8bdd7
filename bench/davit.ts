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
  /** Names its state folder; the same name is the same state. */
  readonly name: string;
  /** Without: the embedded PostgreSQL of its own. */
  readonly databaseUrl?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A `./davit serve`, as an operator starts it, but for the rate limit, which is off. */
export interface Davit {
  readonly port: number;
  readonly gatewayPort: number;
  readonly pid: number;
  readonly home: string;
  readonly client: Client;
  /** What every request of a load needs. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds from the start of the program to its first answer. */
  readonly startMilliseconds: number;
  /** Ends it and waits until it is gone: SIGTERM, or as a crash would. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts it and waits for the first answer to a request that reads the database. */
export async function startDavit(place: Place, options: DavitOptions): Promise<Davit> {
  const home = place.newFolder(options.name);
  const ports = { port: await freePort(), gatewayPort: await freePort() };
  const log = path.join(home, 'serve.log');
  const output = openSync(log, 'a');
  const { address } = await place.engine();
  const env = { ...environmentOf(options, { home, ...ports }), DOCKER_HOST: address };
  const began = performance.now();
  // Its folder is how a later run finds what a killed one left behind.
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
    // The git server is on loopback.
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

/** Status of one request on a connection of its own; 0: nobody answers. */
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
