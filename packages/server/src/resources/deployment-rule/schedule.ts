import { weekdays, type Weekday } from '@davit/contract';

/** When an environment is started and stopped: on these days, at these minutes of the day, by the clocks of this time zone. */
export interface Window {
  readonly timezone: string;
  readonly startMinute: number;
  readonly stopMinute: number;
  readonly weekdays: readonly Weekday[];
}

export interface Turn {
  readonly what: 'START' | 'STOP';
  readonly at: Date;
}

/** Whether clocks of this zone are known here. */
export function isTimezone(name: string): boolean {
  try {
    formatterOf(name);
    return true;
  } catch {
    return false;
  }
}

/** The first start or stop after this moment; undefined: there is none, as no day is named. */
export function turnAfter(window: Window, moment: Date): Turn | undefined {
  return turnsAround(window, moment).find(({ at }) => at > moment);
}

/** The last start or stop until this moment: what the environment should be like now. */
export function turnUntil(window: Window, moment: Date): Turn | undefined {
  return turnsAround(window, moment).findLast(({ at }) => at <= moment);
}

const minuteMilliseconds = 60_000;
const dayMilliseconds = 24 * 60 * minuteMilliseconds;
// A week in each direction, and a day more, as the day there may be another one than here.
const reachDays = 8;

function turnsAround({ timezone, startMinute, stopMinute, weekdays: days }: Window, moment: Date): Turn[] {
  const wanted = new Set<number>(days.map((day) => weekdays.indexOf(day)));
  const clock = clockAt(timezone, moment.getTime());
  const today = clock - (((clock % dayMilliseconds) + dayMilliseconds) % dayMilliseconds);
  const turns: Turn[] = [];
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
 * The moment at which clocks of the zone show this. One that they skip in spring is taken an hour off it; of one that they show
 * twice in autumn, one is taken: either way it comes once a day.
 */
function momentOf(timezone: string, clock: number): Date {
  const near = clock - (clockAt(timezone, clock) - clock);
  return new Date(clock - (clockAt(timezone, near) - near));
}

/** What clocks of the zone show at a moment, as if that were a moment in UTC. To the second. */
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

/** Making one takes longer than all else here. Throws RangeError for an unknown zone, so only known ones are kept. */
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
