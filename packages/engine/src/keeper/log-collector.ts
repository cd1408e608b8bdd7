import { redactor, type Redactor } from '@davit/base';
import type { Instance, LogLine } from '@davit/drivers';
import type { ReleaseConfig } from '../model.ts';
import { driversOf, type EngineParts } from '../parts.ts';
import * as store from '../store/logs.ts';
import { secretIds } from '../workload.ts';

const flushAfterMilliseconds = 150;
const flushAtLines = 500;
const retryAfterMilliseconds = 1_000;

/**
 * Follows the output of every instance and stores it, redacted, so that it is there after the instance is gone. Where it was
 * when Davit stopped is in the table itself: following goes on after the last line stored.
 */
export class LogCollector {
  readonly #parts: EngineParts;
  readonly #driver: string;
  readonly #stop = new AbortController();
  readonly #following = new Map<string, Promise<void>>();
  readonly #redactors = new Map<string, Promise<Redactor>>();

  constructor(parts: EngineParts, driver: string) {
    this.#parts = parts;
    this.#driver = driver;
  }

  /** Begins to follow an instance that is not followed yet. `config`: the release it runs, for what is to be redacted. */
  follow(instance: Instance, config: ReleaseConfig): void {
    void this.followToEnd(instance, config);
  }

  /** The same; resolves when the instance has ended and its lines are stored, or when this is stopped or was cut off. Never rejects. */
  followToEnd(instance: Instance, config: ReleaseConfig): Promise<void> {
    const under = this.#following.get(instance.id);
    if (under !== undefined || this.#stop.signal.aborted) return under ?? Promise.resolve();
    const done = this.#followToEnd(instance, config).finally(() => this.#following.delete(instance.id));
    this.#following.set(instance.id, done);
    return done;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#following.values());
  }

  async #followToEnd(instance: Instance, config: ReleaseConfig): Promise<void> {
    const { database, log } = this.#parts;
    try {
      const redact = await this.#redactor(instance.release, config);
      const last = await database.maybe(store.lastLogTime, [instance.id]);
      const batch = new LogBatch(this.#parts, instance, redact);
      const { cluster } = driversOf(this.#parts, this.#driver);
      try {
        await cluster.followLogs(instance.id, last?.source_at ?? null, (line) => batch.add(line), this.#stop.signal);
      } finally {
        await batch.close();
      }
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      // Engine or database are away; the keeper's next look begins again. Not at once, so that it cannot spin.
      log.warn({ err: error, instance: instance.name }, 'could not follow the output of an instance');
      await new Promise((resolve) => setTimeout(resolve, retryAfterMilliseconds));
    }
  }

  #redactor(release: string, config: ReleaseConfig): Promise<Redactor> {
    const known = this.#redactors.get(release);
    if (known !== undefined) return known;
    const made = this.#parts.hooks.secrets(secretIds(config)).then((values) => redactor(values.values()));
    made.catch(() => this.#redactors.delete(release));
    this.#redactors.set(release, made);
    // Releases come and go; the ones in use are few.
    const oldest = this.#redactors.keys().next().value;
    if (this.#redactors.size > 500 && oldest !== undefined) this.#redactors.delete(oldest);
    return made;
  }
}

class LogBatch {
  readonly #parts: EngineParts;
  readonly #instance: Instance;
  readonly #redact: Redactor;
  #lines: { stream: string; message: string; source_at: string }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: EngineParts, instance: Instance, redact: Redactor) {
    this.#parts = parts;
    this.#instance = instance;
    this.#redact = redact;
  }

  add(line: LogLine): void {
    this.#lines.push({
      stream: line.stream,
      message: this.#redact(line.text).replaceAll('\0', '').toWellFormed(),
      source_at: line.timestamp,
    });
    if (this.#lines.length >= flushAtLines) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), flushAfterMilliseconds);
  }

  async close(): Promise<void> {
    this.#flush();
    await this.#writing;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lines.length === 0) return;
    const lines = this.#lines;
    this.#lines = [];
    this.#writing = this.#store(lines, this.#writing);
  }

  async #store(lines: readonly object[], former: Promise<void>): Promise<void> {
    await former;
    const { service, release, id, name } = this.#instance;
    try {
      await this.#parts.database.run(store.insertServiceLog, [service, release, id, name, JSON.stringify(lines)]);
    } catch (error) {
      this.#parts.log.warn({ err: error, instance: name, lines: lines.length }, 'lines of an instance could not be stored');
    }
  }
}
