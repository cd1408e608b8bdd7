import { pause } from '@davit/base';
import type { Instance } from '@davit/drivers';
import type { ReleaseConfig } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import * as store from '../store/logs.ts';
import { secretIds } from '../workload/workload.ts';
import { LogBatch } from './log-batch.ts';
import { LogRate } from './log-rate.ts';

const defaultRetryMilliseconds = 1_000;
// The output of a process ends within moments of its exit, unless its node is lost. If other pods still print for the
// same instance (see `LogLine.origin`), the next reading resumes their output.
const defaultHangMilliseconds = 5_000;
const defaultNoteMilliseconds = 24 * 3_600_000;
// Far more instances than a cluster has at a time. The output of a forgotten instance is only requested once more.
const maxRemembered = 20_000;

export interface LogCollectorTimes {
  /** Milliseconds between a failure and the next reading of the instance. Default: 1 s. */
  readonly retryMilliseconds?: number;
  /**
   * Milliseconds for which the reading of a former start may continue after the instance was seen with a new start
   * time. Default: 5 s.
   */
  readonly hangMilliseconds?: number;
  /**
   * Milliseconds between updates that mark an instance as followed, so that its position is not deleted. Default: 1
   * day.
   */
  readonly noteMilliseconds?: number;
  /** Milliseconds between two lines that report how many lines of an instance were left out. Default: 10 s. */
  readonly reportMilliseconds?: number | undefined;
}

/** A reading of the output of an instance that is under way. */
interface Reading {
  readonly service: string;
  /** Start time of the process whose output is read; null if the process had not started. */
  readonly life: string | null;
  readonly end: AbortController;
  readonly done: Promise<void>;
  /** Timer that ends the reading because the instance was started again. */
  hang?: NodeJS.Timeout;
}

/**
 * Follows the output of every instance and stores it, redacted, so that it is still available when the instance is
 * gone.
 *
 * The database keeps the position of each instance. After a restart of Davit, or in another process, following resumes
 * after the last stored line, even if that line was deleted since. Only one process may follow an instance at a time,
 * because each would store every line.
 */
export class LogCollector {
  readonly #parts: EngineParts;
  readonly #driver: string;
  readonly #retryMilliseconds: number;
  readonly #hangMilliseconds: number;
  readonly #noteMilliseconds: number;
  readonly #reportMilliseconds: number | undefined;
  readonly #stop = new AbortController();
  readonly #following = new Map<string, Reading>();
  /** Start time of the last run whose output is completely stored, by instance. */
  readonly #whole = new Map<string, string>();
  /** The rates of services whose output is being read. */
  readonly #rates = new Map<string, LogRate>();

  constructor(parts: EngineParts, driver: string, times: LogCollectorTimes = {}) {
    this.#parts = parts;
    this.#driver = driver;
    this.#retryMilliseconds = times.retryMilliseconds ?? defaultRetryMilliseconds;
    this.#hangMilliseconds = times.hangMilliseconds ?? defaultHangMilliseconds;
    this.#noteMilliseconds = times.noteMilliseconds ?? defaultNoteMilliseconds;
    this.#reportMilliseconds = times.reportMilliseconds;
  }

  /**
   * Follows an instance that was started, unless it is already followed, or has exited and its output is stored. Call
   * this whenever the instance is observed: the connection may have dropped, or the instance may have been restarted.
   *
   * @param config configuration of the instance's release, which determines what is redacted.
   * @param term aborted when this process may no longer follow. Lines that are not stored by then are left to the next
   * process.
   */
  follow(instance: Instance, config: ReleaseConfig, term?: AbortSignal): void {
    const life = instance.startedAt;
    if (life === null || this.#stop.signal.aborted || this.#whole.get(instance.id) === life) return;
    void this.#reading(instance, config, term).done;
  }

  /**
   * Follows an instance to its end. Resolves when it has exited and its lines are stored, when the collector is
   * stopped, or when the reading is interrupted. Never rejects.
   */
  followToEnd(instance: Instance, config: ReleaseConfig): Promise<void> {
    if (this.#stop.signal.aborted) return this.#following.get(instance.id)?.done ?? Promise.resolve();
    return this.#reading(instance, config).done;
  }

  /** Resolves when the current reading of an instance has ended and its lines are stored. Never rejects. */
  async stored(instanceId: string): Promise<void> {
    await this.#following.get(instanceId)?.done;
  }

  /** Returns whether the output of an instance is being read. */
  isReading(instanceId: string): boolean {
    return this.#following.has(instanceId);
  }

  /** Ends all readings. Lines that were read are stored. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#following.values()].map(({ done }) => done));
  }

  /**
   * Returns the current reading of an instance, or begins one. If the current one belongs to a former start of the
   * instance, it is soon replaced.
   */
  #reading(instance: Instance, config: ReleaseConfig, term?: AbortSignal): Reading {
    const under = this.#following.get(instance.id);
    if (under === undefined) return this.#begin(instance, config, term);
    if (under.life !== null && under.life !== instance.startedAt)
      under.hang ??= setTimeout(() => void this.#beginAnew(under, instance, config, term), this.#hangMilliseconds);
    return under;
  }

  /**
   * Ends a reading and immediately begins the next one. Pods that printed for this instance may be gone by the next
   * look.
   */
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

  async #followToEnd({ instance, config, term, end }: FollowedInstance): Promise<void> {
    const { database, log } = this.#parts;
    // The first line that cannot be stored ends the reading. The next reading begins after the last stored line.
    const broken = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, broken.signal, end, ...(term === undefined ? [] : [term])]);
    try {
      const redactor = this.#parts.redactors.open(secretIds(this.#parts.kinds, config));
      await redactor();
      const { at, origins } = await database.one(store.logPosition, [instance.id]);
      const batch = new LogBatch(this.#parts, {
        instance,
        redactor,
        rate: this.#rate(instance.service),
        signal,
        term,
        onFailure: () => broken.abort(),
        reportMilliseconds: this.#reportMilliseconds,
      });
      const { cluster } = driversOf(this.#parts, this.#driver);
      // A failed update does no harm, because the updates of the following days replace it.
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
      // The engine or the database is unreachable. The next look of the keeper begins again. The pause prevents a busy
      // loop.
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
    if (this.#whole.size > maxRemembered && oldest !== undefined) this.#whole.delete(oldest);
  }
}

interface FollowedInstance {
  readonly instance: Instance;
  readonly config: ReleaseConfig;
  readonly term: AbortSignal | undefined;
  readonly end: AbortSignal;
}
