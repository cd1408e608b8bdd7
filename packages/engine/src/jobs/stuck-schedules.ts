const tryAgainMilliseconds = 60_000;
// It is tried again much earlier while it is there.
const forgetAfterMilliseconds = 600_000;

/**
 * Schedules that are due and could not be moved on, by the release that they are of: a deployment gives its service another one, which is
 * tried at once. Between two tries they are left out, as a look takes the hundred that were due first: these must not be all of them.
 */
export class StuckSchedules {
  /** When each is tried again. */
  readonly #againAt = new Map<string, number>();

  /** Those that are not to be tried now. */
  get releases(): string[] {
    const now = performance.now();
    for (const [release, at] of this.#againAt) if (now > at + forgetAfterMilliseconds) this.#againAt.delete(release);
    return [...this.#againAt].flatMap(([release, at]) => (at > now ? [release] : []));
  }

  /** Whether that was not known. */
  note(release: string): boolean {
    const isNew = !this.#againAt.has(release);
    this.#againAt.set(release, performance.now() + tryAgainMilliseconds);
    return isNew;
  }

  forget(release: string): void {
    this.#againAt.delete(release);
  }
}
