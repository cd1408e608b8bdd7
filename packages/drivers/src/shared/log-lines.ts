import type { LogLine } from '../workload.ts';

/** One chunk of the output of an instance, with a timestamp at the beginning of each line. */
export interface Frame {
  readonly stream: LogLine['stream'];
  readonly payload: Buffer;
}

/** Length in bytes at which longer lines are cut, with a mark. */
export const longestLine = 16 * 1024;
export const cutMark = ' [cut: the line is longer than 16 KiB]';

interface Partial {
  timestamp: string;
  readonly parts: Buffer[];
  length: number;
}

/**
 * Assembles lines from the frames of a log with timestamps. Engines split long lines into several entries, each with a
 * timestamp and only the last with a line break. They become one line again, with the timestamp of the first entry.
 */
export class LineAssembler {
  readonly #open = new Map<LogLine['stream'], Partial>();
  #second = '';
  #linesOfSecond = 0;

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

  /** Returns the rest after the end of the stream: a last line without a line break. */
  end(): LogLine[] {
    return [...this.#close('stdout'), ...this.#close('stderr')];
  }

  #add(stream: LogLine['stream'], entry: Buffer): void {
    const { time, text } = splitTimestamp(entry);
    const open = this.#open.get(stream) ?? { timestamp: this.#toTimestamp(time), parts: [], length: 0 };
    this.#open.set(stream, open);
    // One byte more than the limit is kept: it shows `#close` that the line must be cut.
    const remaining = longestLine + 1 - open.length;
    if (remaining <= 0) return;
    open.parts.push(text.subarray(0, remaining));
    open.length += Math.min(text.length, remaining);
  }

  /**
   * Formats a timestamp with nine digits and in UTC, so that timestamps compare as text. Podman 4.3 reports whole
   * seconds only; the digits then number the lines of the second. Reading again from the start of the second gives the
   * same numbers, so they are valid positions to resume at.
   */
  #toTimestamp(time: Time | null): string {
    if (time === null) return '';
    if (time.fraction !== '') return `${time.second}.${time.fraction.padEnd(9, '0')}Z`;
    this.#linesOfSecond = time.second === this.#second ? this.#linesOfSecond + 1 : 1;
    this.#second = time.second;
    return `${time.second}.${String(this.#linesOfSecond).padStart(9, '0')}Z`;
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

/**
 * Most bytes kept of a line with its timestamp, which has at most 40 bytes. It is more than is shown of the line, so
 * that the cut is marked.
 */
const heldOfLine = longestLine + 64;

/**
 * Assembles lines from a log that arrives in chunks of any size, such as an HTTP response body. Unlike frames, chunks
 * end anywhere, even inside timestamps and characters. Lines without a timestamp are dropped: they are messages of
 * nodes about the log, and no position to resume at.
 */
export class LogReader {
  readonly #lines = new LineAssembler();
  readonly #stream: LogLine['stream'];
  #parts: Buffer[] = [];
  #held = 0;

  constructor(stream: LogLine['stream']) {
    this.#stream = stream;
  }

  /** Number of bytes of the incomplete last line. */
  get held(): number {
    return this.#held;
  }

  push(chunk: Buffer): LogLine[] {
    const lines: LogLine[] = [];
    let rest = chunk;
    for (let end = rest.indexOf(0x0a); end !== -1; end = rest.indexOf(0x0a)) {
      this.#hold(rest.subarray(0, end));
      lines.push(...this.#emit());
      rest = rest.subarray(end + 1);
    }
    this.#hold(rest);
    return lines;
  }

  /** Returns the rest after the complete log has been read: a last line without a line break. */
  end(): LogLine[] {
    return this.#held === 0 ? [] : this.#emit();
  }

  // A line without an end must not fill the memory of this process. `LineAssembler` cuts lines that are longer than it
  // shows.
  #hold(piece: Buffer): void {
    const held = piece.subarray(0, Math.max(heldOfLine - this.#held, 0));
    if (held.length === 0) return;
    this.#parts.push(held);
    this.#held += held.length;
  }

  #emit(): LogLine[] {
    const payload = Buffer.concat([...this.#parts, lineBreak]);
    this.#parts = [];
    this.#held = 0;
    return this.#lines.push({ stream: this.#stream, payload }).filter(({ timestamp }) => timestamp !== '');
  }
}

const lineBreak = Buffer.from('\n');

// Never cuts inside a character: bytes 10xxxxxx continue one.
function cut(bytes: Buffer): string {
  let end = longestLine;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString('utf8');
}

const timestampPattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?/;

interface Time {
  /** ISO 8601 in UTC, without zone. */
  readonly second: string;
  /** Digits, or '' if the engine gives none. */
  readonly fraction: string;
}

function splitTimestamp(entry: Buffer): { readonly time: Time | null; readonly text: Buffer } {
  const match = timestampPattern.exec(entry.subarray(0, 40).toString('latin1'));
  if (!match) return { time: null, text: entry };
  const [whole, local = '', fraction = '', zone = 'Z'] = match;
  const second = zone === 'Z' || zone === '+00:00' ? local : new Date(`${local}${zone}`).toISOString().slice(0, 19);
  return { time: { second, fraction }, text: entry.subarray(whole.length) };
}

/**
 * Converts one of our timestamps to the `since` of an engine: the start of its second, as the lines of a second are
 * numbered from there.
 */
export function toSince(timestamp: string): string {
  return String(Math.floor(Date.parse(timestamp) / 1000));
}
