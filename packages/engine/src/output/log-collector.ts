import type { Redactor } from '@davit/base';
import type { Instance } from '@davit/drivers';
import type { ReleaseConfig } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { pause } from '../shared/pause.ts';
import { redactorOrBlind } from '../shared/readable.ts';
import * as store from '../store/logs.ts';
import { secretIds } from '../workload/workload.ts';
import { LogBatch } from './log-batch.ts';
import { LogRate } from './log-rate.ts';

const defaultRetryMilliseconds = 1_000;
// The output of a process ends within moments of the process, unless its node is lost. Where others print as the same instance still (see
// `LogLine.origin`), the next reading goes on with them.
const defaultHangMilliseconds = 5_000;
const defaultNoteMilliseconds = 24 * 3_600_000;
// Far more than a cluster has at a time. What is forgotten is only asked for once more.
const mostRemembered = 20_000;

export interface LogCollectorTimes {
  /** Between a failure and the next reading of that instance. Default: 1 s. */
  readonly retryMilliseconds?: number;
  /** How long the output of a life may go on after the instance was seen to live anew. Default: 5 s. */
  readonly hangMilliseconds?: number;
  /** Between notes that an instance is followed still, so that nobody forgets where. Default: 1 day. */
  readonly noteMilliseconds?: number;
  /** Between two lines that say how many were left out of the output of an instance. Default: 10 s. */
  readonly tellMilliseconds?: number | undefined;
}

/** A reading of the output of an instance that is under way. */
interface Reading {
  readonly service: string;
  /** When the process was started whose output is read; null: it had not been. */
  readonly life: string | null;
  readonly end: AbortController;
  readonly done: Promise<void>;
  /** Ends it, as the instance lives anew. */
  hang?: NodeJS.Timeout;
}

/**
 * Follows the output of every instance and stores it, redacted, so that it is there after the instance is gone. Where it was
 * when Davit stopped is in the database: following goes on after the last line stored, also when that was removed since. So does whoever
 * follows the same instance next; of several at the same time each would store every line.
 */
export class LogCollector {
  readonly #parts: EngineParts;
  readonly #driver: string;
  readonly #retryMilliseconds: number;
  readonly #hangMilliseconds: number;
  readonly #noteMilliseconds: number;
  readonly #tellMilliseconds: number | undefined;
  readonly #stop = new AbortController();
  readonly #following = new Map<string, Reading>();
  /** Lives that have ended and whose output is stored, by instance. */
  readonly #whole = new Map<string, string>();
  /** Of services whose output is being read. */
  readonly #rates = new Map<string, LogRate>();
  readonly #redactors = new Map<string, Promise<Redactor>>();

  constructor(parts: EngineParts, driver: string, times: LogCollectorTimes = {}) {
    this.#parts = parts;
    this.#driver = driver;
    this.#retryMilliseconds = times.retryMilliseconds ?? defaultRetryMilliseconds;
    this.#hangMilliseconds = times.hangMilliseconds ?? defaultHangMilliseconds;
    this.#noteMilliseconds = times.noteMilliseconds ?? defaultNoteMilliseconds;
    this.#tellMilliseconds = times.tellMilliseconds;
  }

  /**
   * Follows an instance that was started, unless it is followed or has ended and is stored. To be called whenever it is seen: a
   * connection may have broken meanwhile, or the instance may have been started again. `config`: the release it runs, for what is to
   * be redacted. `term`: as long as this process is the one that may; what was read and not stored when it ends is left to the next.
   */
  follow(instance: Instance, config: ReleaseConfig, term?: AbortSignal): void {
    const life = instance.startedAt;
    if (life === null || this.#stop.signal.aborted || this.#whole.get(instance.id) === life) return;
    void this.#reading(instance, config, term).done;
  }

  /** Follows it; resolves when the instance has ended and its lines are stored, or when this is stopped or was cut off. Never rejects. */
  followToEnd(instance: Instance, config: ReleaseConfig): Promise<void> {
    if (this.#stop.signal.aborted) return this.#following.get(instance.id)?.done ?? Promise.resolve();
    return this.#reading(instance, config).done;
  }

  /** Resolves when the output of an instance, as far as it is being read, is stored to its end. Never rejects. */
  async stored(instanceId: string): Promise<void> {
    await this.#following.get(instanceId)?.done;
  }

  /** Whether the output of an instance is being read now. */
  isReading(instanceId: string): boolean {
    return this.#following.has(instanceId);
  }

  /** Ends all of it. What was read is stored. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#following.values()].map(({ done }) => done));
  }

  /** The one under way, or a new one. One that goes on, while the instance lives anew, soon gives way to another one. */
  #reading(instance: Instance, config: ReleaseConfig, term?: AbortSignal): Reading {
    const under = this.#following.get(instance.id);
    if (under === undefined) return this.#begin(instance, config, term);
    if (under.life !== null && under.life !== instance.startedAt)
      under.hang ??= setTimeout(() => void this.#beginAnew(under, instance, config, term), this.#hangMilliseconds);
    return under;
  }

  /** At once: what has printed as this instance until now may be gone when somebody looks again. */
  async #beginAnew(under: Reading, instance: Instance, config: ReleaseConfig, term?: AbortSignal): Promise<void> {
    under.end.abort();
    await under.done;
    if (!this.#stop.signal.aborted && !this.#following.has(instance.id)) this.#begin(instance, config, term);
  }

  #begin(instance: Instance, config: ReleaseConfig, term?: AbortSignal): Reading {
    const { id, startedAt: life, service } = instance;
    const end = new AbortController();
    const done = this.#followToEnd({ instance, config, term, end: end.signal }).finally(() => {
      clearTimeout(reading.hang);
      this.#following.delete(id);
      this.#forgetRate(service);
    });
    const reading: Reading = { service, life, end, done };
    this.#following.set(id, reading);
    return reading;
  }

  async #followToEnd({ instance, config, term, end }: Followed): Promise<void> {
    const { database, log } = this.#parts;
    // Of those that cannot be stored the first ends the reading: the next one begins after the last that could.
    const broken = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, broken.signal, end, ...(term === undefined ? [] : [term])]);
    try {
      const redact = await this.#redactor(instance.release, config);
      const { at, origins } = await database.one(store.logPosition, [instance.id]);
      const batch = new LogBatch(this.#parts, {
        instance,
        redact,
        rate: this.#rate(instance.service),
        signal,
        term,
        onFailure: () => broken.abort(),
        tellMilliseconds: this.#tellMilliseconds,
      });
      const { cluster } = driversOf(this.#parts, this.#driver);
      // One that fails is made up for by those of the days after it.
      const note = (): void => void database.one(store.logPosition, [instance.id]).catch(() => undefined);
      const noting = setInterval(note, this.#noteMilliseconds);
      try {
        await cluster.followLogs(instance.id, { at, origins: origins ?? {} }, (line) => batch.add(line), signal);
      } finally {
        clearInterval(noting);
        await batch.close();
      }
      if (!signal.aborted && instance.state !== 'RUNNING') this.#remember(instance);
    } catch (error) {
      if (this.#stop.signal.aborted || term?.aborted === true) return;
      // Engine or database are away; the keeper's next look begins again. Not at once, so that it cannot spin.
      log.warn({ err: error, instance: instance.name }, 'could not follow the output of an instance');
      await pause(this.#retryMilliseconds, this.#stop.signal);
    }
  }

  #rate(service: string): LogRate {
    const rate = this.#rates.get(service) ?? new LogRate(this.#parts.settings.logLinesPerSecond, performance.now());
    this.#rates.set(service, rate);
    return rate;
  }

  #forgetRate(service: string): void {
    const isRead = [...this.#following.values()].some((reading) => reading.service === service);
    if (!isRead) this.#rates.delete(service);
  }

  #remember({ id, startedAt }: Instance): void {
    if (startedAt === null) return;
    this.#whole.delete(id);
    this.#whole.set(id, startedAt);
    const oldest = this.#whole.keys().next().value;
    if (this.#whole.size > mostRemembered && oldest !== undefined) this.#whole.delete(oldest);
  }

  #redactor(release: string, config: ReleaseConfig): Promise<Redactor> {
    const known = this.#redactors.get(release);
    if (known !== undefined) return known;
    const made = this.#parts.hooks.secrets(secretIds(config)).then((values) => redactorOrBlind(values.values()));
    made.catch(() => this.#redactors.delete(release));
    this.#redactors.set(release, made);
    // Releases come and go; the ones in use are few.
    const oldest = this.#redactors.keys().next().value;
    if (this.#redactors.size > 500 && oldest !== undefined) this.#redactors.delete(oldest);
    return made;
  }
}

interface Followed {
  readonly instance: Instance;
  readonly config: ReleaseConfig;
  readonly term: AbortSignal | undefined;
  readonly end: AbortSignal;
}
