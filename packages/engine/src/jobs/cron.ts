import { Cron } from 'croner';

/** When a cron job runs: five fields (minute, hour, day of month, month, day of week) read in a time zone. */
export interface CronSchedule {
  readonly expression: string;
  readonly timezone: string;
}

/**
 * The first time after `after` at which the schedule is due; null: never again. In the hour that a clock change leaves out it runs
 * right after the change, in the hour that comes twice only once. Throws for what `cronFault` refuses.
 */
export function nextRun({ expression, timezone }: CronSchedule, after: Date): Date | null {
  return new Cron(expression, { timezone, mode: '5-part', paused: true }).nextRun(after);
}

const lookedAtRuns = 20;

/** What is between two of the next runs at least, in seconds; Infinity: there are not two. */
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

/** What is wrong with an expression, in words; null: nothing. */
export function cronFault(expression: string): string | null {
  const fields = expression.trim().split(/\s+/);
  const form = 'must have five fields: minute, hour, day of month, month, day of week, as in 30 2 * * 1-5';
  if (expression.trim().startsWith('@')) return `${form}; names such as @daily are not taken`;
  if (fields.length !== 5) return `${form}; it has ${fields.length}`;
  try {
    const next = nextRun({ expression, timezone: 'Etc/UTC' }, new Date());
    return next === null ? 'names no time that will ever come' : null;
  } catch (error) {
    const words = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error);
    return `${form}; it cannot be read: ${words}`;
  }
}

/** Whether the machine knows a time zone of this name (IANA, as in Europe/Paris). */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '' && !/^[+-]/.test(name);
  } catch {
    return false;
  }
}
