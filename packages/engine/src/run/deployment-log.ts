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

const flushAfterMilliseconds = 100;
const flushAtLines = 200;
const longestLine = 16_384;

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

  constructor(database: Database, deploymentId: string, redact: Redactor) {
    this.#database = database;
    this.#deploymentId = deploymentId;
    this.#redact = redact;
  }

  set redact(redact: Redactor) {
    this.#redact = redact;
  }

  add(step: string, message: string, options: { serviceId?: string; level?: Line['level']; error?: FailureRecord } = {}): void {
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
