import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { performServerHandshake, type ServerHttp2Stream } from 'node:http2';
import { connect, type Socket } from 'node:net';
import type { Dockerfile } from '../../shared/build/dockerfile.ts';
import { unreachable } from '../engine-api.ts';

/**
 * A session of a build with BuildKit: a connection on which the engine asks the client for secrets and agents (gRPC, in
 * reverse direction). Davit provides none, and its session says so. Without a session, BuildKit refuses even optional
 * secrets and agents.
 */
export interface BuildSession {
  /** Value of `session` in the request of the build. */
  readonly id: string;
  close(): void;
}

/** Returns whether a Dockerfile asks for a secret or an agent, so that its build needs a session. */
export function needsSession(dockerfile: Dockerfile): boolean {
  return dockerfile.instructions.some(({ flags }) => flags.some((flag) => /^--mount=.*\btype=(secret|ssh)\b/.test(flag)));
}

/** Opens a session. Fails with ENGINE_UNREACHABLE. */
export async function openSession(socketPath: string, signal: AbortSignal): Promise<BuildSession> {
  const id = randomBytes(16).toString('hex');
  const socket = connect(socketPath);
  try {
    await once(socket, 'connect', { signal });
    const headers = [
      'POST /session HTTP/1.1',
      'Host: localhost',
      'Connection: Upgrade',
      'Upgrade: h2c',
      `X-Docker-Expose-Session-Uuid: ${id}`,
      'X-Docker-Expose-Session-Name: davit',
      'X-Docker-Expose-Session-Sharedkey: davit',
    ];
    socket.write(`${headers.join('\r\n')}\r\n\r\n`);
    await readUpgrade(socket, signal);
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    throw unreachable('opened no session for the build', error);
  }
  const session = performServerHandshake(socket);
  session.on('stream', answer);
  // The end of the build closes the connection at any moment.
  session.on('error', () => undefined);
  socket.on('error', () => undefined);
  return { id, close: () => void (session.destroy(), socket.destroy()) };
}

/** Reads the engine's response, and leaves what follows it in the socket. */
async function readUpgrade(socket: Socket, signal: AbortSignal): Promise<void> {
  let read = Buffer.alloc(0);
  for (;;) {
    const end = read.indexOf('\r\n\r\n');
    if (end >= 0) {
      if (!read.toString('latin1').startsWith('HTTP/1.1 101 ')) throw new Error(read.toString('latin1', 0, read.indexOf('\r\n')));
      socket.pause();
      if (read.length > end + 4) socket.unshift(read.subarray(end + 4));
      return;
    }
    const [chunk] = (await once(socket, 'data', { signal })) as [Buffer]; // oxlint-disable-line typescript/no-unsafe-type-assertion -- what Node.js documents
    read = Buffer.concat([read, chunk]);
  }
}

const unimplemented = '12';
/** `grpc.health.v1.HealthCheckResponse` with the status SERVING, as one gRPC message. */
const serving = Buffer.from([0, 0, 0, 0, 2, 8, 1]);

// Statuses: https://grpc.github.io/grpc/core/md_doc_statuscodes.html
function answer(stream: ServerHttp2Stream, headers: Readonly<Record<string, unknown>>): void {
  stream.on('error', () => undefined);
  stream.resume();
  const type = { ':status': 200, 'content-type': 'application/grpc' };
  if (headers[':path'] !== '/grpc.health.v1.Health/Check') {
    stream.respond({ ...type, 'grpc-status': unimplemented }, { endStream: true });
    return;
  }
  stream.respond(type, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(serving);
}
