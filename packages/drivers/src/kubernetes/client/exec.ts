import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import WebSocket, { type RawData } from 'ws';
import { startOf } from '@davit/base-node';
import { ApiRefusal, authorization, tlsOptions, unreachable, wordsOf, type Api } from './api.ts';
import { translated } from './refusals.ts';

/** A container of a pod. */
export interface ContainerRef {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/** A command that runs in a container. */
export interface Execution {
  /** Standard output of the command. The caller reads it to its end or destroys it. */
  readonly output: Readable;
  /**
   * Resolves with the exit code and the beginning of stderr. Rejects with a DriverError if there is no exit code: the
   * connection broke first, or the node did not start the command.
   */
  readonly end: Promise<{ readonly code: number; readonly errors: string }>;
}

/** Stream numbers of the protocol `channel.k8s.io`. They are the first byte of each message. */
const channel = { input: 0, output: 1, errors: 2, status: 3, close: 255 } as const;
/**
 * v5 can close the input and leave the other streams open. Servers before 1.30 support only v4, and so do later servers
 * whose operator disabled v5.
 */
const protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
/**
 * Servers known to support only v4. They are remembered so that no command is started without an end of input: a node
 * may leave such a command waiting for it.
 */
const endless = new WeakSet<Api>();
/*
 * Gives a command an end of input if the connection cannot close the input. The input is sent as lines of base64, then
 * a line with a dot, then a second one, because busybox's sed does not process a line until it has read the next. GNU
 * tar accepts an empty input as an empty archive, so the script first checks that its programs exist.
 */
const untilDot = [
  'for program in sed base64; do',
  '  command -v "$program" >/dev/null && continue',
  '  echo "the image has no $program, which it needs as the API server cannot end an input (Kubernetes 1.30 and later can)" >&2',
  '  exit 127',
  'done',
  `sed -n '/^\\.$/q;p' | base64 -d | "$@"`,
].join('\n');
/** A multiple of 3, so that only the last line is padded. */
const lineBytes = 3_072;
const maxErrors = 4096;
const maxRefusalBytes = 1024 * 1024;
const highWater = 1024 * 1024;
const handshakeMilliseconds = 30_000;

/**
 * Runs a command in a running container, with `input` as its stdin. Before the command has started, this rejects with
 * `ApiRefusal`, ENGINE_UNREACHABLE or the signal's reason. An abort after that closes the connection, and the kubelet
 * closes the command's streams.
 */
export async function execute(
  api: Api,
  container: ContainerRef,
  { command, input }: { readonly command: readonly string[]; readonly input?: Readable },
  signal: AbortSignal,
): Promise<Execution> {
  signal.throwIfAborted();
  const hasInput = input !== undefined;
  const marked = ['/bin/sh', '-c', untilDot, 'sh', ...command];
  let isMarked = hasInput && endless.has(api);
  let socket = await connect(api, container, { command: isMarked ? marked : command, hasInput }, signal);
  if (socket.protocol === protocols[0]) endless.delete(api);
  else if (hasInput && !isMarked) {
    endless.add(api);
    // The command has received no input yet. It is started again in a form that detects the end of the input.
    socket.terminate();
    signal.throwIfAborted();
    isMarked = true;
    socket = await connect(api, container, { command: marked, hasInput }, signal);
  }
  const output = new Readable({ read: () => socket.resume() });
  // A reader gets the error from the stream. Without a reader the error does not matter.
  output.on('error', () => undefined);
  const end = ending(socket, output, signal);
  end.catch((error: unknown) => output.destroy(error instanceof Error ? error : new Error(String(error))));
  output.once('close', () => socket.close());
  if (input) void send(socket, isMarked ? asLines(input) : input);
  return { output, end };
}

/** Runs a command to its end. Output beyond 64 KiB is dropped. */
export async function runInside(
  api: Api,
  container: ContainerRef,
  command: readonly string[],
  signal: AbortSignal,
): Promise<{ readonly code: number; readonly output: string }> {
  const { output, end } = await execute(api, container, { command }, signal);
  let text = '';
  output.setEncoding('utf8');
  for await (const part of output as AsyncIterable<string>) if (text.length < 65_536) text += part;
  const { code, errors } = await end;
  return { code, output: text + errors };
}

function connect(
  api: Api,
  { namespace, pod, container }: ContainerRef,
  { command, hasInput }: { readonly command: readonly string[]; readonly hasInput: boolean },
  signal: AbortSignal,
): Promise<WebSocket> {
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/exec`;
  const query = new URLSearchParams({ container, stdout: 'true', stderr: 'true', ...(hasInput && { stdin: 'true' }) });
  for (const part of command) query.append('command', part);
  const url = `${api.access.server.replace(/^https:/, 'wss:')}${path}?${query.toString()}`;
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, protocols, {
      ...tlsOptions(api.access),
      headers: authorization(api.access),
      handshakeTimeout: handshakeMilliseconds,
      perMessageDeflate: false,
    });
    const abort = (): void => socket.terminate();
    signal.addEventListener('abort', abort, { once: true });
    socket.once('close', () => signal.removeEventListener('abort', abort));
    socket.once('open', () => {
      // No message may arrive before there is a listener.
      socket.pause();
      resolve(socket);
    });
    socket.once('unexpected-response', (_, response: IncomingMessage) => {
      const refused = (words: string): void => reject(new ApiRefusal({ method: 'GET', path }, response.statusCode ?? 0, words));
      const text = startOf(response, maxRefusalBytes).then((start) => start.toString('utf8'));
      const output = text.then(wordsOf, () => 'no reason given');
      void output.then(refused).finally(() => socket.terminate());
    });
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the caller's own reason
    socket.once('error', (error) => reject(signal.aborted ? signal.reason : unreachable('ends connections', error)));
  });
}

function ending(socket: WebSocket, output: Readable, signal: AbortSignal): Execution['end'] {
  return new Promise((resolve, reject) => {
    let errors = '';
    socket.on('message', (data: RawData) => {
      const message = toBuffer(data);
      const payload = message.subarray(1);
      if (message[0] === channel.output && payload.length > 0 && !output.push(payload)) socket.pause();
      else if (message[0] === channel.errors && errors.length < maxErrors) errors += payload.toString('utf8');
      else if (message[0] === channel.status) {
        const printed = payload.toString('utf8');
        const code = exitCodeOf(printed);
        if (code === null && !isNoProgram(printed)) reject(notRun(printed));
        else {
          output.push(null);
          resolve(code === null ? { code: noProgramCode, errors: wordsOf(printed) } : { code, errors });
        }
        socket.close();
      }
    });
    socket.on('close', () => {
      if (signal.aborted) reject(signal.reason); // oxlint-disable-line typescript/prefer-promise-reject-errors -- the caller's own reason
      else reject(unreachable('ended a connection', new Error('a command was cut off')));
    });
    socket.on('error', () => undefined);
    socket.resume();
  });
}

/** Exit code of shells if a program does not exist. */
const noProgramCode = 127;

/** Runtimes report only in their message that an image does not contain a program. */
const isNoProgram = (output: string): boolean =>
  /executable file not found|exec: \\?".*": (?:stat .*: )?no such file or directory/.test(output);

/**
 * Returns the error for a command of which nobody knows whether it ran, or how far. A busy or unreachable node says
 * nothing about the purpose of the command.
 */
function notRun(output: string): unknown {
  const code = (parsed(output) ?? {}).code ?? 500;
  const refusal = new ApiRefusal({ method: 'GET', path: 'exec' }, code, wordsOf(output));
  return translated(refusal, 'A command could not be run in the instance');
}

interface EndStatus {
  readonly status?: string;
  readonly code?: number;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] } | null;
}

/**
 * Returns the exit code in the `Status` that ends a command. Returns null if the command was not started or the text is
 * not a `Status`. Never throws. Pure.
 */
export function exitCodeOf(text: string): number | null {
  const ended = parsed(text);
  if (ended?.status === 'Success') return 0;
  const causes = ended?.details?.causes;
  const code = Array.isArray(causes) ? causes.find((cause) => cause?.reason === 'ExitCode')?.message : undefined;
  return typeof code === 'string' && /^\d{1,10}$/.test(code) ? Number(code) : null;
}

function parsed(text: string): EndStatus | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function toBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

/** Encodes the input as `untilDot` expects it. */
async function* asLines(input: Readable): AsyncIterable<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of input as AsyncIterable<Buffer>) {
    const all = Buffer.concat([rest, chunk]);
    let at = 0;
    let lines = '';
    for (; at + lineBytes <= all.length; at += lineBytes) lines += `${all.toString('base64', at, at + lineBytes)}\n`;
    rest = all.subarray(at);
    if (lines !== '') yield Buffer.from(lines);
  }
  yield Buffer.from(`${rest.toString('base64')}\n.\n.\n`);
}

async function send(socket: WebSocket, input: AsyncIterable<Buffer>): Promise<void> {
  try {
    for await (const chunk of input) {
      if (socket.readyState !== WebSocket.OPEN) return;
      await new Promise<void>((resolve) => {
        const sent = Buffer.concat([Buffer.of(channel.input), chunk]);
        // Waits for the network only if it cannot keep up.
        const isBehind = socket.bufferedAmount > highWater;
        socket.send(sent, () => (isBehind ? resolve() : undefined));
        if (!isBehind) resolve();
      });
    }
    if (socket.protocol === protocols[0]) socket.send(Buffer.of(channel.close, channel.input));
  } catch {
    // The source broke, so its data is incomplete. The command must not treat that data as complete.
    socket.terminate();
  }
}
