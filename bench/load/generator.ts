import { connect, type Socket } from 'node:net';
import { processorSeconds } from '../processes.ts';
import { percentile } from '../statistics.ts';
import type { LoadPlan, LoadResult } from './plan.ts';

/*
 * The load generator: a separate process, controlled by its parent. It shares the machine's cores with the server that
 * it measures, so it must be cheap. It prepares the bytes of requests once, and parses only the status, the length and
 * the end of a response. A client library costs as much as the server under test, and then mostly measures itself.
 */

class Generator {
  readonly #plan: LoadPlan;
  readonly #bytes: readonly Buffer[];
  readonly #latencies: number[] = [];
  readonly #failures: Record<string, number> = {};
  readonly #bodies = new Set<string>();
  readonly #connections: Connection[] = [];
  #turn = 0;
  #number: number;
  #began = 0;
  #ended = 0;
  #clientBefore = 0;
  #serverBefore: number | null = null;

  constructor(plan: LoadPlan) {
    this.#plan = plan;
    this.#number = plan.firstNumber ?? 0;
    this.#bytes = plan.requests.map((request) => toBytes(request));
  }

  get isOver(): boolean {
    return this.#ended > 0;
  }

  run(): void {
    const { connections, warmUpMilliseconds, milliseconds } = this.#plan;
    for (let index = 0; index < connections; index += 1) this.#connections.push(new Connection(this, this.#plan, index));
    setTimeout(() => {
      this.#began = performance.now();
      this.#clientBefore = processorSeconds(process.pid);
      this.#serverBefore = this.#serverSeconds();
      if (milliseconds !== null) setTimeout(() => this.stop(), milliseconds);
    }, warmUpMilliseconds);
  }

  nextBytes(): Buffer {
    const bytes = this.#bytes[this.#turn]!;
    this.#turn = (this.#turn + 1) % this.#bytes.length;
    const at = bytes.indexOf('#');
    if (at < 0) return bytes;
    const numbered = Buffer.from(
      bytes.toString('latin1').replaceAll('########', String(this.#number).padStart(8, '0')),
      'latin1',
    );
    this.#number += 1;
    return numbered;
  }

  answered(status: number, milliseconds: number, body: () => string): void {
    if (this.isOver) return;
    if (status !== this.#plan.status) this.failed(`status ${status}`);
    else if (this.#plan.keepsBodies && this.#bodies.size < 100) this.#bodies.add(body());
    if (this.#began > 0) this.#latencies.push(milliseconds);
  }

  /** Failures during the warm-up count too: there should be none at any time. */
  failed(reason: string): void {
    this.#failures[reason] = (this.#failures[reason] ?? 0) + 1;
  }

  stop(): void {
    if (this.isOver) return;
    this.#ended = performance.now();
    const latencies = this.#latencies;
    const seconds = (this.#ended - this.#began) / 1000;
    const serverAfter = this.#serverSeconds();
    const each = (used: number): number => (used * 1_000_000) / latencies.length;
    const result: LoadResult = {
      requests: latencies.length,
      failures: this.#failures,
      seconds,
      perSecond: latencies.length / seconds,
      latency: {
        p50: percentile(latencies, 0.5),
        p90: percentile(latencies, 0.9),
        p99: percentile(latencies, 0.99),
        most: percentile(latencies, 1),
      },
      processorMicroseconds: {
        client: each(processorSeconds(process.pid) - this.#clientBefore),
        server: serverAfter === null || this.#serverBefore === null ? null : each(serverAfter - this.#serverBefore),
      },
      bodies: [...this.#bodies],
    };
    for (const connection of this.#connections) connection.close();
    process.send?.(result, () => process.disconnect());
  }

  #serverSeconds(): number | null {
    const { serverPid } = this.#plan;
    return serverPid === undefined ? null : processorSeconds(serverPid);
  }
}

class Connection {
  readonly #generator: Generator;
  readonly #plan: LoadPlan;
  readonly #reconnectEvery: number;
  #socket: Socket;
  #sent = 0;
  #isWaiting = false;
  #sinceOpened = 0;
  #text = '';

  constructor(generator: Generator, plan: LoadPlan, index: number) {
    this.#generator = generator;
    this.#plan = plan;
    this.#reconnectEvery = index % 2 === 1 ? (plan.reconnectEvery ?? Infinity) : Infinity;
    this.#socket = this.#open();
    this.#send();
  }

  close(): void {
    this.#socket.destroy();
  }

  #open(): Socket {
    const socket = connect({ host: '127.0.0.1', port: this.#plan.port, noDelay: true });
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', (error) => this.#lost(socket, 'code' in error ? String(error.code) : error.message));
    socket.on('close', () => this.#lost(socket, 'connection closed'));
    this.#text = '';
    this.#sinceOpened = 0;
    return socket;
  }

  #send(): void {
    if (this.#generator.isOver) return;
    this.#isWaiting = true;
    this.#sent = performance.now();
    this.#socket.write(this.#generator.nextBytes());
  }

  #take(chunk: Buffer): void {
    this.#text = this.#text === '' ? chunk.toString('latin1') : this.#text + chunk.toString('latin1');
    const text = this.#text;
    const head = text.indexOf('\r\n\r\n');
    if (head < 0) return;
    const status = Number(text.slice(9, 12));
    const length = lengthOf(text, head);
    if (length === null) throw new Error(`an answer without Content-Length: ${text.slice(0, head)}`);
    if (text.length < head + 4 + length) return;
    this.#text = '';
    this.#isWaiting = false;
    this.#sinceOpened += 1;
    this.#generator.answered(status, performance.now() - this.#sent, () => text.slice(head + 4));
    const isClosing = /\r\nconnection: close\r\n/i.test(text.slice(0, head + 2));
    if (isClosing || this.#sinceOpened >= this.#reconnectEvery) this.#reopen();
    if (this.#plan.pauseMilliseconds === undefined) this.#send();
    else setTimeout(() => this.#send(), this.#plan.pauseMilliseconds);
  }

  // A server may close a connection between two requests. The next request opens a new connection, and nothing was
  // lost.
  #lost(socket: Socket, reason: string): void {
    if (socket !== this.#socket || this.#generator.isOver) return;
    if (this.#isWaiting) this.#generator.failed(reason);
    this.#reopen();
    // Retries after a pause: a server that has exited refuses thousands of connections a second.
    if (this.#isWaiting) setTimeout(() => this.#send(), 10);
  }

  #reopen(): void {
    const former = this.#socket;
    this.#socket = this.#open();
    former.destroy();
  }
}

function lengthOf(text: string, head: number): number | null {
  const found = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head));
  return found === null ? (text.startsWith('HTTP/1.1 204') ? 0 : null) : Number(found[1]);
}

function toBytes({ method, path, headers, body }: LoadPlan['requests'][number]): Buffer {
  const numbered = (part: string): string => part.replaceAll('#', '########');
  const content = body === undefined ? undefined : Buffer.from(numbered(body), 'utf8');
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  if (content !== undefined) lines.push(`content-type: application/json\r\ncontent-length: ${content.length}\r\n`);
  if (headers['host'] === undefined) lines.unshift('host: 127.0.0.1\r\n');
  const head = `${method} ${numbered(path)} HTTP/1.1\r\n${lines.join('')}\r\n`;
  return content === undefined ? Buffer.from(head) : Buffer.concat([Buffer.from(head), content]);
}

let generator: Generator | undefined;
process.on('message', (message: LoadPlan | 'stop') => {
  if (message === 'stop') return generator?.stop();
  generator = new Generator(message);
  generator.run();
});
