import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer as createHttpServer, request } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server, type ClientHttp2Session } from 'node:http2';
import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RouteTable } from '../gateway.ts';
import { HaproxyProcess } from './haproxy-process.ts';
import { freePort, hasHaproxy, httpRoute, GatewaySetup, title, toEcho, until } from './testing.ts';

let setup: GatewaySetup;
beforeEach(() => {
  setup = new GatewaySetup();
});
afterEach(() => setup.end());

function http(...routes: RouteTable['http']): RouteTable {
  return { http: routes, tcp: [] };
}

async function masterPid(): Promise<number> {
  return (await new HaproxyProcess(setup.folder, 'haproxy').processes())?.master.pid ?? 0;
}

describe.skipIf(!hasHaproxy)(`routes of ${title}`, () => {
  it('takes a request by host and longest path prefix to a backend of the route', async () => {
    const gateway = await setup.gateway();
    await gateway.start();
    const [all, api, deep, other] = await Promise.all(['all', 'api', 'deep', 'other'].map((name) => setup.backend(name)));
    await gateway.apply(
      http(
        httpRoute('r-all', ['a.localhost', 'alias.example.com'], [all!]),
        httpRoute('r-api', ['a.localhost'], [api!], { pathPrefix: '/api', pathRewrite: '/v2' }),
        httpRoute('r-deep', ['a.localhost'], [deep!], { pathPrefix: '/api/deep', pathRewrite: '/' }),
        httpRoute('r-other', ['b.localhost'], [other!], { pathRewrite: '/base%20x' }),
      ),
    );

    const seen = async (host: string, path: string): Promise<string> => {
      const echo = await setup.echo(host, path);
      return `${echo.name} ${echo.url}`;
    };
    expect(await seen('a.localhost', '/')).toBe('all /');
    expect(await seen(`A.LocalHost:${setup.port}`, '/x?q=1')).toBe('all /x?q=1');
    expect(await seen('alias.example.com', '/apixel')).toBe('all /apixel');
    expect(await seen('a.localhost', '/apixel')).toBe('all /apixel');
    expect(await seen('a.localhost', '/api')).toBe('api /v2');
    expect(await seen('a.localhost', '/api?q=1')).toBe('api /v2?q=1');
    expect(await seen('a.localhost', '/api/x/y?q=%2F')).toBe('api /v2/x/y?q=%2F');
    expect(await seen('a.localhost', '/api/deep')).toBe('deep /');
    expect(await seen('a.localhost', '/api/deep/x')).toBe('deep /x');
    expect(await seen('b.localhost', '/y')).toBe('other /base%20x/y');
  });

  it('takes any one label for the star of a host, where no host is there by itself', async () => {
    const gateway = await setup.gateway();
    const [star, exact, apiOfStar] = await Promise.all(['star', 'exact', 'api'].map((name) => setup.backend(name)));
    const routes = [
      httpRoute('r-star', ['*.example.org'], [star!]),
      httpRoute('r-api', ['*.example.org'], [apiOfStar!], { pathPrefix: '/api' }),
    ];
    await gateway.apply(http(...routes));
    await gateway.apply(http(...routes, httpRoute('r-exact', ['a.example.org'], [exact!])));
    const seen = async (host: string, path = '/'): Promise<string> => (await setup.echo(host, path)).name;
    expect(await seen('b.example.org')).toBe('star');
    expect(await seen('B.Example.org.:80')).toBe('star');
    expect(await seen('b.example.org', '/api/x')).toBe('api');
    expect(await seen('a.example.org')).toBe('exact');
    for (const host of ['example.org', 'a.b.example.org', 'b.example.orgx', '*'])
      expect((await setup.ask(host)).status).toBe(404);
    await gateway.apply(http(httpRoute('r-exact', ['a.example.org'], [exact!])));
    expect((await setup.ask('b.example.org')).status).toBe(404);
  });

  it('tells the backend who asked, whatever the client claims', async () => {
    const gateway = await setup.gateway();
    const backend = await setup.backend('one');
    await gateway.apply(http(httpRoute('r', ['a.localhost'], [backend], { pathPrefix: '/p', pathRewrite: '/' })));

    const claims = {
      'x-forwarded-for': '6.6.6.6',
      x_forwarded_for: '6.6.6.6',
      'X-Forwarded-Proto': 'https',
      'x-forwarded-host': 'evil',
      'x-real-ip': '6.6.6.6',
      forwarded: 'for=6.6.6.6',
      proxy: 'evil',
      'x-davit-handover': 'guess',
      'x-own': 'stays',
    };
    const { headers } = await setup.echo('a.localhost', '/p/x', { headers: claims });

    expect(headers).toEqual({
      host: 'a.localhost',
      'x-own': 'stays',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'a.localhost',
      'x-forwarded-prefix': '/p',
      connection: 'close',
    });
  });

  it('passes on what a trusted proxy in front says', async () => {
    const gateway = await setup.gateway({ trustedProxies: ['127.0.0.0/8'] });
    const backend = await setup.backend('one');
    await gateway.apply(http(httpRoute('r', ['a.localhost'], [backend])));

    const claims = { 'x-forwarded-for': '9.9.9.9', 'x-forwarded-proto': 'https' };
    const { headers } = await setup.echo('a.localhost', '/', { headers: claims });

    expect(headers['x-forwarded-for']).toBe('9.9.9.9, 127.0.0.1');
    expect(headers['x-forwarded-proto']).toBe('https');
  });

  it('answers 404 for an unknown host and 503 for a service without instances, to browsers as a page', async () => {
    const gateway = await setup.gateway();
    await gateway.apply(
      http(httpRoute('r', ['a.localhost'], []), httpRoute('r-api', ['b.localhost'], [], { pathPrefix: '/api' })),
    );
    const asBrowser = { headers: { accept: 'text/html,*/*' } };

    for (const [host, status, words] of [
      ['nobody.localhost', 404, 'No service answers at this address'],
      ['b.localhost', 404, 'No service answers at this address'],
      ['a.localhost', 503, 'The service has no running instance'],
    ] as const) {
      const plain = await setup.ask(host);
      expect([plain.status, plain.headers['content-type']]).toEqual([status, 'application/json']);
      expect(JSON.parse(plain.text)).toMatchObject({ status, error: words });
      const page = await setup.ask(host, '/', asBrowser);
      expect([page.status, page.headers['content-type']]).toEqual([status, 'text/html']);
      expect(page.text).toContain(`<h1>${words}</h1>`);
    }
  });

  it('takes a request to another instance when one does not accept connections', async () => {
    const gateway = await setup.gateway();
    const alive = await setup.backend('alive');
    const dead = { id: 'dead', host: '127.0.0.1', port: await freePort() };
    await gateway.apply(http(httpRoute('r', ['a.localhost'], [dead, alive])));

    for (let count = 0; count < 6; count += 1) {
      const echo = await setup.echo('a.localhost', '/', { method: 'POST', body: `${count}` });
      expect([echo.name, echo.body]).toEqual(['alive', `${count}`]);
    }
  });

  it('repeats a GET that an instance left unanswered, and never a POST', async () => {
    const gateway = await setup.gateway();
    let requests = 0;
    const breaking = createTcpServer((socket) => {
      socket.once('data', () => {
        requests += 1;
        socket.destroy();
      });
    });
    const port = await setup.listen(breaking);
    await gateway.apply(http(httpRoute('r', ['a.localhost'], [{ id: 'breaking', host: '127.0.0.1', port }])));

    expect((await setup.ask('a.localhost', '/', { method: 'POST', body: 'x' })).status).toBe(502);
    expect(requests).toBe(1);
    const alive = await setup.backend('alive');
    await gateway.apply(http(httpRoute('r', ['a.localhost'], [{ id: 'breaking', host: '127.0.0.1', port }, alive])));
    for (let count = 0; count < 4; count += 1) expect((await setup.echo('a.localhost')).name).toBe('alive');
    expect(requests).toBeGreaterThan(1);
  });

  it('streams an upload that is larger than any buffer while it comes', async () => {
    const gateway = await setup.gateway();
    let received = 0;
    const server = createHttpServer((message, response) => {
      message.on('data', (chunk: Buffer) => (received += chunk.length));
      message.on('end', () => response.end(String(received)));
    });
    const port = await setup.listen(server);
    await gateway.apply(http(httpRoute('r', ['a.localhost'], [{ id: 'one', host: '127.0.0.1', port }])));

    const upload = request({
      host: '127.0.0.1',
      port: setup.port,
      method: 'POST',
      headers: { host: 'a.localhost' },
      agent: false,
    });
    const answer = once(upload, 'response');
    const chunk = Buffer.alloc(1_000_000);
    upload.write(chunk);
    await until(() => received === chunk.length);
    for (let count = 1; count < 50; count += 1) if (!upload.write(chunk)) await once(upload, 'drain');
    upload.end();
    await answer;

    expect(received).toBe(50 * chunk.length);
  });

  it('refuses a second claim to an address and goes on as it was', async () => {
    const gateway = await setup.gateway();
    const backend = await setup.backend('one');
    await gateway.apply(http(httpRoute('r', ['a.localhost'], [backend])));

    const twice = gateway.apply(http(httpRoute('r', ['a.localhost'], [backend]), httpRoute('s', ['a.localhost'], [])));

    await expect(twice).rejects.toMatchObject({
      code: 'GATEWAY_FAILED',
      message: 'Routes r and s both claim the address a.localhost/.',
    });
    expect((await setup.echo('a.localhost')).name).toBe('one');
  });
});

describe.skipIf(!hasHaproxy)(`streams of ${title}`, () => {
  it('keeps a websocket open across a reload and takes it into account when draining', async () => {
    const gateway = await setup.gateway();
    const server = createHttpServer();
    server.on('upgrade', (_message, socket: Socket) => {
      // Key and response are the example of RFC 6455, 1.3.
      const accept = 'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=';
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${accept}\r\n\r\n`);
      socket.on('data', (data) => socket.write(data));
      socket.on('end', () => socket.end());
    });
    const backend = { id: 'ws', host: '127.0.0.1', port: await setup.listen(server) };
    await gateway.apply(http(httpRoute('r', ['a.localhost'], [backend])));
    const headers = {
      host: 'a.localhost',
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    };
    const opening = request({ host: '127.0.0.1', port: setup.port, headers, agent: false });
    const upgraded = once(opening, 'upgrade');
    opening.end();
    const socket = (await upgraded)[1] as Socket; // oxlint-disable-line typescript/no-unsafe-type-assertion -- Node's event
    setup.onEnd(() => void socket.destroy());

    const successor = await setup.backend('successor');
    await gateway.apply(http(httpRoute('r', ['a.localhost'], [successor]), httpRoute('new', ['b.localhost'], [])));

    expect((await setup.echo('a.localhost')).name).toBe('successor');
    socket.write('still here');
    expect(String((await once(socket, 'data'))[0])).toBe('still here');
    let isDrained = false;
    const draining = gateway.awaitDrained(['ws'], 60_000).then(() => (isDrained = true));
    const begin = performance.now();
    await gateway.awaitDrained(['ws'], 300);
    expect(performance.now() - begin).toBeGreaterThan(295);
    expect(isDrained).toBe(false);
    socket.end();
    await draining;
  });

  it('carries gRPC in both directions at once, beside HTTP/1.1 on the same port', async () => {
    const gateway = await setup.gateway();
    const server = createHttp2Server();
    server.on('stream', (stream, headers) => {
      stream.respond(
        { ':status': 200, 'content-type': 'application/grpc', 'x-te': headers['te'] ?? '' },
        { waitForTrailers: true },
      );
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.on('data', (data) => stream.write(data));
      stream.on('end', () => stream.end());
    });
    const port = await setup.listen(server);
    const plain = await setup.backend('plain');
    const grpc = { id: 'grpc', host: '127.0.0.1', port };
    const routes = [httpRoute('g', ['g.localhost'], [grpc], { protocol: 'GRPC' }), httpRoute('p', ['p.localhost'], [plain])];
    await gateway.apply(http(...routes));
    // It also works for a server that was added at run time.
    await gateway.apply(http({ ...routes[0]!, backends: [{ ...grpc, id: 'grpc-2' }] }, routes[1]!));
    const session = openSession();

    const call = session.request({ ':method': 'POST', ':path': '/echo.Echo/Both', ':authority': 'g.localhost', te: 'trailers' });
    const trailers = once(call, 'trailers');
    call.write('one');
    const [head] = (await once(call, 'response')) as [Record<string, unknown>]; // oxlint-disable-line typescript/no-unsafe-type-assertion -- Node's event
    expect(head).toMatchObject({ ':status': 200, 'content-type': 'application/grpc', 'x-te': 'trailers' });
    expect(String((await once(call, 'data'))[0])).toBe('one');
    call.write('two');
    expect(String((await once(call, 'data'))[0])).toBe('two');
    call.end();
    call.resume();
    expect((await trailers)[0]).toMatchObject({ 'grpc-status': '0' });

    expect((await setup.echo('p.localhost')).name).toBe('plain');
    expect(await overHttp2(session, 'p.localhost')).toBe('plain');
  });

  it('answers by the new routes on a connection that was idle during the reload', async () => {
    const gateway = await setup.gateway();
    const [before, after, fresh] = await Promise.all(['before', 'after', 'fresh'].map((name) => setup.backend(name)));
    await gateway.apply(http(httpRoute('r', ['a.localhost'], [before!])));
    const agent = setup.agent;
    const first = await setup.echo('a.localhost', '/', { agent });
    const session = openSession();
    expect(await overHttp2(session, 'a.localhost')).toBe('before');
    const goneAway = once(session, 'goaway');
    expect(Object.values(agent.freeSockets).flat()).toHaveLength(1);
    const idle = Object.values(agent.freeSockets).flat()[0];

    await gateway.apply(http(httpRoute('r', ['a.localhost'], [after!]), httpRoute('f', ['b.localhost'], [fresh!])));

    expect(Object.values(agent.freeSockets).flat()[0]).toBe(idle);
    const second = await setup.echo('b.localhost', '/x', { agent, method: 'POST', body: 'kept' });
    expect([first.name, second.name, second.body]).toEqual(['before', 'fresh', 'kept']);
    expect(second.headers['x-forwarded-for']).toBe('127.0.0.1');
    expect(second.headers['x-davit-handover']).toBeUndefined();
    expect((await setup.echo('a.localhost', '/', { agent })).name).toBe('after');
    // HTTP/2 has a frame for this (GOAWAY): the worker announces that it takes no further requests on this connection.
    await goneAway;
  });

  it('carries TCP on a port of its own, which is free again when the route is gone', async () => {
    const gateway = await setup.gateway();
    const greeter = (name: string) => createTcpServer((socket) => socket.on('error', () => undefined).write(name));
    const [one, two] = [await setup.listen(greeter('one')), await setup.listen(greeter('two'))];
    const listenPort = await freePort();
    const route = (id: string, port: number): RouteTable => ({
      http: [],
      tcp: [{ id: 't', listenPort, backends: [{ id, host: '127.0.0.1', port }] }],
    });
    const greeting = async (): Promise<[Socket, string]> => {
      const socket = connect(listenPort, '127.0.0.1');
      setup.onEnd(() => void socket.destroy());
      return [socket, String((await once(socket, 'data'))[0])];
    };
    await gateway.apply(route('one', one));
    const [socket, name] = await greeting();
    expect(name).toBe('one');

    await gateway.apply(route('two', two));

    expect((await greeting())[1]).toBe('two');
    expect(socket.closed).toBe(false);
    await gateway.apply({ http: [], tcp: [] });
    await setup.listen(createTcpServer(), '127.0.0.1', listenPort);
  });

  it('serves all other routes when the port of a TCP route is taken, and names it', async () => {
    const gateway = await setup.gateway();
    const backend = await setup.backend('one');
    const other = createTcpServer();
    const listenPort = await setup.listen(other);
    const table = { http: [httpRoute('r', ['a.localhost'], [backend])], tcp: [{ id: 't', listenPort, backends: [] }] };

    await expect(gateway.apply(table)).rejects.toMatchObject({
      code: 'PORT_TAKEN',
      failures: new Map([['t', expect.objectContaining({ code: 'PORT_TAKEN' })]]),
    });
    expect((await setup.echo('a.localhost')).name).toBe('one');
    await new Promise((resolve) => other.close(resolve));
    await gateway.apply(table);
    connect(listenPort, '127.0.0.1').destroy();
  });

  function openSession(): ClientHttp2Session {
    const session = connectHttp2(`http://127.0.0.1:${setup.port}`);
    setup.onEnd(() => session.destroy());
    return session;
  }

  async function overHttp2(session: ClientHttp2Session, host: string): Promise<string> {
    const call = session.request({ ':path': '/', ':authority': host });
    let text = '';
    for await (const chunk of call) text += String(chunk);
    return toEcho(text).name;
  }
});

describe.skipIf(!hasHaproxy)(`the process of ${title}`, () => {
  it('goes on when its starter is killed, and is adopted with its routes', async () => {
    setup.port = await freePort();
    const backend = await setup.backend('one');
    const table = http(httpRoute('r', ['a.localhost'], [{ id: 'one', host: backend.host, port: backend.port }]));
    const source = `
      import { createGateway } from ${JSON.stringify(new URL('gateway.ts', import.meta.url).href)};
      const gateway = createGateway(${JSON.stringify({ stateFolder: setup.folder, port: setup.port, bindAddress: '127.0.0.1' })});
      await gateway.start();
      await gateway.apply(${JSON.stringify(table)});
      process.stdout.write('ready');
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['ignore', 'pipe', 'inherit'] });
    expect(String((await once(parent.stdout, 'data'))[0])).toBe('ready');
    const pid = await masterPid();
    parent.kill('SIGKILL');
    await once(parent, 'exit');

    expect((await setup.echo('a.localhost')).name).toBe('one');
    const gateway = await setup.gateway();
    await gateway.start();
    expect(await masterPid()).toBe(pid);
    expect((await setup.echo('a.localhost')).name).toBe('one');
    const two = await setup.backend('two');
    await gateway.apply(http(httpRoute('r', ['a.localhost'], [two])));
    expect((await setup.echo('a.localhost')).name).toBe('two');
  });

  it.each(['master', 'worker'])('serves its hosts when its %s was killed and it is started again', async (which) => {
    const gateway = await setup.gateway();
    const backend = await setup.backend('one');
    const table = http(httpRoute('r', ['a.localhost'], [backend]));
    await gateway.apply(table);
    const before = await new HaproxyProcess(setup.folder, 'haproxy').processes();
    process.kill(which === 'master' ? before!.master.pid : before!.workers[0]!.pid, 'SIGKILL');
    await until(() =>
      setup.ask('a.localhost').then(
        () => false,
        () => true,
      ),
    );

    const heir = await setup.gateway();
    await heir.start();
    await heir.apply(table);

    expect((await setup.echo('a.localhost')).name).toBe('one');
  });

  it('comes back by itself while Davit runs', async () => {
    const gateway = await setup.gateway();
    expect(gateway.isUp?.()).toBe(null);
    await gateway.start();
    expect(gateway.isUp?.()).toBe(true);
    const backend = await setup.backend('one');
    await gateway.apply(http(httpRoute('r', ['a.localhost'], [backend])));
    process.kill(await masterPid(), 'SIGKILL');
    await until(() =>
      setup.ask('a.localhost').then(
        () => false,
        () => true,
      ),
    );
    await until(() =>
      setup.ask('a.localhost').then(
        () => true,
        () => false,
      ),
    );
    expect((await setup.echo('a.localhost')).name).toBe('one');
    // The next check finds it running again.
    await until(() => gateway.isUp?.() === true);
  });

  it('serves the table when somebody else restarted it from what is at rest', async () => {
    const gateway = await setup.gateway();
    const [one, two] = [await setup.backend('one'), await setup.backend('two')];
    await gateway.apply(http(httpRoute('r', ['a.localhost'], [one])));
    await gateway.apply(http(httpRoute('r', ['a.localhost'], [two])));
    const haproxy = new HaproxyProcess(setup.folder, 'haproxy');
    await haproxy.stop();
    await haproxy.spawn();

    expect((await setup.echo('a.localhost')).name).toBe('two');
    await gateway.apply(http(httpRoute('r', ['a.localhost'], [one])));
    expect((await setup.echo('a.localhost')).name).toBe('one');
  });

  it('adopts one that is just being started by hand, as the documentation says', async () => {
    const gateway = await setup.gateway();
    const [one, two] = [await setup.backend('one'), await setup.backend('two')];
    await gateway.apply(http(httpRoute('r', ['a.localhost'], [one])));
    await gateway.stop();
    const command = 'haproxy -W -D -S "$PWD/master.sock,mode,600,level,admin" -p "$PWD/pid" -f "$PWD/haproxy.cfg"';
    execFileSync('sh', ['-c', command], { cwd: setup.folder, stdio: 'ignore' });

    await gateway.start();

    expect((await setup.echo('a.localhost')).name).toBe('one');
    await gateway.apply(http(httpRoute('r', ['a.localhost'], [two]), httpRoute('new', ['b.localhost'], [])));
    expect((await setup.echo('a.localhost')).name).toBe('two');
  });

  it('starts without backends where it did not serve, as addresses may have moved', async () => {
    const first = await setup.gateway();
    const backend = await setup.backend('one');
    await first.apply(http(httpRoute('r', ['a.localhost'], [backend])));
    await first.stop();

    await (await setup.gateway()).start();

    expect((await setup.ask('a.localhost')).status).toBe(503);
  });

  it.each(['table.json', 'haproxy.cfg', 'hosts.map', 'pid'])('starts although %s is garbage', async (name) => {
    const first = await setup.gateway();
    await first.start();
    await first.stop();
    writeFileSync(join(setup.folder, name), '{"half');

    await (await setup.gateway()).start();

    expect((await setup.ask('a.localhost')).status).toBe(404);
  });

  it('says which setting to change when another program has its port', async () => {
    setup.port = await setup.listen(createTcpServer());
    const gateway = await setup.gateway();

    await expect(gateway.start()).rejects.toMatchObject({
      code: 'PORT_TAKEN',
      hint: expect.stringContaining('DAVIT_GATEWAY_PORT'),
    });
  });

  it('says so too when it runs already and gets a port for HTTPS that another program has', async () => {
    const first = await setup.gateway();
    const backend = await setup.backend('one');
    await first.apply(http(httpRoute('r', ['a.localhost'], [backend])));
    const httpsPort = await setup.listen(createTcpServer());

    await expect((await setup.gateway({ httpsPort })).start()).rejects.toMatchObject({
      code: 'PORT_TAKEN',
      message: expect.stringContaining(`Port ${httpsPort} `),
      hint: expect.stringContaining('DAVIT_GATEWAY_HTTPS_PORT'),
    });

    expect((await setup.echo('a.localhost')).name).toBe('one');
  });

  it('moves to another port when its setting changed', async () => {
    const first = await setup.gateway();
    const backend = await setup.backend('one');
    await first.apply(http(httpRoute('r', ['a.localhost'], [backend])));
    const formerPort = setup.port;
    setup.port = await freePort();

    await (await setup.gateway()).start();

    expect((await setup.echo('a.localhost')).name).toBe('one');
    await setup.listen(createTcpServer(), '127.0.0.1', formerPort);
  });

  it.skipIf(process.getuid?.() !== 0)('stays root where it may not become another user, says so, and is adopted so', async () => {
    // A HAProxy without the permission to change its user.
    const program = join(setup.folder, 'haproxy-without-setuid');
    writeFileSync(program, '#!/bin/sh\nexec setpriv --bounding-set -setuid,-setgid haproxy "$@"\n', { mode: 0o755 });
    const lines: string[] = [];
    const first = await setup.gateway({ program, log: (line) => lines.push(line) });
    const backend = await setup.backend('one');
    await first.apply(http(httpRoute('r', ['a.localhost'], [backend])));
    const pid = await masterPid();

    const heir = await setup.gateway({ program, log: (line) => lines.push(line) });
    await heir.start();

    expect((await setup.echo('a.localhost')).name).toBe('one');
    expect(await masterPid()).toBe(pid);
    expect(lines).toEqual([expect.stringContaining('the gateway keeps running as root')]);
  });

  it('says what to install when HAProxy is missing', async () => {
    const gateway = await setup.gateway({ program: '/nonexistent/haproxy' });

    await expect(gateway.start()).rejects.toMatchObject({
      code: 'GATEWAY_FAILED',
      hint: expect.stringContaining('Install HAProxy'),
    });
  });
});
