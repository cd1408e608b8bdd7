import type { LogLine } from '../workload.ts';

/** One piece of output of an instance, with timestamps at the beginnings of its lines. */
export interface Frame {
  readonly stream: LogLine['stream'];
  readonly payload: Buffer;
}

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

  /** What is left when the stream has ended: a last line without a line break. */
  end(): LogLine[] {
    return [...this.#close('stdout'), ...this.#close('stderr')];
  }

  #add(stream: LogLine['stream'], entry: Buffer): void {
    const { time, text } = splitTimestamp(entry);
    const open = this.#open.get(stream) ?? { timestamp: this.#toTimestamp(time), parts: [], length: 0 };
    this.#open.set(stream, open);
    // One byte over the limit is kept: that is how `#close` knows.
    const room = longestLine + 1 - open.length;
    if (room <= 0) return;
    open.parts.push(text.subarray(0, room));
    open.length += Math.min(text.length, room);
  }

  /**
   * Nine digits and UTC always, so that timestamps compare as text. Podman 4.3 tells whole seconds only: there the digits count
   * the lines of the second. Reading again from the second's start counts the same, so they are a place to resume.
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

/** What is kept of a line with its timestamp, which has at most 40 bytes: more than is shown of it, so that the cut is marked. */
const heldOfLine = longestLine + 64;

/**
 * Makes lines of a log that comes in pieces of any size, as the body of an answer does: in contrast to frames, pieces end anywhere, in
 * timestamps and characters too. Lines without a timestamp are left out: they are what nodes say of the log, and no place to go on from.
 */
export class LogReader {
  readonly #lines = new LineAssembler();
  readonly #stream: LogLine['stream'];
  #parts: Buffer[] = [];
  #held = 0;

  constructor(stream: LogLine['stream']) {
    this.#stream = stream;
  }

  /** Bytes of the line that is not whole yet. */
  get held(): number {
    return this.#held;
  }

  push(chunk: Buffer): LogLine[] {
    const lines: LogLine[] = [];
    let rest = chunk;
    for (let end = rest.indexOf(0x0a); end !== -1; end = rest.indexOf(0x0a)) {
      this.#hold(rest.subarray(0, end));
      lines.push(...this.#tell());
      rest = rest.subarray(end + 1);
    }
    this.#hold(rest);
    return lines;
  }

  /** What is left when the log has ended whole: a last line without a line break. */
  end(): LogLine[] {
    return this.#held === 0 ? [] : this.#tell();
  }

  // A line without an end must not fill the memory of this process: `LineAssembler` cuts what is longer than it shows.
  #hold(piece: Buffer): void {
    const held = piece.subarray(0, Math.max(heldOfLine - this.#held, 0));
    if (held.length === 0) return;
    this.#parts.push(held);
    this.#held += held.length;
  }

  #tell(): LogLine[] {
    const payload = Buffer.concat([...this.#parts, lineBreak]);
    this.#parts = [];
    this.#held = 0;
    return this.#lines.push({ stream: this.#stream, payload }).filter(({ timestamp }) => timestamp !== '');
  }
}

const lineBreak = Buffer.from('\n');

// Not in the middle of a character: bytes 10xxxxxx continue one.
function cut(bytes: Buffer): string {
  let end = longestLine;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString('utf8');
}

const timestampPattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?/;

interface Time {
  /** ISO 8601 in UTC, without zone. */
  readonly second: string;
  /** Digits, or '' where the engine gives none. */
  readonly fraction: string;
}

function splitTimestamp(entry: Buffer): { readonly time: Time | null; readonly text: Buffer } {
  const match = timestampPattern.exec(entry.subarray(0, 40).toString('latin1'));
  if (!match) return { time: null, text: entry };
  const [whole, local = '', fraction = '', zone = 'Z'] = match;
  const second = zone === 'Z' || zone === '+00:00' ? local : new Date(`${local}${zone}`).toISOString().slice(0, 19);
  return { time: { second, fraction }, text: entry.subarray(whole.length) };
}

/** A timestamp of ours as engines take it in `since`: the start of its second, as the lines of a second are counted from there. */
export function toSince(timestamp: string): string {
  return String(Math.floor(Date.parse(timestamp) / 1000));
}
