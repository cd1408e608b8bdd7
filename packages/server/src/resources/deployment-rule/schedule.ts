import { weekdays, type Weekday } from '@davit/contract';

/** The weekdays and the minutes of the day at which an environment is started and stopped, in a time zone. */
export interface Window {
  readonly timezone: string;
  readonly startMinute: number;
  readonly stopMinute: number;
  readonly weekdays: readonly Weekday[];
}

export interface ScheduledChange {
  readonly what: 'START' | 'STOP';
  readonly at: Date;
}

/** Returns whether this runtime knows the time zone. */
export function isTimezone(name: string): boolean {
  try {
    formatterOf(name);
    return true;
  } catch {
    return false;
  }
}

/** Returns the first start or stop after this moment. Undefined if there is none, because no day is named. */
export function turnAfter(window: Window, moment: Date): ScheduledChange | undefined {
  return turnsAround(window, moment).find(({ at }) => at > moment);
}

/** Returns the last start or stop up to this moment. It determines whether the environment should be running now. */
export function turnUntil(window: Window, moment: Date): ScheduledChange | undefined {
  return turnsAround(window, moment).findLast(({ at }) => at <= moment);
}

const minuteMilliseconds = 60_000;
const dayMilliseconds = 24 * 60 * minuteMilliseconds;
// Days to search in each direction: a week, plus one day because the date in the time zone may differ from the date
// here.
const reachDays = 8;

function turnsAround({ timezone, startMinute, stopMinute, weekdays: days }: Window, moment: Date): ScheduledChange[] {
  const wanted = new Set<number>(days.map((day) => weekdays.indexOf(day)));
  const clock = clockAt(timezone, moment.getTime());
  const today = clock - (((clock % dayMilliseconds) + dayMilliseconds) % dayMilliseconds);
  const turns: ScheduledChange[] = [];
  for (let offset = -reachDays; offset <= reachDays; offset += 1) {
    const day = today + offset * dayMilliseconds;
    // 1970-01-01 was a Thursday, number 3 of the list.
    if (!wanted.has((((day / dayMilliseconds + 3) % 7) + 7) % 7)) continue;
    turns.push({ what: 'START', at: momentOf(timezone, day + startMinute * minuteMilliseconds) });
    turns.push({ what: 'STOP', at: momentOf(timezone, day + stopMinute * minuteMilliseconds) });
  }
  return turns.sort((a, b) => a.at.getTime() - b.at.getTime());
}

/**
 * Returns the moment at which clocks of the time zone show this time. If the clocks skip the time in spring, the moment
 * is an hour off. If they show the time twice in autumn, one of both moments is returned. Either way there is one
 * moment per day.
 */
function momentOf(timezone: string, clock: number): Date {
  const near = clock - (clockAt(timezone, clock) - clock);
  return new Date(clock - (clockAt(timezone, near) - near));
}

/**
 * Returns what clocks of the time zone show at a moment, as if it were a moment in UTC. The precision is one second.
 */
function clockAt(timezone: string, moment: number): number {
  const parts = new Map(
    formatterOf(timezone)
      .formatToParts(moment)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
  return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
}

const formatters = new Map<string, Intl.DateTimeFormat>();

/**
 * Returns a cached formatter, because creating a formatter takes longer than everything else here. Throws RangeError
 * for an unknown zone, so that only known zones are cached.
 */
function formatterOf(timezone: string): Intl.DateTimeFormat {
  let formatter = formatters.get(timezone);
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formatters.set(timezone, formatter);
  }
  return formatter;
}
