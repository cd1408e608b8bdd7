import type { Redactor } from '@davit/base';
import type { Database } from '@davit/db';
import type { FailureRecord } from '../model.ts';
import { insertDeploymentLog } from '../store/logs.ts';

interface Line {
  readonly service_id: string | null;
  readonly step: string;
  readonly level: 'INFO' | 'WARNING' | 'ERROR';
  readonly message: string;
  readonly error: FailureRecord | null;
  readonly at: string;
}

interface LineOptions {
  readonly serviceId?: string;
  readonly level?: Line['level'];
  readonly error?: FailureRecord;
}

const flushAfterMilliseconds = 100;
const flushAtLines = 200;
const longestLine = 16_384;
/*
 * Maximum log size of one step of one service, the limit of BuildKit for a build step. Without it, a command that
 * prints without end (`yes` prints gigabytes in a minute) would fill the memory of the worker, then that of the next
 * worker, and the database. Output beyond the limit is not even held in memory.
 */
const maxStepBytes = 2 * 1024 * 1024;
// A row takes about 200 bytes, however short its line is.
const maxStepLines = 20_000;

interface StepSize {
  bytes: number;
  lines: number;
  isCut: boolean;
}

/**
 * Collects lines of one deployment and writes them in batches, redacted. A crash loses at most the last tenth of a
 * second of a build's output. The last lines of a step are flushed before the step is recorded.
 */
export class DeploymentLog {
  readonly #database: Database;
  readonly #deploymentId: string;
  #redact: Redactor;
  #lines: Line[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** Size of the log by service and step. */
  readonly #sizes = new Map<string, StepSize>();

  constructor(database: Database, deploymentId: string, redact: Redactor) {
    this.#database = database;
    this.#deploymentId = deploymentId;
    this.#redact = redact;
  }

  set redact(redact: Redactor) {
    this.#redact = redact;
  }

  /** Adds a line. Once a step has exceeded its limit, only its warnings and errors are kept, which are Davit's own. */
  add(step: string, message: string, options: LineOptions = {}): void {
    if ((options.level ?? 'INFO') !== 'INFO') return this.#push(step, message, options);
    const key = `${options.serviceId ?? ''} ${step}`;
    const size = this.#sizes.get(key) ?? { bytes: 0, lines: 0, isCut: false };
    this.#sizes.set(key, size);
    if (size.isCut) return;
    size.bytes += Math.min(Buffer.byteLength(message), longestLine);
    size.lines += 1;
    size.isCut = size.bytes > maxStepBytes || size.lines > maxStepLines;
    if (!size.isCut) return this.#push(step, message, options);
    const most = `${maxStepBytes / 1024 / 1024} MiB or ${maxStepLines} lines`;
    this.#push(step, `The output of ${step} exceeds ${most}: the rest is not stored.`, { ...options, level: 'WARNING' });
  }

  #push(step: string, message: string, options: LineOptions): void {
    // PostgreSQL cannot store NUL. Control sequences of terminals are kept because clients show colours.
    const text = this.#redact(message).replaceAll('\0', '').slice(0, longestLine);
    this.#lines.push({
      service_id: options.serviceId ?? null,
      step,
      level: options.level ?? 'INFO',
      message: text,
      error: options.error ?? null,
      at: new Date().toISOString(),
    });
    if (this.#lines.length >= flushAtLines) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), flushAfterMilliseconds);
  }

  /**
   * Resolves once everything added so far is stored. If the database is unreachable, lines are lost but the deployment
   * continues.
   */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#lines;
    if (lines.length === 0) return this.#writing;
    this.#lines = [];
    this.#writing = this.#store(lines, this.#writing);
    return this.#writing;
  }

  /**
   * Returns the lines that are not stored yet, as JSON, for a statement that stores them with the end of a step.
   * Resolves once all earlier lines are stored.
   */
  async take(): Promise<string> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#lines;
    this.#lines = [];
    await this.#writing;
    return JSON.stringify(lines);
  }

  // Batches are stored in the order of the calls: each waits for the one before.
  async #store(lines: readonly Line[], former: Promise<void>): Promise<void> {
    await former;
    try {
      await this.#database.run(insertDeploymentLog, [this.#deploymentId, JSON.stringify(lines)]);
    } catch {
      // The journal's own writes report the outage and decide how the deployment continues.
    }
  }

  /** Returns the failure with all of its texts redacted. */
  redacted(failure: FailureRecord): FailureRecord {
    const clean = (text: string): string => this.#redact(text).replaceAll('\0', '');
    const { lines, exit, probe, listening, original } = failure.evidence;
    return {
      code: failure.code,
      message: clean(failure.message),
      hint: clean(failure.hint),
      evidence: {
        ...(lines === undefined ? {} : { lines: lines.map(clean) }),
        ...(exit === undefined ? {} : { exit }),
        ...(probe === undefined ? {} : { probe: probe.map(clean) }),
        ...(listening === undefined ? {} : { listening }),
        ...(original === undefined ? {} : { original: clean(original) }),
      },
    };
  }
}
