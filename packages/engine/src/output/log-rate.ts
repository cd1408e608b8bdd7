/** How long a service may print at any speed before its rate counts. */
const burstSeconds = 10;
const bytesPerLine = 1024;

/**
 * How much of what a service prints is kept: so many lines a second, longer ones by their KiB, with a burst of ten seconds' worth.
 * One for all instances of a service, so that no service takes the room of another one. Knows no clock: `now` is in milliseconds.
 */
export class LogRate {
  readonly #linesPerSecond: number;
  #left: number;
  #at: number;

  /** `linesPerSecond`: 0 is without limit. */
  constructor(linesPerSecond: number, now: number) {
    this.#linesPerSecond = linesPerSecond;
    this.#left = linesPerSecond * burstSeconds;
    this.#at = now;
  }

  /** Whether a line of so many bytes is kept; if it is, it counts. */
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
