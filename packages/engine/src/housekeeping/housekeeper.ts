import { acquireSessionLock } from '@davit/db';
import type { EngineParts } from '../parts.ts';
import { trimDeploymentLogs, trimServiceLogs } from '../store/logs.ts';
import type { ImageParts } from './built-images.ts';
import { collectAll, diskWarning } from './images.ts';

const everyMilliseconds = 10 * 60_000;
const lockName = 'housekeeper';

/** Keeps stored logs and the images of engines within their bounds. Of several processes one does it at a time. */
export class Housekeeper {
  readonly #parts: ImageParts & Pick<EngineParts, 'connectionString'>;
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();

  constructor(parts: ImageParts & Pick<EngineParts, 'connectionString'>) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#working = this.look();
    }, everyMilliseconds);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stop.abort();
    await this.#working;
  }

  /** Does all of it once. Never fails: what did not work is tried again at the next look. */
  async look(): Promise<void> {
    const { connectionString, drivers, log } = this.#parts;
    try {
      const lock = await acquireSessionLock(connectionString, lockName);
      if (lock === null) return;
      try {
        await this.#trim();
        await Promise.all(Object.keys(drivers).map((driver) => this.#collect(driver)));
      } finally {
        await lock.release();
      }
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      log.warn({ err: error }, 'old log lines and images could not be removed; the next attempt is in ten minutes');
    }
  }

  async #trim(): Promise<void> {
    const { database, settings } = this.#parts;
    await database.run(trimServiceLogs, [settings.logLinesPerService, settings.logRetentionDays]);
    await database.run(trimDeploymentLogs, [settings.logRetentionDays]);
  }

  /** Of one cluster. What fails there is no matter of the others. */
  async #collect(driver: string): Promise<void> {
    const { drivers, settings, log } = this.#parts;
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(everyMilliseconds)]);
    try {
      await collectAll(this.#parts, driver, { signal, log: (line) => log.info({ driver }, line) });
      const space = (await drivers[driver]?.imageStore?.space(signal)) ?? null;
      const warning = space === null ? null : diskWarning(space, settings.leastFreeMiB ?? 0);
      if (warning !== null) log.warn({ driver }, warning);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      log.warn({ err: error, driver }, 'old images of a cluster could not be removed; the next attempt is in ten minutes');
    }
  }
}
