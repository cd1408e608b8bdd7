import { Cron } from 'croner';

/**
 * The schedule of a cron job: five fields (minute, hour, day of month, month, day of week) and the time zone in which
 * they apply.
 */
export interface CronSchedule {
  readonly expression: string;
  readonly timezone: string;
}

/**
 * Returns the first time after `after` at which the schedule is due; null if there is none. A time in the hour that a
 * clock change skips is due right after the change. A time in the hour that occurs twice is due once. Throws for
 * expressions that `cronFault` rejects.
 */
export function nextRun({ expression, timezone }: CronSchedule, after: Date): Date | null {
  return new Cron(expression, { timezone, mode: '5-part', paused: true }).nextRun(after);
}

const lookedAtRuns = 20;

/** Returns the shortest interval between the next runs, in seconds; Infinity if there are fewer than two. */
export function shortestPauseSeconds(schedule: CronSchedule, after: Date): number {
  let shortest = Infinity;
  let last = nextRun(schedule, after);
  for (let count = 1; last !== null && count < lookedAtRuns; count += 1) {
    const next = nextRun(schedule, last);
    if (next === null) break;
    shortest = Math.min(shortest, (next.getTime() - last.getTime()) / 1_000);
    last = next;
  }
  return shortest;
}

/** Returns the problem with an expression, in words; null if there is none. */
export function cronFault(expression: string): string | null {
  const fields = expression.trim().split(/\s+/);
  const form = 'must have five fields: minute, hour, day of month, month, day of week, as in 30 2 * * 1-5';
  if (expression.trim().startsWith('@')) return `${form}; names such as @daily are not accepted`;
  if (fields.length !== 5) return `${form}; it has ${fields.length}`;
  try {
    const next = nextRun({ expression, timezone: 'Etc/UTC' }, new Date());
    return next === null ? 'never matches any time' : null;
  } catch (error) {
    const words = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error);
    return `${form}; it cannot be parsed: ${words}`;
  }
}

/** Returns whether the machine knows a time zone of this name (IANA, such as Europe/Paris). */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '' && !/^[+-]/.test(name);
  } catch {
    return false;
  }
}
