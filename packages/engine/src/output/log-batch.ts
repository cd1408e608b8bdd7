import { pause } from '@davit/base';
import type { Redactor } from '@davit/base';
import type { Instance, LogLine } from '@davit/drivers';
import type { EngineParts } from '../shared/parts.ts';
import * as store from '../store/logs.ts';
import type { LogRate } from './log-rate.ts';

const flushAfterMilliseconds = 150;
const flushAtLines = 500;
/** Number of lines waiting for the database above which the reading of their instance pauses. */
const maxWaiting = 2_000;
/**
 * Bytes of left-out lines that are read from an instance in each turn. Reading them costs time of the process that
 * serves everybody.
 */
const leftOutBytesInTurn = 512 * 1024;
const turnMilliseconds = 250;
/** Milliseconds between two lines that report how many lines were left out. */
const defaultReportMilliseconds = 10_000;

export interface LogBatchInput {
  readonly instance: Instance;
  /** Returns the redactor of the instance's release, or a promise while it is built. */
  readonly redactor: () => Redactor | Promise<Redactor>;
  /** Rate of the service, shared by its instances. */
  readonly rate: LogRate;
  /** Ends the reading and its pauses. */
  readonly signal: AbortSignal;
  /** No line is stored after this signal is aborted. */
  readonly term: AbortSignal | undefined;
  /** Called when lines could not be redacted or stored. No later lines will be stored. */
  readonly onFailure: () => void;
  /** Milliseconds. Default: 10 s. */
  readonly reportMilliseconds?: number | undefined;
}

interface StoredLine {
  readonly stream: string;
  readonly message: string;
  readonly source_at: string;
  readonly origin?: string | undefined;
}

/**
 * Stores the lines of one reading in order and without gaps, except for lines that the database rejects or that exceed
 * the rate of the service. An extra line reports how many lines were left out.
 */
export class LogBatch {
  readonly #parts: EngineParts;
  readonly #input: LogBatchInput;
  #lines: StoredLine[] = [];
  /** Number of lines that are not stored yet. */
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** The lines whose redactor is built meanwhile. */
  #redacting: Promise<void> | null = null;
  #failure: { readonly error: unknown } | null = null;
  #leftOut = 0;
  #leftOutBytes = 0;
  #inTurn = 0;
  #latest: LogLine | null = null;
  #reportTimer: NodeJS.Timeout | undefined;

  constructor(parts: EngineParts, input: LogBatchInput) {
    this.#parts = parts;
    this.#input = input;
  }

  /**
   * Adds a line. If this returns a promise, the caller must not read on until it resolves. The promise never rejects.
   */
  add(line: LogLine): Promise<void> | undefined {
    if (this.#failure !== null) return undefined;
    if (!this.#input.rate.takes(line.text.length, performance.now())) return this.#leaveOut(line);
    const redact = this.#input.redactor();
    if (typeof redact === 'function' && this.#redacting === null) return this.#take(line, redact);
    const former = this.#redacting;
    const taken = this.#takeLater(line, redact, former).finally(() => {
      if (this.#redacting === taken) this.#redacting = null;
    });
    this.#redacting = taken;
    return taken;
  }

  #take(line: LogLine, redact: Redactor): Promise<void> | undefined {
    this.#latest = line;
    this.#push({ ...line, text: redact(line.text).replaceAll('\0', '').toWellFormed() });
    return this.#waiting > maxWaiting ? this.#writing : undefined;
  }

  async #takeLater(line: LogLine, redact: Redactor | Promise<Redactor>, former: Promise<void> | null): Promise<void> {
    try {
      const [made] = await Promise.all([redact, former]);
      if (this.#failure === null) await this.#take(line, made);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Stores the remaining lines. Throws the error with which earlier lines failed. */
  async close(): Promise<void> {
    await this.#redacting;
    this.#reportLeftOut();
    this.#flush();
    await this.#writing;
    if (this.#failure !== null) throw this.#failure.error;
  }

  #push({ stream, text, timestamp, origin }: LogLine): void {
    this.#lines.push({ stream, message: text, source_at: timestamp, origin });
    this.#waiting += 1;
    if (this.#lines.length >= flushAtLines) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), flushAfterMilliseconds);
  }

  #leaveOut(line: LogLine): Promise<void> | undefined {
    this.#latest = line;
    this.#leftOut += 1;
    this.#leftOutBytes += line.text.length;
    this.#reportTimer ??= setTimeout(() => this.#reportLeftOut(), this.#input.reportMilliseconds ?? defaultReportMilliseconds);
    this.#inTurn += line.text.length + 1;
    if (this.#inTurn < leftOutBytesInTurn) return undefined;
    this.#inTurn = 0;
    return pause(turnMilliseconds, this.#input.signal);
  }

  /**
   * Reports the left-out lines, with the time of the latest line, so that the next reading does not count the same
   * lines again.
   */
  #reportLeftOut(): void {
    clearTimeout(this.#reportTimer);
    this.#reportTimer = undefined;
    if (this.#leftOut === 0 || this.#latest === null) return;
    const perSecond = this.#parts.settings.logLinesPerSecond;
    const text =
      `Davit left out ${this.#leftOut} lines (${Math.ceil(this.#leftOutBytes / 1024)} KiB) of this instance: the service prints more than ` +
      `${perSecond} lines or KiB a second (DAVIT_LOG_LINES_PER_SECOND). Reduce its output; the container engine may have discarded more.`;
    this.#leftOut = 0;
    this.#leftOutBytes = 0;
    this.#push({ ...this.#latest, stream: 'stderr', text });
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lines.length === 0) return;
    const lines = this.#lines;
    this.#lines = [];
    this.#writing = this.#store(lines, this.#writing).finally(() => (this.#waiting -= lines.length));
  }

  async #store(lines: readonly StoredLine[], former: Promise<void>): Promise<void> {
    await former;
    const { instance, term } = this.#input;
    if (this.#failure !== null || term?.aborted === true) return;
    const { service, release, id, name } = instance;
    try {
      await this.#parts.database.run(store.insertServiceLog, [service, release, id, name, JSON.stringify(lines)]);
      this.#parts.archive.stored(service, lines.length);
    } catch (error) {
      if (isRefused(error)) {
        const details = { err: error, instance: name, lines: lines.length };
        this.#parts.log.warn(details, 'lines of an instance are left out because the database does not store them');
        return;
      }
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#input.onFailure();
  }
}

/**
 * Returns whether the database rejected the data itself, so that a retry would fail too. Classes of SQLSTATE;
 * PostgreSQL 18, appendix A.
 */
function isRefused(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && /^(?:22|23|54)...$/.test(error.code);
}
