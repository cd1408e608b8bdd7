import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { testCertificate } from '@davit/testkit/certificate';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { trimStream } from '../../packages/server/src/resources/stream/trim.ts';
import { startProxy, type Proxy } from '../console/proxy.ts';
import { createShop, type Shop } from '../console/shop.ts';
import { buildCommandLine, openTerminal, program, type Terminal } from './terminal.ts';

/* Logs over connections that break, into pipes that close and onto disks that are full; servers that are not right. */

let server: RunningServer;
let shop: Shop;
let proxy: Proxy;
let terminal: Terminal;
let instance: string;
beforeAll(async () => {
  buildCommandLine();
  server = await startRunningServer();
  shop = await createShop(server);
  proxy = await startProxy(server.baseUrl);
  terminal = await openTerminal();
  await terminal.run(['login', proxy.baseUrl, '--token-stdin', '--name', 'shop'], { stdin: shop.organization.tokens.WRITE });
  await terminal.run(['link', '--environment', 'shop/production', '--service', 'web']);
  await terminal.run(['deploy']);
  instance = server.fake.instances.find(({ service }) => service === shop.services.web)?.id ?? '';
});
afterAll(async () => {
  await terminal.close();
  await proxy.close();
  await server.close();
});

let printed = 0;
/** Lets the service print lines with the next numbers, and waits until they are stored. */
async function print(count: number, note = ''): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    printed += 1;
    server.fake.print(instance, `line ${printed}${note}`);
  }
  const params = { serviceId: shop.services.web };
  const query = { text: `line ${printed}${note}` };
  await vi.waitFor(async () => {
    expect((await shop.api.call('searchServiceLog', { params, query })).lines).not.toEqual([]);
  }, 15_000);
}
const numbers = (text: string): number[] => [...text.matchAll(/^line (\d+)/gm)].map(([, number]) => Number(number));
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

test('logs -f loses and repeats no line when connections break, also for longer than events are kept', async () => {
  await print(30);
  const following = terminal.start(['logs', '-f', '--plain', '--lines', '1000']);
  const has = (count: number): Promise<void> =>
    vi.waitFor(() => expect(numbers(following.out()).length).toBeGreaterThanOrEqual(count), 30_000);
  await has(30);
  await print(5);
  await has(35);
  await proxy.cut();
  await print(20);
  await proxy.restore();
  await has(55);
  await vi.waitFor(() => expect(following.err()).toContain('nothing missed'), 15_000);
  await proxy.cut();
  await print(20);
  const { database } = server.database;
  await trimStream(database, { seconds: 0, checkpointSeconds: 0 });
  await trimStream(database, { seconds: 0, checkpointSeconds: 0 });
  await proxy.restore();
  await has(75);
  await print(5);
  await has(80);
  following.kill('SIGINT');
  const { code, out } = await following.ended;
  expect(code).toBe(130);
  expect(numbers(out)).toEqual(upTo(80));
});

test('lines are selected by text, level, time, number and instance', async () => {
  await print(1, ' ERROR it broke');
  const read = async (...words: string[]): Promise<string[]> => {
    const ended = await terminal.run(['logs', '--plain', ...words]);
    expect(ended).toMatchObject({ code: 0 });
    return ended.out.split('\n').slice(0, -1);
  };
  expect(await read('--grep', 'IT BROKE')).toEqual([`line ${printed} ERROR it broke`]);
  expect(await read('--level', 'warning', '--since', '1h')).toHaveLength(1);
  expect(await read('--lines', '3')).toHaveLength(3);
  expect(await read('--instance', 'nobody')).toEqual([]);
  const following = terminal.start(['logs', '-f', '--level', 'error', '--json-lines']);
  await vi.waitFor(() => expect(following.out()).toContain('it broke'), 15_000);
  await print(2);
  await print(1, ' ERROR again');
  await vi.waitFor(() => expect(following.out()).toContain('again'), 15_000);
  following.kill('SIGINT');
  const lines = (await following.ended).out.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line).level)).toEqual(['ERROR', 'ERROR']);
});

interface Piped {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function shell(script: string): Promise<Piped> {
  return new Promise((resolve) => {
    const davit = `'${process.execPath}' '${program}'`;
    const options = { cwd: terminal.home, env: terminal.environmentOf(), timeout: 30_000 };
    const command = ['-c', `set -o pipefail; ${script.replaceAll('DAVIT', davit)}`];
    execFile('bash', command, options, (error, out, err) => resolve({ code: Number(error?.code ?? 0), out, err }));
  });
}

test('who closes the pipe has read enough; a full disk is a failure', async () => {
  expect(await shell('DAVIT logs --plain --lines 1000 | head -1')).toMatchObject({ code: 0, out: 'line 1\n', err: '' });
  const stop = new AbortController();
  const printing = (async () => {
    while (!stop.signal.aborted) await print(1);
  })();
  expect(await shell('DAVIT logs -f --plain | head -1')).toMatchObject({ code: 0, err: '' });
  stop.abort();
  await printing;
  const full = await shell('DAVIT status > /dev/full');
  expect(full).toMatchObject({ code: 1 });
  expect(full.err).toContain('ENOSPC');
});

async function listening(made: Server): Promise<number> {
  made.listen(0, '127.0.0.1');
  await once(made, 'listening');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  return (made.address() as AddressInfo).port;
}

test('a certificate that is not trusted, an older server and one that is away are told apart', async () => {
  const { certificate, pem } = await testCertificate('localhost');
  const secure = createServer({ key: pem, cert: certificate }, (_request, response) => response.end('{}'));
  const older = createHttpServer((_request, response) => {
    response.writeHead(404, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ status: 404, code: 'ROUTE_NOT_FOUND', message: 'There is no such path.' }));
  });
  const run = (address: string) => {
    const environment = { DAVIT_SERVER: address, DAVIT_TOKEN: 'dvt_token_of_nobody' };
    return terminal.run(['whoami'], { environment, folder: '/' });
  };
  const untrusted = await run(`https://localhost:${await listening(secure)}`);
  expect(untrusted).toMatchObject({ code: 1, out: '' });
  expect(untrusted.err).toContain('NODE_EXTRA_CA_CERTS');
  const unknown = await run(`http://127.0.0.1:${await listening(older)}`);
  expect(unknown).toMatchObject({ code: 1, out: '' });
  expect(unknown.err).toContain('/cli/davit.mjs');
  secure.close();
  older.close();
  const away = await run('http://127.0.0.1:1');
  expect(away).toMatchObject({ code: 1, out: '' });
  expect(away.err).toContain('does not answer');
  expect([untrusted, unknown, away].map(({ err }) => err).join('')).not.toContain('dvt_token_of_nobody');
});

test('deploy goes on after a lost connection, and waits no longer than it may', async () => {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  server.fake.script = { before: ({ method }) => (method === 'awaitReady' ? held : undefined) };
  const change = { params: { applicationId: shop.services.web }, body: { memory: 700 } };
  await shop.api.call('editApplication', change);
  const deploying = terminal.start(['deploy', '--json-lines']);
  await vi.waitFor(() => expect(deploying.out()).toContain('"step_name":"DEPLOYMENT"'), 15_000);
  await proxy.cut();
  await proxy.restore();
  await vi.waitFor(() => expect(deploying.err()).toContain('nothing missed'), 15_000);
  const impatient = await terminal.run(['deploy', '--timeout', '1']);
  expect(impatient).toMatchObject({ code: 6, out: '' });
  expect(impatient.err).toContain('It goes on');
  release();
  server.fake.script = {};
  const { code, out } = await deploying.ended;
  expect(code).toBe(0);
  const events = out.split('\n').filter((line) => line.includes('"DEPLOYMENT_LOG"'));
  expect(new Set(events).size).toBe(events.length);
});
