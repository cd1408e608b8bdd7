import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { testCertificate } from '@davit/testkit/certificate';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TcpRoute } from '../gateway.ts';
import { freePort, GatewaySetup, hasHaproxy } from './testing.ts';

/*
 * Public ports of databases with the servers and clients of Debian: PostgreSQL 15, Redis 7 and MariaDB 10.11, which
 * speaks the protocol of MySQL. Debian has neither a server nor a client of MongoDB.
 */

const postgresFolder = '/usr/lib/postgresql/15/bin';
const programs = ['psql', join(postgresFolder, 'postgres'), 'redis-server', 'redis-cli', 'mariadbd', 'mariadb'];
const isPossible = hasHaproxy && programs.every((name) => spawnSync(name, ['--version']).error === undefined);
const remedy = isPossible
  ? ''
  : ' (skipped: apt-get install haproxy postgresql redis-server redis-tools mariadb-server-core mariadb-client)';

const run = promisify(execFile);
const password = 'a-password';
// The servers refuse to run as root, or warn of it.
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

let setup: GatewaySetup;
let folder: string;
let certificate: string;
/** Makes the gateway present another certificate for the hosts, in place of the first one. */
let renew: () => Promise<void>;
const ports = { postgres: 0, redis: 0, mysql: 0 };
const hosts = { postgres: 'z1-postgresql.apps.test', redis: 'z1-redis.apps.test', mysql: 'z1-mysql.apps.test' };

/** Creates a folder that belongs to the user of the servers. */
function ownFolder(name: string): string {
  const made = join(folder, name);
  mkdirSync(made, { mode: 0o700 });
  if (user.uid !== undefined) chownSync(made, user.uid, user.gid);
  return made;
}

function ownFile(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text, { mode: 0o600 });
  if (user.uid !== undefined) chownSync(file, user.uid, user.gid);
  return file;
}

function start(program: string, words: readonly string[]): void {
  const child = spawn(program, words, { ...user, stdio: 'ignore', cwd: folder });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  setup.onEnd(async () => {
    child.kill('SIGKILL');
    await ended;
  });
}

async function startPostgres(port: number): Promise<void> {
  const data = ownFolder('postgres');
  const secret = ownFile('password', password);
  const words = ['-D', data, '-U', 'postgres', '--auth=scram-sha-256', '--pwfile', secret, '--no-sync', '--locale=C'];
  execFileSync(join(postgresFolder, 'initdb'), words, { ...user, stdio: 'ignore', cwd: folder });
  start(join(postgresFolder, 'postgres'), ['-D', data, '-p', `${port}`, '-k', data, '-c', 'fsync=off']);
}

function startRedis(port: number): void {
  start('redis-server', ['--port', `${port}`, '--bind', '127.0.0.1', '--requirepass', password, '--save', '']);
}

/** Starts a server with a self-signed certificate of its own, as the images of MySQL make one at their first start. */
async function startMysql(port: number): Promise<void> {
  const own = await testCertificate('localhost');
  const data = ownFolder('mysql');
  const socket = join(data, 'socket');
  const tls = [
    `--ssl-cert=${ownFile('mysql.crt', own.certificate)}`,
    `--ssl-key=${ownFile('mysql.key', own.pem.slice(0, own.pem.indexOf('-----BEGIN CERT')))}`,
  ];
  const words = ['--no-defaults', `--datadir=${data}`, `--socket=${socket}`, `--port=${port}`, '--bind-address=127.0.0.1'];
  start('mariadbd', [...words, ...tls, '--skip-grant-tables', '--innodb-buffer-pool-size=8M']);
}

/** Returns the output of a client. Fails with its message. */
async function client(program: string, words: readonly string[], environment: Record<string, string> = {}): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: folder, ...environment };
  return (await run(program, words, { env, timeout: 30_000 })).stdout.trim();
}

/** Runs a statement with psql, and returns its output, which begins with the version of TLS if there is TLS. */
async function psql(settings: string, port = ports.postgres): Promise<string> {
  const address = `host=${hosts.postgres} hostaddr=127.0.0.1 port=${port} user=postgres ${settings}`;
  const shown = await client('psql', [address, '-AtX', '-c', '\\conninfo', '-c', "select 'answer ' || 6 * 7"], {
    PGPASSWORD: password,
  });
  return shown
    .split('\n')
    .flatMap((line) => /^SSL connection \(protocol: (TLSv1\.\d)|^(answer .*)/.exec(line)?.slice(1) ?? [])
    .filter(Boolean)
    .join(' ');
}

const redis = (...words: string[]): Promise<string> =>
  client('redis-cli', ['-p', `${ports.redis}`, '--no-auth-warning', '-a', password, ...words, 'ping']);
const mysql = (...words: string[]): Promise<string> =>
  client('mariadb', ['-h127.0.0.1', `-P${ports.mysql}`, ...words, '-BNe', "show status like 'Ssl_version'"]);

async function ready(attempt: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

describe.skipIf(!isPossible)(`public databases with real clients${remedy}`, () => {
  beforeAll(async () => {
    setup = new GatewaySetup();
    folder = mkdtempSync(join(tmpdir(), 'davit-databases-'));
    chmodSync(folder, 0o755);
    const servers = { postgres: await freePort(), redis: await freePort(), mysql: await freePort() };
    const gateway = await setup.gateway({ httpsPort: await freePort() });
    await gateway.start();
    await startPostgres(servers.postgres);
    startRedis(servers.redis);
    await startMysql(servers.mysql);
    certificate = join(folder, 'wildcard.pem');
    const route = async (name: keyof typeof ports, acceptsTls: boolean): Promise<TcpRoute> => {
      ports[name] = await freePort();
      const backends = [{ id: name, host: '127.0.0.1', port: servers[name] }];
      return { id: name, listenPort: ports[name], backends, ...(acceptsTls && { acceptsTls: true as const }) };
    };
    const tcp = [await route('postgres', true), await route('redis', true), await route('mysql', false)];
    renew = async () => {
      const wildcard = await testCertificate('*.apps.test');
      writeFileSync(certificate, wildcard.certificate);
      await gateway.apply({ http: [], tcp, certificates: [{ host: '*.apps.test', pem: wildcard.pem, redirect: false }] });
    };
    await renew();
    await ready(() => psql('sslmode=disable', servers.postgres));
    await ready(() => redis());
    await ready(() => mysql());
  }, 120_000);
  afterAll(async () => {
    await setup?.end();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  it('takes psql of PostgreSQL 15, which verifies the name of the host', async () => {
    // The default is to prefer TLS.
    expect(await psql('')).toBe('TLSv1.3 answer 42');
    expect(await psql('sslmode=require')).toBe('TLSv1.3 answer 42');
    expect(await psql(`sslmode=verify-full sslrootcert=${certificate}`)).toBe('TLSv1.3 answer 42');
    expect(await psql('sslmode=disable')).toBe('answer 42');
    await expect(psql('sslmode=require host=z1.other.test')).rejects.toThrow('unrecognized name');
    // The server behind the gateway sees no TLS, so it has nothing to which it could bind the password.
    await expect(psql('sslmode=require channel_binding=require')).rejects.toThrow(/channel binding/);
    await renew();
    expect(await psql(`sslmode=verify-full sslrootcert=${certificate}`)).toBe('TLSv1.3 answer 42');
  });

  it('takes redis-cli', async () => {
    expect(await redis('--tls', '--sni', hosts.redis, '--cacert', certificate)).toBe('PONG');
    expect(await redis()).toBe('PONG');
  });

  it('lets clients of MySQL use the certificate that the server made for itself', async () => {
    expect(await mysql('--ssl')).toBe('Ssl_version\tTLSv1.3');
    expect(await mysql('--skip-ssl')).toBe('Ssl_version');
    // The certificate of the gateway is not involved.
    await expect(mysql('--ssl-verify-server-cert', `--ssl-ca=${certificate}`)).rejects.toThrow(/certificate/);
  });
});
