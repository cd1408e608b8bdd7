import type { EngineParts } from '../parts.ts';
import { trimDeploymentLogs, trimServiceLogs } from '../store/logs.ts';

const everyMilliseconds = 10 * 60_000;

/** Keeps stored logs within their bounds of lines and days. */
export class Housekeeper {
  readonly #parts: EngineParts;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();

  constructor(parts: EngineParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#working = this.#trim();
    }, everyMilliseconds);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#working;
  }

  async #trim(): Promise<void> {
    const { database, settings, log } = this.#parts;
    try {
      await database.run(trimServiceLogs, [settings.logLinesPerService, settings.logRetentionDays]);
      await database.run(trimDeploymentLogs, [settings.logRetentionDays]);
    } catch (error) {
      log.warn({ err: error }, 'old log lines could not be removed; the next attempt is in ten minutes');
    }
  }
}
