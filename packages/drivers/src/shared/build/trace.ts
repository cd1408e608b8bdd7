/**
 * BuildKit's progress as the build endpoint of Docker Engine sends it: `moby.buildkit.trace` messages, each a protobuf
 * `moby.buildkit.v1.StatusResponse` (BuildKit, api/services/control/control.proto) in base64. Decodes only the fields
 * that a log needs; unknown fields are skipped, as protobuf requires.
 */
export interface Trace {
  readonly vertexes: readonly TraceVertex[];
  readonly logs: readonly TraceLog[];
  readonly warnings: readonly string[];
}

/** A step of the build. Sent again with each change. */
export interface TraceVertex {
  readonly digest: string;
  readonly name: string;
  readonly isCached: boolean;
  readonly isStarted: boolean;
  readonly isCompleted: boolean;
  readonly error: string;
}

export interface TraceLog {
  readonly vertex: string;
  readonly text: string;
}

/** Decodes one message. Throws a RangeError if it is truncated or not protobuf. */
export function decodeTrace(base64: string): Trace {
  const fields = readFields(Buffer.from(base64, 'base64'));
  return {
    vertexes: all(fields, 1).map((bytes) => {
      const vertex = readFields(bytes);
      return {
        digest: text(vertex, 1),
        name: text(vertex, 3),
        isCached: vertex.some(({ number, value }) => number === 4 && value === 1),
        isStarted: all(vertex, 5).length > 0,
        isCompleted: all(vertex, 6).length > 0,
        error: text(vertex, 7),
      };
    }),
    logs: all(fields, 3).map((bytes) => {
      const log = readFields(bytes);
      return { vertex: text(log, 1), text: text(log, 4) };
    }),
    warnings: all(fields, 4).map((bytes) => text(readFields(bytes), 3)),
  };
}

interface Field {
  readonly number: number;
  /** Bytes for a length-delimited field, a number for a varint, null for a skipped field. */
  readonly value: Buffer | number | null;
}

function readFields(bytes: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = bytes.readUInt8(at++);
      // Multiplication, not a shift: sizes and flags stay exact beyond 32 bits; timestamps are not read.
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError('varint without an end');
  };
  const skip = (count: number): null => {
    at += count;
    return null;
  };
  while (at < bytes.length) {
    const key = varint();
    const number = Math.floor(key / 8);
    if (key % 8 === 0) fields.push({ number, value: varint() });
    else if (key % 8 === 1) fields.push({ number, value: skip(8) });
    else if (key % 8 === 5) fields.push({ number, value: skip(4) });
    else if (key % 8 === 2) {
      const length = varint();
      if (at + length > bytes.length) throw new RangeError('field beyond the end of the message');
      fields.push({ number, value: bytes.subarray(at, at + length) });
      at += length;
    } else throw new RangeError(`wire type ${key % 8}`);
  }
  return fields;
}

function all(fields: readonly Field[], number: number): Buffer[] {
  return fields.flatMap((field) => (field.number === number && Buffer.isBuffer(field.value) ? [field.value] : []));
}

function text(fields: readonly Field[], number: number): string {
  return all(fields, number).at(-1)?.toString('utf8') ?? '';
}
