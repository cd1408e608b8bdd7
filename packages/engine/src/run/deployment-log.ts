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
 * Of one step of one service, as much as BuildKit keeps of a build step. A command that prints without end (`yes` prints gigabytes in a
 * minute) would otherwise fill the memory of the worker, that of the next one, and the database: what is behind it is not even held.
 */
const mostStepBytes = 2 * 1024 * 1024;
// A row takes some 200 bytes however short its line is.
const mostStepLines = 20_000;

interface StepSize {
  bytes: number;
  lines: number;
  isCut: boolean;
}

/**
 * Collects lines of one deployment and writes them in batches, redacted. A crash loses at most the last tenth of a second of a
 * build's output; what a step says at its end is flushed before the step is recorded.
 */
export class DeploymentLog {
  readonly #database: Database;
  readonly #deploymentId: string;
  #redact: Redactor;
  #lines: Line[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** By service and step. */
  readonly #sizes = new Map<string, StepSize>();

  constructor(database: Database, deploymentId: string, redact: Redactor) {
    this.#database = database;
    this.#deploymentId = deploymentId;
    this.#redact = redact;
  }

  set redact(redact: Redactor) {
    this.#redact = redact;
  }

  /** Lines of a step that has printed too much are left out, but for warnings and errors, which are Davit's own. */
  add(step: string, message: string, options: LineOptions = {}): void {
    if ((options.level ?? 'INFO') !== 'INFO') return this.#push(step, message, options);
    const key = `${options.serviceId ?? ''} ${step}`;
    const size = this.#sizes.get(key) ?? { bytes: 0, lines: 0, isCut: false };
    this.#sizes.set(key, size);
    if (size.isCut) return;
    size.bytes += Math.min(Buffer.byteLength(message), longestLine);
    size.lines += 1;
    size.isCut = size.bytes > mostStepBytes || size.lines > mostStepLines;
    if (!size.isCut) return this.#push(step, message, options);
    const most = `${mostStepBytes / 1024 / 1024} MiB or ${mostStepLines} lines`;
    this.#push(step, `The output of ${step} is more than ${most}: the rest is left out here.`, { ...options, level: 'WARNING' });
  }

  #push(step: string, message: string, options: LineOptions): void {
    // PostgreSQL cannot hold NUL; terminals' control sequences stay, as clients show colours.
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

  /** Resolves once everything added so far is stored. A database that is away costs lines, not the deployment. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#lines;
    if (lines.length === 0) return this.#writing;
    this.#lines = [];
    this.#writing = this.#store(lines, this.#writing);
    return this.#writing;
  }

  // In the order of the calls: each waits for the one before.
  async #store(lines: readonly Line[], former: Promise<void>): Promise<void> {
    await former;
    try {
      await this.#database.run(insertDeploymentLog, [this.#deploymentId, JSON.stringify(lines)]);
    } catch {
      // The journal's own writes report the outage and decide what becomes of the deployment.
    }
  }

  /** The failure with every text in it redacted. */
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
