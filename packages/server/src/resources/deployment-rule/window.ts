import type { Weekday } from '@davit/contract';
import { Problems } from '../shared/problems.ts';
import { isTimezone, type Window } from './schedule.ts';

/** A schedule in the form that requests and rows have. */
export interface WindowFields {
  readonly timezone: string;
  readonly start_time: string;
  readonly stop_time: string;
  readonly weekdays: readonly Weekday[];
}

/**
 * Returns the fields in the form that is stored. Each day occurs once. Times lose their offset, because the written
 * time of day is what counts. Fails with VALIDATION_FAILED.
 */
export function checkedWindow(fields: WindowFields, autoStop: boolean): WindowFields {
  const problems = new Problems();
  if (!isTimezone(fields.timezone)) {
    problems.add('timezone', 'must be a name of the IANA time zone database, such as Europe/Paris or UTC');
  }
  const start_time = written(fields.start_time);
  const stop_time = written(fields.stop_time);
  if (autoStop && minuteOf(start_time) === minuteOf(stop_time)) {
    problems.add('stop_time', 'must be another time of day than start_time when auto_stop is true');
  }
  if (autoStop && fields.weekdays.length === 0) {
    problems.add('weekdays', 'must name at least one day when auto_stop is true');
  }
  problems.throwIfAny();
  return { timezone: fields.timezone, start_time, stop_time, weekdays: [...new Set(fields.weekdays)] };
}

export function toWindow({ timezone, start_time, stop_time, weekdays }: WindowFields): Window {
  return { timezone, weekdays, startMinute: minuteOf(start_time), stopMinute: minuteOf(stop_time) };
}

function written(dateTime: string): string {
  return `${dateTime.slice(0, 10)}T${dateTime.slice(11, 16)}:00.000Z`;
}

function minuteOf(dateTime: string): number {
  return Number(dateTime.slice(11, 13)) * 60 + Number(dateTime.slice(14, 16));
}
