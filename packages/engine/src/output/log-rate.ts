/** Seconds for which a service may print at any speed before its rate applies. */
const burstSeconds = 10;
const bytesPerLine = 1024;

/**
 * Limits how much output of a service is kept: a number of lines per second, where long lines count by their KiB, with
 * a burst of ten seconds' worth. All instances of a service share one rate, so that no service uses the capacity of
 * another one. The caller passes the time: `now` is in milliseconds.
 */
export class LogRate {
  readonly #linesPerSecond: number;
  #left: number;
  #at: number;

  /** @param linesPerSecond 0 means no limit. */
  constructor(linesPerSecond: number, now: number) {
    this.#linesPerSecond = linesPerSecond;
    this.#left = linesPerSecond * burstSeconds;
    this.#at = now;
  }

  /** Returns whether a line of this size is kept. A kept line is counted. */
  takes(bytes: number, now: number): boolean {
    if (this.#linesPerSecond === 0) return true;
    const most = this.#linesPerSecond * burstSeconds;
    this.#left = Math.min(most, this.#left + ((now - this.#at) / 1000) * this.#linesPerSecond);
    this.#at = now;
    const cost = Math.max(1, bytes / bytesPerLine);
    if (this.#left < cost) return false;
    this.#left -= cost;
    return true;
  }
}
