import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { FrameHead } from '../store/logs.ts';
import { addGrams, gramEntries } from './grams.ts';

export const linesOfFrame = 1000;
const bytesOfFrame = 256 * 1024;
export const framesOfSegment = 16;
/** Most lines of a segment, and the bytes of text that fill one. */
export const linesOfSegment = linesOfFrame * framesOfSegment;
export const bytesOfSegment = bytesOfFrame * framesOfSegment;

/** A stored line of a service. */
export interface ArchivedLine {
  /** Increasing number, unique within the installation. */
  readonly number: number;
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly message: string;
  readonly instance: string;
  readonly release: string | null;
  readonly stream: string;
}

export interface Segment {
  readonly lines: number;
  readonly firstNumber: number;
  readonly lastNumber: number;
  readonly from: number;
  readonly to: number;
  readonly instances: readonly string[];
  readonly releases: readonly string[];
  readonly frames: readonly FrameHead[];
  readonly messages: Uint8Array;
  readonly details: Uint8Array;
  readonly grams: Uint8Array;
  /** Bytes of an entry in `grams`. */
  readonly gramBytes: number;
}

/** The lines of a frame without their messages: a list for each field. */
interface Details {
  /** Differences to the line before. */
  readonly number: readonly number[];
  readonly at: readonly number[];
  /** Positions in the lists `instances`, `releases` and `streams`. */
  readonly instance: readonly number[];
  readonly release: readonly number[];
  readonly stream: readonly number[];
  readonly instances: readonly string[];
  readonly releases: readonly (string | null)[];
  readonly streams: readonly string[];
  /** Number of line breaks inside messages, for messages that have some: [line, line breaks]. */
  readonly breaks: readonly (readonly [number, number])[];
  /** Ids that do not follow from the number: [line, id]. */
  readonly ids: readonly (readonly [number, string])[];
}

/**
 * Returns the id of a line that was stored by this version: the first half of the service's id, and the line's number.
 * A random id would take half of the space of a compressed line. `insertServiceLog` computes the same.
 */
export function lineId(serviceId: string, number: number): string {
  return `${serviceId.slice(0, 13)}-8000-8000-${number.toString(16).padStart(12, '0')}`;
}

/** Returns the number of the line with an id of `lineId`; null for other ids, such as those of an older version. */
export function numberOfLine(serviceId: string, id: string): number | null {
  const number = Number.parseInt(id.slice(-12), 16);
  return lineId(serviceId, number) === id.toLowerCase() ? number : null;
}

/**
 * Encodes lines of a service, which are in order. If they do not fit into one segment, the last lines are left out:
 * `lines` of the result says how many it contains, and `isFull` whether no further line would fit.
 */
export function encodeSegment(serviceId: string, lines: readonly ArchivedLine[]): { segment: Segment; isFull: boolean } {
  const frames = cut(lines);
  const encoded = frames.map((frame) => encodeFrame(serviceId, frame));
  const gramBytes = frames.length > 8 ? 2 : 1;
  const grams = new Uint8Array(gramEntries * gramBytes);
  for (const [index, { text }] of encoded.entries()) addGrams(grams, gramBytes, index, text);
  const taken = frames.flat();
  const times = taken.map(({ at }) => at);
  const segment: Segment = {
    lines: taken.length,
    firstNumber: taken[0]?.number ?? 0,
    lastNumber: taken.at(-1)?.number ?? 0,
    from: least(times),
    to: most(times),
    instances: distinct(taken.map(({ instance }) => instance)),
    releases: distinct(taken.flatMap(({ release }) => (release === null ? [] : [release]))),
    frames: encoded.map(({ head }) => head),
    messages: Buffer.concat(encoded.map(({ messages }) => messages)),
    details: Buffer.concat(encoded.map(({ details }) => details)),
    grams,
    gramBytes,
  };
  const last = frames.at(-1);
  return { segment, isFull: frames.length === framesOfSegment && last !== undefined && isWhole(last) };
}

function cut(lines: readonly ArchivedLine[]): ArchivedLine[][] {
  const frames: ArchivedLine[][] = [];
  let bytes = bytesOfFrame;
  for (const line of lines) {
    const last = frames.at(-1);
    if (last === undefined || bytes >= bytesOfFrame || last.length >= linesOfFrame) {
      if (frames.length === framesOfSegment) break;
      frames.push([line]);
      bytes = 0;
    } else last.push(line);
    bytes += Buffer.byteLength(line.message) + 1;
  }
  return frames;
}

function isWhole(frame: readonly ArchivedLine[]): boolean {
  if (frame.length >= linesOfFrame) return true;
  return frame.reduce((sum, { message }) => sum + Buffer.byteLength(message) + 1, 0) >= bytesOfFrame;
}

// Higher levels save 7 % and take three times as long.
const compression = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };

function encodeFrame(
  serviceId: string,
  lines: readonly ArchivedLine[],
): { head: FrameHead; text: Buffer; messages: Buffer; details: Buffer } {
  const instances = distinct(lines.map(({ instance }) => instance));
  const releases = distinct(lines.map(({ release }) => release));
  const streams = distinct(lines.map(({ stream }) => stream));
  const known: Details = {
    number: differences(lines.map(({ number }) => number)),
    at: differences(lines.map(({ at }) => at)),
    instance: lines.map(({ instance }) => instances.indexOf(instance)),
    release: lines.map(({ release }) => releases.indexOf(release)),
    stream: lines.map(({ stream }) => streams.indexOf(stream)),
    instances,
    releases,
    streams,
    breaks: lines.flatMap(({ message }, index) => {
      const count = message.split('\n').length - 1;
      return count === 0 ? [] : [[index, count] as const];
    }),
    ids: lines.flatMap(({ id, number }, index) => (id === lineId(serviceId, number) ? [] : [[index, id] as const])),
  };
  const text = Buffer.from(lines.map(({ message }) => message).join('\n'));
  const messages = zstdCompressSync(text, compression);
  const details = zstdCompressSync(JSON.stringify(known), compression);
  const times = lines.map(({ at }) => at);
  const first = lines[0]?.number ?? 0;
  const last = lines.at(-1)?.number ?? 0;
  const head: FrameHead = [lines.length, messages.length, details.length, first, last, least(times), most(times)];
  return { head, text, messages, details };
}

/** Returns the messages of a frame as one text, with a line break after each message but the last one. */
export function frameText(messages: Uint8Array): string {
  return zstdDecompressSync(messages).toString('utf8');
}

/** Returns the lines of a frame. `text`: what `frameText` returns for it. */
export function decodeFrame(serviceId: string, text: string, details: Uint8Array): ArchivedLine[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what encodeFrame wrote
  const known = JSON.parse(zstdDecompressSync(details).toString('utf8')) as Details;
  const parts = text.split('\n');
  const breaks = new Map(known.breaks);
  const ids = new Map(known.ids);
  let part = 0;
  let number = 0;
  let at = 0;
  return known.number.map((step, index) => {
    const count = 1 + (breaks.get(index) ?? 0);
    const message = count === 1 ? (parts[part] ?? '') : parts.slice(part, part + count).join('\n');
    part += count;
    number += step;
    at += known.at[index] ?? 0;
    return {
      number,
      id: ids.get(index) ?? lineId(serviceId, number),
      at,
      message,
      instance: known.instances[known.instance[index] ?? 0] ?? '',
      release: known.releases[known.release[index] ?? 0] ?? null,
      stream: known.streams[known.stream[index] ?? 0] ?? '',
    };
  });
}

function differences(values: readonly number[]): number[] {
  return values.map((value, index) => value - (values[index - 1] ?? 0));
}

function distinct<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}

function least(values: readonly number[]): number {
  return values.reduce((one, other) => Math.min(one, other), values[0] ?? 0);
}

function most(values: readonly number[]): number {
  return values.reduce((one, other) => Math.max(one, other), values[0] ?? 0);
}
