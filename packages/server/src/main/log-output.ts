import { writeSync } from 'node:fs';

/** Writes like `fs.writeSync`; tests may replace it. */
export type Write = (descriptor: number, bytes: Uint8Array) => number;

const maxPendingBytes = 1024 * 1024;
const retryMilliseconds = 100;

/**
 * Writes log lines to a file descriptor, which may be a file on a full disk or a pipe that nobody reads.
 * - A line that cannot be written is dropped and counted. It never ends the process.
 * - Lines for a full pipe are buffered, up to 1 MiB.
 * - After an interruption, the log reports how many lines are missing.
 */
export class LogOutput {
  readonly #descriptor: number;
  readonly #write: Write;
  readonly #pending: Buffer[] = [];
  #pendingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #dropped = 0;
  /** Number of dropped lines that the log itself has reported. */
  #reported = 0;
  #failure: string | null = null;
  /** Whether the last line was written only in part. */
  #isTorn = false;

  constructor(descriptor: number, write: Write = writeSync) {
    this.#descriptor = descriptor;
    this.#write = write;
  }

  /** Lines dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Error code of the latest dropped line; null if the latest write succeeded. */
  get failure(): string | null {
    return this.#failure;
  }

  /** Writes one whole line; called by pino. Never throws. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#pending.length > 0) this.#keep(bytes);
    else this.#put(bytes, true);
  }

  /** Retries to write the lines that a full pipe did not accept. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (;;) {
      const bytes = this.#pending.shift();
      if (bytes === undefined) return;
      this.#pendingBytes -= bytes.length;
      const before = this.#pending.length;
      this.#put(bytes, false);
      if (this.#pending.length > before) return;
    }
  }

  /** Writes a line. `reports`: whether to write the number of missing lines before it. */
  #put(line: Buffer, reports: boolean): void {
    const isLate = reports && this.#dropped > this.#reported;
    let rest = Buffer.concat([Buffer.from(this.#isTorn ? '\n' : ''), isLate ? this.#gap() : Buffer.alloc(0), line]);
    try {
      while (rest.length > 0) {
        rest = rest.subarray(this.#write(this.#descriptor, rest));
        this.#isTorn = rest.length > 0;
      }
      this.#failure = null;
      if (isLate) this.#reported = this.#dropped;
    } catch (error) {
      if (codeOf(error) === 'EAGAIN') {
        if (isLate) this.#reported = this.#dropped;
        return this.#keepFirst(rest);
      }
      this.#failure = codeOf(error);
      this.#dropped += 1;
    }
  }

  #gap(): Buffer {
    const count = this.#dropped - this.#reported;
    const msg = `${count} lines of this log could not be written (${this.#failure ?? 'the reader was too slow'})`;
    return Buffer.from(`${JSON.stringify({ level: 40, time: Date.now(), dropped: count, msg })}\n`);
  }

  #keep(line: Buffer): void {
    if (this.#pendingBytes + line.length > maxPendingBytes) this.#dropped += 1;
    else {
      this.#pending.push(line);
      this.#pendingBytes += line.length;
    }
  }

  /** Buffers the rest of a line, including the report of missing lines before it. */
  #keepFirst(rest: Buffer): void {
    this.#isTorn = false;
    this.#pending.unshift(rest);
    this.#pendingBytes += rest.length;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.flush();
    }, retryMilliseconds).unref();
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
