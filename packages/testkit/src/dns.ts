import { createSocket, type Socket } from 'node:dgram';

/** Records of a name. `fails`: the server responds with SERVFAIL. */
export interface DnsRecords {
  readonly a?: readonly string[];
  readonly cname?: string;
  readonly txt?: readonly string[];
  readonly fails?: true;
}

const types = { A: 1, CNAME: 5, TXT: 16 } as const;
const codes = { ok: 0, fails: 2, unknown: 3 } as const;

/** A DNS server on this machine (RFC 1035, over UDP). It returns A, CNAME and TXT records that a test supplies. */
export class TestDns {
  /** Records by name in lower case. A test may replace them at any time. */
  readonly records = new Map<string, DnsRecords>();
  /** Names that clients have queried. */
  readonly requested: string[] = [];
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('message', (message, from) => socket.send(this.#answer(message), from.port, from.address));
  }

  static async start(): Promise<TestDns> {
    const socket = createSocket('udp4');
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
    return new TestDns(socket);
  }

  /** Returns the server's address in the form of `DAVIT_DNS_SERVERS`. */
  get server(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#socket.close(() => resolve()));
  }

  #answer(message: Buffer): Buffer {
    const { name, end } = readName(message, 12);
    const type = message.readUInt16BE(end);
    this.requested.push(name);
    const { answers, code } = this.#find(name, type);
    const header = Buffer.alloc(12);
    header.writeUInt16BE(message.readUInt16BE(0), 0);
    // Flags of a response from a recursive server.
    header.writeUInt16BE(0x8180 | code, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(answers.length, 6);
    return Buffer.concat([header, message.subarray(12, end + 4), ...answers]);
  }

  #find(name: string, type: number): { readonly answers: Buffer[]; readonly code: number } {
    const answers: Buffer[] = [];
    let at = name;
    for (let steps = 0; steps < 8; steps += 1) {
      const found = this.records.get(at);
      if (found === undefined) return { answers, code: codes.unknown };
      if (found.fails === true) return { answers: [], code: codes.fails };
      if (type === types.A)
        answers.push(...(found.a ?? []).map((address) => record(at, types.A, Buffer.from(address.split('.').map(Number)))));
      if (type === types.TXT)
        answers.push(...(found.txt ?? []).map((text) => record(at, types.TXT, Buffer.from([text.length, ...Buffer.from(text)]))));
      if (found.cname === undefined) break;
      answers.push(record(at, types.CNAME, toWire(found.cname)));
      if (type === types.CNAME) break;
      at = found.cname;
    }
    return { answers, code: codes.ok };
  }
}

function readName(message: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = start;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

function toWire(name: string): Buffer {
  return Buffer.concat([
    ...name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label, 'latin1')])),
    Buffer.from([0]),
  ]);
}

function record(name: string, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([toWire(name), fixed, data]);
}
