import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfiguration } from './config.ts';

/* Tests of deploy/compose.yaml and the file of secrets that it needs. */

const deploy = fileURLToPath(new URL('../../../../deploy', import.meta.url));
const text = readFileSync(join(deploy, 'compose.yaml'), 'utf8');
const program = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'docker-compose'))
  .find((file) => existsSync(file));

interface Service {
  readonly environment: Readonly<Record<string, string>>;
  readonly ports?: unknown;
  readonly volumes: readonly string[];
}
interface Compose {
  readonly services: { readonly davit: Service; readonly database: Service };
  readonly volumes: Readonly<Record<string, unknown>>;
}

let folder: string;
let engine: Server;
let socket: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'davit-compose-'));
  mkdirSync(join(folder, 'deploy'));
  for (const file of ['compose.yaml', 'compose-environment.sh']) copyFileSync(join(deploy, file), join(folder, 'deploy', file));
  socket = join(folder, 'engine.sock');
  engine = createServer();
  await new Promise<void>((listening) => engine.listen(socket, listening));
});
afterAll(async () => {
  await new Promise((closed) => engine.close(closed));
  rmSync(folder, { recursive: true, force: true });
});

const prepare = (engineSocket = socket): string =>
  execFileSync(join(folder, 'deploy/compose-environment.sh'), {
    env: { PATH: process.env['PATH'], DAVIT_ENGINE_SOCKET: engineSocket },
    encoding: 'utf8',
    stdio: 'pipe',
  });

const secrets = (): Record<string, string> =>
  Object.fromEntries(
    readFileSync(join(folder, 'deploy/.env'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s, 2) as [string, string]), // oxlint-disable-line typescript/no-unsafe-type-assertion -- split in two
  );

test('secrets are made once, of random numbers, for their owner alone; without an engine nothing is', () => {
  expect(() => prepare('/nonexistent.sock')).toThrow(/no socket of a container engine/);
  expect(existsSync(join(folder, 'deploy/.env'))).toBe(false);
  prepare();
  const first = secrets();
  expect(Object.keys(first)).toEqual([
    'COMPOSE_PROJECT_NAME',
    'DAVIT_DATABASE_PASSWORD',
    'DAVIT_SECRET_KEY',
    'DAVIT_BOOTSTRAP_TOKEN',
    'DAVIT_ENGINE_SOCKET',
    'DAVIT_ENGINE_GROUP',
  ]);
  expect(first['DAVIT_ENGINE_GROUP']).toBe(String(statSync(socket).gid));
  expect(statSync(join(folder, 'deploy/.env')).mode & 0o777).toBe(0o600);
  expect(prepare()).toBe('');
  expect(secrets()).toEqual(first);
});

test('no secret has a default, and what is missing says where it comes from', () => {
  for (const name of ['DAVIT_DATABASE_PASSWORD', 'DAVIT_SECRET_KEY', 'DAVIT_BOOTSTRAP_TOKEN', 'DAVIT_ENGINE_GROUP']) {
    expect(text).toContain(`\${${name}:?is missing. Run deploy/compose-environment.sh`);
    expect(text).not.toContain(`\${${name}:-`);
  }
});

/** Substitutes variables as compose does: `${A}`, `${A:-default}`, `${A:?words}`. */
function filled(value: string, variables: Readonly<Record<string, string>>): string {
  return value.replaceAll(
    /\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}/g,
    (_all, name: string, byDefault = '') => variables[name] ?? byDefault,
  );
}

test('the server takes the environment as it is made, and listens for this machine alone until it is told otherwise', () => {
  prepare();
  const { services } = load(text) as Compose; // oxlint-disable-line typescript/no-unsafe-type-assertion -- what is in it is tested
  const environment = Object.fromEntries(
    Object.entries(services.davit.environment).map(([name, value]) => [name, filled(value, secrets())]),
  );
  const config = readConfiguration(environment);
  expect(config).toMatchObject({ host: '127.0.0.1', gatewayHost: '127.0.0.1', unknownVariables: [], role: 'all' });
  expect(config.databaseUrl?.reveal()).toContain(secrets()['DAVIT_DATABASE_PASSWORD']);
  expect([services.davit.ports, services.database.ports]).toEqual([undefined, undefined]);
});

test('what must last is in named volumes', () => {
  const { services, volumes } = load(text) as Compose; // oxlint-disable-line typescript/no-unsafe-type-assertion -- what is in it is tested
  expect(Object.keys(volumes)).toEqual(['database', 'socket', 'state']);
  expect(services.davit.volumes).toContain('state:/var/lib/davit');
  expect(services.database.volumes).toContain('database:/var/lib/postgresql/data');
});

describe.skipIf(program === undefined)(`docker-compose${program === undefined ? ' (skipped: it is not in PATH)' : ''}`, () => {
  const config = (environment: Readonly<Record<string, string>> = {}): string =>
    execFileSync(
      program ?? '',
      ['--project-directory', join(folder, 'deploy'), '-f', join(folder, 'deploy/compose.yaml'), 'config'],
      {
        cwd: join(folder, 'deploy'),
        env: { PATH: process.env['PATH'], HOME: folder, ...environment },
        encoding: 'utf8',
        stdio: 'pipe',
      },
    );

  test('takes the file', () => {
    prepare();
    expect(load(config())).toMatchObject({ services: { davit: { network_mode: 'host', read_only: true } } });
  });

  test('refuses it without its secrets, and says what to run', () => {
    prepare();
    rmSync(join(folder, 'deploy/.env'));
    expect(() => config()).toThrow(/Run deploy\/compose-environment.sh/);
  });
});
