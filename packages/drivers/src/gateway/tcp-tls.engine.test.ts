import { once } from 'node:events';
import { createServer, connect as connectTcp, type Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { testCertificate } from '@davit/testkit/certificate';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RouteTable } from '../gateway.ts';
import type { LocalGateway } from './gateway.ts';
import { freePort, GatewaySetup, hasHaproxy, title, until } from './testing.ts';

const host = 'z1-postgresql.apps.test';

let setup: GatewaySetup;
let gateway: LocalGateway;
let listenPort: number;
let database: { readonly id: string; readonly host: string; readonly port: number };
let wildcard: Awaited<ReturnType<typeof testCertificate>>;
beforeEach(async () => {
  setup = new GatewaySetup();
  wildcard = await testCertificate('*.apps.test');
  listenPort = await freePort();
  gateway = await setup.gateway({ httpsPort: await freePort(), handshakeSeconds: 2 });
  await gateway.start();
  // Answers each message with its bytes, as a database that speaks no TLS.
  const server = createServer((socket) => {
    socket.on('data', (chunk) => socket.write(`got ${chunk.toString('hex')}`));
    socket.on('error', () => undefined);
    setup.onEnd(() => void socket.destroy());
  });
  database = { id: 'db', host: '127.0.0.1', port: await setup.listen(server) };
});
afterEach(() => setup.end());

const table = (acceptsTls = true, { pem } = wildcard): RouteTable => ({
  http: [],
  tcp: [{ id: 'p1', listenPort, backends: [database], ...(acceptsTls && { acceptsTls: true as const }) }],
  certificates: [{ host: '*.apps.test', pem, redirect: false }],
});

/** Sends a message and returns the answer. */
function ask(socket: Socket, message: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('closed')));
    socket.once('data', (chunk) => resolve(chunk.toString()));
    socket.write(message);
  });
}

const plain = (message: Buffer): Promise<string> => {
  const socket = connectTcp(listenPort, '127.0.0.1');
  setup.onEnd(() => void socket.destroy());
  return ask(socket, message);
};

function secure(options: { servername?: string; ca?: string; port?: number } = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      {
        host: '127.0.0.1',
        port: options.port ?? listenPort,
        servername: options.servername ?? host,
        ca: options.ca ?? wildcard.certificate,
        ALPNProtocols: ['postgresql'],
      },
      () => resolve(socket),
    );
    socket.once('error', reject);
    setup.onEnd(() => void socket.destroy());
  });
}

/** Returns a connection to the port that has sent nothing yet. */
async function connection(): Promise<Socket> {
  const socket = connectTcp({ port: listenPort, host: '127.0.0.1', noDelay: true });
  setup.onEnd(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Returns the first message of a client of TLS. */
async function greetingOfTls(): Promise<Buffer> {
  const listener = createServer();
  const port = await setup.listen(listener);
  const client = connect({ host: '127.0.0.1', port, servername: host });
  client.on('error', () => undefined);
  const [socket] = (await once(listener, 'connection')) as [Socket]; // oxlint-disable-line typescript/no-unsafe-type-assertion -- what the event has
  const [greeting] = (await once(socket, 'data')) as [Buffer]; // oxlint-disable-line typescript/no-unsafe-type-assertion -- what the event has
  for (const one of [client, socket]) one.destroy();
  return greeting;
}

const sslRequest = Buffer.from('0000000804d2162f', 'hex');
const kerberosRequest = Buffer.from('0000000804d21630', 'hex');

describe.skipIf(!hasHaproxy)(`a TCP port that accepts TLS, of ${title}`, () => {
  it('takes clients with TLS and without it at the same port', async () => {
    await gateway.apply(table());
    await gateway.traffic();
    const socket = await secure();
    // Clients of PostgreSQL insist on it.
    expect(socket.alpnProtocol).toBe('postgresql');
    expect(await ask(socket, Buffer.from('hello'))).toBe('got 68656c6c6f');
    // A client of PostgreSQL without TLS begins with its version, and one that cancels a query with another number.
    for (const message of ['0000000800030000', '0000001004d2162e0000000100000002']) {
      expect(await plain(Buffer.from(message, 'hex'))).toBe(`got ${message}`);
    }
    // A message of MongoDB begins with its length, which may look like the beginning of TLS.
    for (const length of ['16010000', '16030000', '16030100']) {
      for (const request of ['a1b2c3d4', '04010000']) {
        const message = `${length}${request}00000000dd070000`;
        expect(await plain(Buffer.from(message, 'hex'))).toBe(`got ${message}`);
      }
    }
    await expect(secure({ servername: 'z1.other.test' })).rejects.toThrow(/alert|disconnected|reset/i);
    socket.end();
    const traffic = (await gateway.traffic()).find(({ id }) => id === 'p1');
    expect(traffic?.requests).toBe(9);
  });

  it('answers clients of PostgreSQL that ask for TLS, and takes nothing else from them afterwards', async () => {
    await gateway.apply(table());
    const asking = await connection();
    expect(await ask(asking, kerberosRequest)).toBe('N');
    // The request arrives in pieces.
    asking.write(sslRequest.subarray(0, 3));
    expect(await ask(asking, sslRequest.subarray(3))).toBe('S');
    const socket = connect({ socket: asking, servername: host, ca: wildcard.certificate });
    setup.onEnd(() => void socket.destroy());
    await once(socket, 'secureConnect');
    expect(await ask(socket, Buffer.from('hello'))).toBe('got 68656c6c6f');
    // The certificate must match here too.
    const other = await connection();
    expect(await ask(other, sslRequest)).toBe('S');
    await expect(once(connect({ socket: other, servername: 'z1.other.test' }), 'secureConnect')).rejects.toThrow(/alert/i);
    // An attacker on the way may append what the database would take for a part of the encrypted connection.
    for (const injected of ['0000000800030000', sslRequest.toString('hex')]) {
      const attacked = await connection();
      const answers: string[] = [];
      attacked.on('data', (chunk) => answers.push(chunk.toString('latin1')));
      attacked.write(Buffer.concat([sslRequest, Buffer.from(injected, 'hex')]));
      await once(attacked, 'close');
      expect(answers.join('')).toMatch(/^S/);
      expect(answers.join('')).not.toContain('got');
    }
  });

  it('understands a greeting that arrives in pieces', async () => {
    await gateway.apply(table());
    const slow = createServer((from) => {
      const to = connectTcp({ port: listenPort, host: '127.0.0.1', noDelay: true });
      let sent = Promise.resolve();
      from.on('data', (chunk) => {
        for (let at = 0; at < chunk.length; at += 40) {
          sent = sent.then(() => new Promise((resolve) => to.write(chunk.subarray(at, at + 40), () => setImmediate(resolve))));
        }
      });
      to.pipe(from);
      for (const one of [from, to]) one.on('error', () => undefined);
      setup.onEnd(() => [from, to].forEach((one) => one.destroy()));
    });
    const socket = await secure({ port: await setup.listen(slow) });
    expect(await ask(socket, Buffer.from('hello'))).toBe('got 68656c6c6f');
  });

  it('presents a renewed certificate, while connections stay, also over a reload', async () => {
    await gateway.apply(table());
    const before = await secure();
    const renewed = await testCertificate('*.apps.test');
    await gateway.apply(table(true, renewed));
    const after = await secure({ ca: renewed.certificate });
    for (const socket of [before, after]) expect(await ask(socket, Buffer.from('a'))).toBe('got 61');
    const { tcp, ...rest } = table(true, renewed);
    const another = { id: 'p2', listenPort: await freePort(), backends: [database] };
    await gateway.apply({ ...rest, tcp: [...tcp, another] });
    const latest = await secure({ ca: renewed.certificate });
    for (const socket of [before, after, latest]) expect(await ask(socket, Buffer.from('a'))).toBe('got 61');
  });

  it('lets go of clients that never finish the handshake, and of no others however long they are idle', async () => {
    await gateway.apply(table());
    const secured = await secure();
    const plainly = await connection();
    expect(await ask(plainly, Buffer.from('hello'))).toBe('got 68656c6c6f');
    const silentOnceSecured = await secure();
    const greeting = await greetingOfTls();
    const beginnings: Record<string, readonly Buffer[]> = {
      nothing: [],
      'part of a greeting': [greeting.subarray(0, 40)],
      'a greeting': [greeting],
      'a request for TLS': [sslRequest],
      'a request for TLS and part of a greeting': [sslRequest, greeting.subarray(0, 40)],
      'a request for TLS and a greeting': [sslRequest, greeting],
      'a request for encryption by Kerberos': [kerberosRequest],
    };
    const stuck = Object.entries(beginnings).map(async ([name, messages]) => {
      const socket = await connection();
      const isClosed = once(socket, 'close').then(() => name);
      const answers: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => answers.push(chunk));
      socket.on('error', () => undefined);
      for (const message of messages) {
        const before = answers.length;
        socket.write(message);
        if (message === sslRequest) await until(() => answers.length > before);
      }
      return isClosed;
    });
    expect(await Promise.all(stuck)).toEqual(Object.keys(beginnings));
    // The others have been idle for longer than a handshake may take.
    const idle = [secured, plainly, silentOnceSecured];
    expect(idle.map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
    for (const socket of idle) expect(await ask(socket, Buffer.from('a'))).toBe('got 61');
  }, 60_000);

  it('passes everything on once it no longer accepts TLS', async () => {
    await gateway.apply(table());
    await secure();
    await gateway.apply(table(false));
    await expect(secure()).rejects.toThrow(/SSL|version|packet/i);
    expect(await plain(sslRequest)).toBe(`got ${sslRequest.toString('hex')}`);
    await gateway.apply(table());
    expect(await ask(await secure(), Buffer.from('a'))).toBe('got 61');
  });
});
