import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DriverError } from '@davit/drivers';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startProxy } from '../console/proxy.ts';
import { buildCommandLine, openTerminal, type Terminal } from './terminal.ts';

/* A folder becomes an address: real pushes to the git remote of a server whose cluster is in memory. */

let server: RunningServer;
let terminal: Terminal;
let folder: string;

beforeAll(async () => {
  buildCommandLine();
  server = await startRunningServer();
  terminal = await openTerminal();
  folder = path.join(terminal.home, 'shop-api');
  await mkdir(folder);
});
afterAll(async () => {
  await terminal.close();
  await server.close();
});

test('with two commands a folder of code gets an address; again, only what changed is sent', async () => {
  await writeFile(path.join(folder, 'package.json'), '{"scripts": {"start": "node server.js"}}');
  await writeFile(path.join(folder, 'server.js'), 'require("node:http").createServer().listen(8080);\n');
  const login = await terminal.run(['login', server.baseUrl, '--token-stdin'], { stdin: server.adminToken });
  expect(login).toMatchObject({ code: 0 });
  const asking = terminal.inTerminal(['up'], { folder, columns: 80, environment: { NO_COLOR: '1' } });
  await vi.waitFor(() => expect(asking.screen()).toContain('Deploy it? [Y/n]'), 15_000);
  asking.type('\r');
  const first = await asking.ended;
  expect(first).toMatchObject({ code: 0 });
  for (const text of [
    'shop-api is new here. Node found (package.json), no Dockerfile.',
    '(server.js:1 listens there)',
    '✓ Sent',
    '✓ ready',
  ]) {
    expect(first.screen).toContain(text);
  }
  expect(first.screen).toMatch(/http:\/\/shop-api-\S+\.localhost/);
  expect(await readFile(path.join(folder, 'Dockerfile'), 'utf8')).toContain('EXPOSE 8080');
  expect(first.screen).not.toContain(server.adminToken);
  await writeFile(path.join(folder, 'server.js'), 'require("node:http").createServer().listen(8080); // changed\n');
  const second = await terminal.run(['up'], { folder });
  expect(second).toMatchObject({ code: 0, out: expect.stringMatching(/^http:/) });
  expect(second.err).toContain('1 file changed since the last deployment');
  const third = await terminal.run(['up'], { folder });
  expect(third).toMatchObject({ code: 0 });
  expect(third.err).toContain('No file changed');
  // Another environment gets a service of its own, and the folder stays linked to the first one.
  const staging = await terminal.run(['up', '--yes', '--environment', 'staging'], { folder });
  expect(staging).toMatchObject({ code: 0 });
  expect(staging.err).toContain('shop-api / staging');
  expect((await terminal.run(['up'], { folder })).err).toContain('shop-api / production');
});

test('without a terminal it is told by flags; a folder of no known kind is refused with advice', async () => {
  const plain = path.join(terminal.home, 'notes');
  await mkdir(plain);
  const unknown = await terminal.run(['up', '--yes'], { folder: plain });
  expect(unknown).toMatchObject({ code: 64, out: '' });
  expect(unknown.err).toContain('Write a Dockerfile');
  await writeFile(path.join(plain, 'Dockerfile'), 'FROM scratch\n');
  expect(await terminal.run(['up', '--yes'], { folder: plain })).toMatchObject({ code: 64 });
  expect((await terminal.run(['up', '--port', '80'], { folder: plain })).err).toContain('davit up --yes');
  const words = ['up', '--yes', '--no-port', '--name', 'worker', '--environment', 'shop/staging', '--json'];
  const made = await terminal.run(words, { folder: plain });
  expect(made).toMatchObject({ code: 0 });
  expect(JSON.parse(made.out)).toMatchObject({ results: [{ state: 'DEPLOYED' }] });
  await writeFile(path.join(plain, 'notes.txt'), 'changed\n');
  const again = await terminal.run(['up', '--detach', '--quiet'], { folder: plain });
  expect(again).toMatchObject({ code: 0, out: expect.stringMatching(/^[\da-f-]{36}\n$/) });
  expect(again.err).toContain('1 file changed since the last deployment');
  // Who does not wait for the end of the push has sent the files all the same.
  const unchanged = await terminal.run(['up'], { folder: plain });
  expect(unchanged).toMatchObject({ code: 0 });
  expect(unchanged.err).toContain('No file changed');
  expect(unchanged.err).not.toContain('sent again');
});

test('a failed deployment of a folder is explained, with exit code 5, and the next one repairs it', async () => {
  server.fake.script = {
    before: ({ method }) => {
      if (method !== 'awaitReady') return;
      throw new DriverError({ cause: 'PORT_NOT_LISTENING', message: 'Nothing listens on port 8080.', evidence: {} });
    },
  };
  await writeFile(path.join(folder, 'server.js'), 'throw new Error("broken");\n');
  const failed = await terminal.run(['up'], { folder });
  expect(failed).toMatchObject({ code: 5, out: '' });
  expect(failed.err).toContain('PORT_NOT_LISTENING');
  server.fake.script = {};
  await writeFile(path.join(folder, 'server.js'), 'require("node:http").createServer().listen(8080); // mended\n');
  expect(await terminal.run(['up'], { folder })).toMatchObject({ code: 0, out: expect.stringMatching(/^http:/) });
});

test('up goes on after a lost connection, and reports each step once', async () => {
  const proxy = await startProxy(server.baseUrl);
  const behind = path.join(terminal.home, 'behind');
  await mkdir(behind);
  await writeFile(path.join(behind, 'Dockerfile'), 'FROM scratch\nEXPOSE 8080\n');
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  server.fake.script = { before: ({ method }) => (method === 'awaitReady' ? held : undefined) };
  const environment = { DAVIT_SERVER: proxy.baseUrl, DAVIT_TOKEN: server.adminToken };
  const deploying = terminal.start(['up', '--yes', '--project', 'acme', '--json-lines'], { folder: behind, environment });
  await vi.waitFor(() => expect(deploying.out()).toContain('"step_name":"DEPLOYMENT"'), 30_000);
  await proxy.cut();
  await proxy.restore();
  await vi.waitFor(() => expect(deploying.err()).toContain('nothing missed'), 30_000);
  release();
  server.fake.script = {};
  const { code, out } = await deploying.ended;
  expect(code).toBe(0);
  const events = out.split('\n').filter((line) => line.includes('"DEPLOYMENT_LOG"'));
  expect(events.length).toBeGreaterThan(0);
  expect(new Set(events).size).toBe(events.length);
  await proxy.close();
});

test('a git repository elsewhere is deployed, and the folder is linked to it', async () => {
  const empty = path.join(terminal.home, 'empty');
  await mkdir(empty);
  const words = ['up', '--yes', '--repository', 'https://git.example.org/acme/web.git', '--port', '3000', '--project', 'acme'];
  const made = await terminal.run(words, { folder: empty });
  expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^http:\/\/web-/) });
  expect(made.err).toContain('(branch main)');
  const again = await terminal.run(['up'], { folder: empty });
  expect(again).toMatchObject({ code: 0 });
  expect(again.err).not.toContain('changed since');
});
