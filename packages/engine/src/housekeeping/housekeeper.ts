import { Loop } from '@davit/base';
import { Leadership } from '@davit/db';
import type { EngineParts } from '../shared/parts.ts';
import { forgetRunners } from '../store/journal.ts';
import { forgetLogOrigins, forgetLogPositions, trimDeploymentLogs, trimSegments, trimServiceLogs } from '../store/logs.ts';
import type { ImageParts } from './built-images.ts';
import { collectAll, diskWarning } from './images.ts';
import { trimInstanceEnds } from '../store/instance-ends.ts';
import { tidySources } from './kept-sources.ts';
import { sweepWorkFolder } from './work-folder.ts';

const everyMilliseconds = 10 * 60_000;
// Positions of instances that are followed are updated every day. A cluster, or Davit itself, may be down for weeks and
// then find its instances still there.
const positionDays = 30;
const runDays = 2;
const endDays = 7;

/**
 * Limits the stored logs, the list of runners, the images of engines, and the disk usage of this machine. Of several
 * processes only one at a time does so, except for the disk, which each process handles itself.
 */
export class Housekeeper {
  readonly #parts: ImageParts & Pick<EngineParts, 'connectionString' | 'archive'>;
  readonly #leadership: Leadership;
  readonly #loop: Loop;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(parts: ImageParts & Pick<EngineParts, 'connectionString' | 'archive'>) {
    this.#parts = parts;
    this.#leadership = new Leadership({ connectionString: parts.connectionString, name: 'housekeeper' });
    this.#loop = new Loop({
      look: () => this.#look(),
      everyMilliseconds,
      onError: (error) => {
        if (this.#loop.signal.aborted) return;
        const message = 'old log lines and images could not be compressed or removed; the next attempt is in ten minutes';
        parts.log.warn({ err: error }, message);
      },
    });
  }

  start(): void {
    this.#loop.start();
    // The previous process may have been killed.
    this.#sweeping = this.#sweep();
  }

  async stop(): Promise<void> {
    this.#leadership.leave();
    await this.#loop.stop();
    await this.#sweeping;
  }

  /** Does all of the work once. Never fails: failed work is retried at the next look. */
  look(): Promise<void> {
    return this.#loop.wake();
  }

  async #look(): Promise<void> {
    await this.#sweep();
    await this.#tidySources();
    try {
      const term = await this.#leadership.take();
      if (term === null) return;
      await this.#trim();
      await Promise.all(Object.keys(this.#parts.drivers).map((driver) => this.#collect(driver, term)));
    } finally {
      // Released, because otherwise a connection would stay idle for ten minutes.
      await this.#leadership.release();
    }
  }

  async #sweep(): Promise<void> {
    try {
      await sweepWorkFolder(this.#parts);
    } catch (error) {
      if (!this.#loop.signal.aborted)
        this.#parts.log.warn({ err: error }, 'files of ended deployments could not be removed from the disk');
    }
  }

  async #tidySources(): Promise<void> {
    try {
      await tidySources(this.#parts, this.#loop.signal);
    } catch (error) {
      if (!this.#loop.signal.aborted)
        this.#parts.log.warn({ err: error }, 'kept objects of git repositories could not be tidied');
    }
  }

  async #trim(): Promise<void> {
    const { database, settings, archive } = this.#parts;
    await database.run(trimServiceLogs, [settings.logRetentionDays]);
    await archive.moveAll();
    await database.run(trimSegments, [settings.logRetentionDays, settings.logMiBPerService * 1024 ** 2]);
    await database.run(forgetLogPositions, [positionDays]);
    await database.run(forgetLogOrigins, [positionDays, runDays]);
    await database.run(trimInstanceEnds, [endDays]);
    await database.run(trimDeploymentLogs, [settings.logRetentionDays]);
    await database.run(forgetRunners);
  }

  /** Removes the images of one cluster. A failure does not affect the other clusters. */
  async #collect(driver: string, term: AbortSignal): Promise<void> {
    const { drivers, settings, log } = this.#parts;
    const signal = AbortSignal.any([term, AbortSignal.timeout(everyMilliseconds)]);
    try {
      await collectAll(this.#parts, driver, { signal, log: (line) => log.info({ driver }, line) });
      const space = (await drivers[driver]?.imageStore?.space(signal)) ?? null;
      const warning = space === null ? null : diskWarning(space, settings.minFreeMiB ?? 0);
      if (warning !== null) log.warn({ driver }, warning);
    } catch (error) {
      if (term.aborted) return;
      log.warn({ err: error, driver }, 'old images of a cluster could not be removed; the next attempt is in ten minutes');
    }
  }
}
