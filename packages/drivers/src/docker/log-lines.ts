import type { LogLine } from '../workload.ts';
import type { Frame } from './frames.ts';

/** Longer lines are cut here, with a mark. */
export const longestLine = 16 * 1024;
export const cutMark = ' [cut: the line is longer than 16 KiB]';

interface Partial {
  timestamp: string;
  readonly parts: Buffer[];
  length: number;
}

/**
 * Makes lines of the frames of a log with timestamps. Engines split long lines over several entries, each with a timestamp and
 * only the last with a line break: they are one line again here, with the time of their first part.
 */
export class LineAssembler {
  readonly #open = new Map<LogLine['stream'], Partial>();

  push(frame: Frame): LogLine[] {
    const lines: LogLine[] = [];
    let rest = frame.payload;
    while (rest.length > 0) {
      const end = rest.indexOf(0x0a);
      const entry = end === -1 ? rest : rest.subarray(0, end);
      this.#add(frame.stream, entry);
      if (end !== -1) lines.push(...this.#close(frame.stream));
      rest = end === -1 ? rest.subarray(rest.length) : rest.subarray(end + 1);
    }
    return lines;
  }

  /** What is left when the stream has ended: a last line without a line break. */
  end(): LogLine[] {
    return [...this.#close('stdout'), ...this.#close('stderr')];
  }

  #add(stream: LogLine['stream'], entry: Buffer): void {
    const { timestamp, text } = splitTimestamp(entry);
    const open = this.#open.get(stream) ?? { timestamp, parts: [], length: 0 };
    this.#open.set(stream, open);
    // One byte over the limit is kept: that is how `#close` knows.
    const room = longestLine + 1 - open.length;
    if (room <= 0) return;
    open.parts.push(text.subarray(0, room));
    open.length += Math.min(text.length, room);
  }

  #close(stream: LogLine['stream']): LogLine[] {
    const open = this.#open.get(stream);
    if (!open) return [];
    this.#open.delete(stream);
    const bytes = Buffer.concat(open.parts);
    const text = bytes.length > longestLine ? cut(bytes) + cutMark : bytes.toString('utf8');
    return [{ timestamp: open.timestamp, stream, text: text.replace(/\r$/, '') }];
  }
}

// Not in the middle of a character: bytes 10xxxxxx continue one.
function cut(bytes: Buffer): string {
  let end = longestLine;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString('utf8');
}

const timestampPattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?/;

function splitTimestamp(entry: Buffer): { timestamp: string; text: Buffer } {
  const match = timestampPattern.exec(entry.subarray(0, 40).toString('latin1'));
  if (!match) return { timestamp: '', text: entry };
  const [whole, seconds = '', fraction = '', zone = 'Z'] = match;
  return { timestamp: toUtc(seconds, fraction, zone), text: entry.subarray(whole.length) };
}

/** Nine digits and UTC always, so that timestamps of one engine and of two compare as text. */
function toUtc(seconds: string, fraction: string, zone: string): string {
  const utc = zone === 'Z' || zone === '+00:00' ? seconds : new Date(`${seconds}${zone}`).toISOString().slice(0, 19);
  return `${utc}.${fraction.padEnd(9, '0')}Z`;
}

/** A timestamp of ours as engines take it in `since`: seconds and nanoseconds. */
export function toSince(timestamp: string): string {
  const fraction = /\.(\d{1,9})/.exec(timestamp)?.[1] ?? '';
  return `${Math.floor(Date.parse(timestamp) / 1000)}.${fraction.padEnd(9, '0')}`;
}
