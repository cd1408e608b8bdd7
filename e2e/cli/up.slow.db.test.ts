import { execFileSync, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { buildCommandLine, openTerminal, type Terminal } from './terminal.ts';

/*
 * A folder becomes an address. The server's own git remote is not part of this test: a web server before Davit takes the
 * pushes with git http-backend, and requests a deployment for each, as the remote does.
 */

let server: RunningServer;
let front: Server;
let address: string;
let terminal: Terminal;
let repositories: string;
let folder: string;
const passwords = new Set<string>();

beforeAll(async () => {
  buildCommandLine();
  server = await startRunningServer();
  repositories = await mkdtemp(path.join(tmpdir(), 'davit-up-'));
  front = createServer((incoming, outgoing) => {
    if (incoming.url?.startsWith('/git/') === true) takePush(incoming, outgoing);
    else pass(incoming, outgoing);
  });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  const at = front.address();
  address = `http://127.0.0.1:${typeof at === 'object' && at !== null ? at.port : 0}`;
  terminal = await openTerminal();
  folder = path.join(terminal.home, 'shop-api');
  await mkdir(folder);
});
afterAll(async () => {
  front.closeAllConnections();
  front.close();
  await terminal.close();
  await server.close();
  await rm(repositories, { recursive: true, force: true });
});

function pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { method, headers, url } = incoming;
  const onward = request(`${server.baseUrl}${url ?? ''}`, { method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  onward.on('error', () => outgoing.destroy());
  outgoing.on('close', () => onward.destroy());
  incoming.pipe(onward);
}

/** Runs git http-backend for a request, as a web server runs a CGI program. */
function takePush(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const password = Buffer.from(incoming.headers.authorization?.replace('Basic ', '') ?? '', 'base64')
    .toString()
    .split(':')[1];
  if (password === undefined) {
    outgoing.writeHead(401, { 'www-authenticate': 'Basic realm="davit"' }).end();
    return;
  }
  passwords.add(password);
  const [pathname = '', query = ''] = (incoming.url ?? '').split('?');
  const [, , , environmentId = '', file = ''] = pathname.split('/');
  const repository = path.join(repositories, 'git', ...pathname.split('/').slice(2, 5));
  execFileSync('git', ['init', '--quiet', '--bare', repository]);
  execFileSync('git', ['-C', repository, 'config', 'http.receivepack', 'true']);
  const env = {
    ...process.env,
    GIT_PROJECT_ROOT: path.join(repositories, 'git'),
    GIT_HTTP_EXPORT_ALL: '1',
    PATH_INFO: pathname.replace('/git', ''),
    QUERY_STRING: query,
    REQUEST_METHOD: incoming.method,
    CONTENT_TYPE: incoming.headers['content-type'] ?? '',
    HTTP_CONTENT_ENCODING: incoming.headers['content-encoding'] ?? '',
    REMOTE_USER: 'davit',
  };
  const child = spawn('git', ['http-backend'], { env });
  incoming.pipe(child.stdin);
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.on('close', () => {
    const answer = Buffer.concat(chunks);
    const end = answer.indexOf('\r\n\r\n');
    const lines = answer.subarray(0, end).toString().split('\r\n');
    const headers = Object.fromEntries(lines.map((line) => line.split(': ')));
    const deploying = pathname.endsWith('/git-receive-pack')
      ? deployService(environmentId, file.replace('.git', ''))
      : Promise.resolve();
    void deploying.then(() =>
      outgoing.writeHead(Number.parseInt(headers['Status'] ?? '200', 10), headers).end(answer.subarray(end + 4)),
    );
  });
}

async function deployService(environmentId: string, id: string): Promise<void> {
  const body = { applications: [{ application_id: id }] };
  await server.client().call('deployAllServices', { params: { environmentId }, body });
}

test('with two commands a folder of code gets an address; again, only what changed is sent', async () => {
  await writeFile(path.join(folder, 'package.json'), '{"scripts": {"start": "node server.js"}}');
  await writeFile(path.join(folder, 'server.js'), 'require("node:http").createServer().listen(8080);\n');
  const login = await terminal.run(['login', address, '--token-stdin'], { stdin: server.adminToken });
  expect(login).toMatchObject({ code: 0 });
  const asking = terminal.inTerminal(['up'], { folder, columns: 80, environment: { NO_COLOR: '1' } });
  await vi.waitFor(() => expect(asking.screen()).toContain('Deploy it? [Y/n]'), 15_000);
  asking.type('\r');
  const first = await asking.ended;
  expect(first).toMatchObject({ code: 0 });
  for (const text of [
    'shop-api is new here. Node found (package.json), no Dockerfile.',
    '(server.js:1 listens there)',
    '✓ ready',
  ]) {
    expect(first.screen).toContain(text);
  }
  expect(first.screen).toMatch(/http:\/\/shop-api-\S+\.localhost/);
  expect(await readFile(path.join(folder, 'Dockerfile'), 'utf8')).toContain('EXPOSE 8080');
  expect([...passwords]).toEqual([server.adminToken]);
  expect(first.screen).not.toContain(server.adminToken);
  await writeFile(path.join(folder, 'server.js'), 'require("node:http").createServer().listen(8080); // changed\n');
  const second = await terminal.run(['up'], { folder });
  expect(second).toMatchObject({ code: 0, out: expect.stringMatching(/^http:/) });
  expect(second.err).toContain('1 file changed since the last deployment');
  const third = await terminal.run(['up'], { folder });
  expect(third).toMatchObject({ code: 0 });
  expect(third.err).toContain('No file changed');
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
  const again = await terminal.run(['up', '--detach', '--quiet'], { folder: plain });
  expect(again).toMatchObject({ code: 0, out: expect.stringMatching(/^[\da-f-]{36}\n$/) });
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
