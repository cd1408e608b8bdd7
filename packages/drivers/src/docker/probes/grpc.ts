import http2 from 'node:http2';
import { describeConnectError, type Target } from './tcp.ts';

/**
 * Sends one `grpc.health.v1.Health/Check` in clear text (HTTP/2 with prior knowledge, like Kubernetes probes). Returns
 * null if the service reports SERVING, otherwise a description of the failure. The two messages are small enough to
 * encode by hand: HealthCheckRequest is `string service = 1`, HealthCheckResponse is `enum status = 1`
 * (https://github.com/grpc/grpc/blob/master/doc/health-checking.md).
 */
export function probeGrpc(
  target: Target,
  service: string,
  timeoutMilliseconds: number,
  signal: AbortSignal,
): Promise<string | null> {
  return new Promise((resolve) => {
    const session = http2.connect(`http://${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`);
    const finish = (seen: string | null): void => {
      clearTimeout(deadline);
      signal.removeEventListener('abort', abort);
      session.destroy();
      resolve(seen);
    };
    const deadline = setTimeout(() => finish(`no answer within ${timeoutMilliseconds / 1000} s`), timeoutMilliseconds);
    const abort = (): void => finish('given up');
    signal.addEventListener('abort', abort, { once: true });
    session.once('error', (error: NodeJS.ErrnoException) => finish(describeHttp2Error(error)));
    session.once('close', () => finish('connection closed without an answer'));
    const request = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
      'user-agent': 'davit-probe',
    });
    const answer: Answer = { status: 0, headers: {}, chunks: [] };
    request.once('error', (error: NodeJS.ErrnoException) => finish(describeHttp2Error(error)));
    request.once('response', (headers) => {
      answer.status = headers[':status'] ?? 0;
      answer.headers = { ...answer.headers, ...headers };
    });
    request.once('trailers', (headers) => (answer.headers = { ...answer.headers, ...headers }));
    request.on('data', (chunk: Buffer) => answer.chunks.push(chunk));
    request.once('end', () => finish(judge(answer, service)));
    request.end(encodeHealthRequest(service));
  });
}

interface Answer {
  status: number;
  headers: http2.IncomingHttpHeaders;
  readonly chunks: Buffer[];
}

function judge(answer: Answer, service: string): string | null {
  if (answer.status !== 200) return `HTTP status ${answer.status}, not gRPC`;
  const code = String(answer.headers['grpc-status'] ?? '0');
  if (code === '5') return `the gRPC health service does not know the service "${service}"`;
  if (code === '12') return 'the gRPC server has no health service (grpc.health.v1.Health)';
  if (code !== '0') return `gRPC status ${code}: ${String(answer.headers['grpc-message'] ?? '')}`;
  const status = decodeHealthStatus(Buffer.concat(answer.chunks));
  return status === 'SERVING' ? null : `gRPC health is ${status}`;
}

function describeHttp2Error(error: NodeJS.ErrnoException): string {
  // A stream that was never opened reports its own error first, with the connection error as the cause.
  if (error.cause instanceof Error) return describeHttp2Error(error.cause);
  return error.code?.startsWith('ERR_HTTP2') ? `no HTTP/2 in clear text: ${error.message}` : describeConnectError(error);
}

/**
 * Encodes a HealthCheckRequest as a gRPC frame: one byte for "not compressed", four bytes for the length, then the
 * message.
 */
export function encodeHealthRequest(service: string): Buffer {
  const name = Buffer.from(service, 'utf8');
  const message = name.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a]), varint(name.length), name]);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

const statuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;

/**
 * Returns the status in a framed HealthCheckResponse. An empty message means UNKNOWN, because protobuf 3 does not
 * encode zero.
 */
export function decodeHealthStatus(frame: Buffer): string {
  if (frame.length < 5) return 'missing in the answer';
  const message = frame.subarray(5, 5 + frame.readUInt32BE(1));
  if (message.length === 0) return statuses[0];
  return message[0] === 0x08 ? (statuses[message[1] ?? 0] ?? `status ${message[1]}`) : 'unreadable';
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    rest >>>= 7;
  } while (rest > 0);
  return Buffer.from(bytes);
}
