const tryAgainMilliseconds = 60_000;
// Entries are retried long before this. Older entries belong to schedules that are no longer due.
const forgetAfterMilliseconds = 600_000;

/**
 * Schedules that are due but could not be advanced, by their release. A deployment gives the service another release,
 * which is tried at once. Between two attempts these schedules are skipped: a look reads the hundred schedules that
 * were due first, and stuck schedules must not fill all of these places.
 */
export class StuckSchedules {
  /** Time of the next attempt, by release. */
  readonly #againAt = new Map<string, number>();

  /** Returns the releases whose schedules are skipped now. */
  get releases(): string[] {
    const now = performance.now();
    for (const [release, at] of this.#againAt) if (now > at + forgetAfterMilliseconds) this.#againAt.delete(release);
    return [...this.#againAt].flatMap(([release, at]) => (at > now ? [release] : []));
  }

  /** Notes a stuck schedule. Returns whether it is a new one. */
  note(release: string): boolean {
    const isNew = !this.#againAt.has(release);
    this.#againAt.set(release, performance.now() + tryAgainMilliseconds);
    return isNew;
  }

  forget(release: string): void {
    this.#againAt.delete(release);
  }
}
