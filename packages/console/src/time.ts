import { useSyncExternalStore } from 'react';

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** Returns how long ago something was: "now", "4 min ago", "yesterday", which is a day of the reader's calendar. */
export function ago(at: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(at)) / 1000);
  if (seconds < 45) return 'now';
  if (seconds < hour) return `${Math.max(1, Math.floor(seconds / minute))} min ago`;
  if (seconds < day) return `${Math.floor(seconds / hour)} h ago`;
  const yesterday = new Date(now);
  yesterday.setHours(0, 0, 0, 0);
  yesterday.setDate(yesterday.getDate() - 1);
  if (Date.parse(at) >= yesterday.getTime()) return 'yesterday';
  return `${Math.max(2, Math.floor(seconds / day))} days ago`;
}

/** Returns a duration: "400 ms", "4.1 s", "38 s", "1:52", "2 h 5 min". */
export function duration(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < minute) return `${Math.round(seconds)} s`;
  if (seconds < hour) return `${Math.floor(seconds / minute)}:${String(Math.floor(seconds % minute)).padStart(2, '0')}`;
  return `${Math.floor(seconds / hour)} h ${Math.floor((seconds % hour) / minute)} min`;
}

/** Returns the milliseconds of an ISO 8601 duration as the API writes it: PT1M2.5S. */
export function milliseconds(iso: string): number {
  const [, hours = '0', minutes = '0', seconds = '0'] = /^PT(?:([\d.]+)H)?(?:([\d.]+)M)?(?:([\d.]+)S)?$/.exec(iso) ?? [];
  return (Number(hours) * hour + Number(minutes) * minute + Number(seconds)) * 1000;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const calendar = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** Returns the time of day with seconds, in the reader's time zone. */
export function timeOfDay(at: string): string {
  return clock.format(new Date(at));
}

/** Returns date and time, in the reader's time zone. */
export function fullTime(at: string): string {
  return calendar.format(new Date(at));
}

/** Milliseconds by which the clock of the server is ahead of this machine's. */
let ahead = 0;
/** The header has whole seconds, and the answer was under way for a time: a smaller difference is none. */
const smallestMilliseconds = 2000;

/** Notes the time of an answer, by its header `date`. */
export function noteServerTime(date: string | null): void {
  const at = Date.parse(date ?? '');
  if (!Number.isFinite(at)) return;
  const difference = at - Date.now();
  ahead = Math.abs(difference) < smallestMilliseconds ? 0 : difference;
}

/** Returns the time by the server's clock, so that ages are right where this machine's clock is wrong. */
export function serverNow(): number {
  return Date.now() + ahead;
}

let now = serverNow();
let timer: ReturnType<typeof setTimeout> | undefined;
const readers = new Set<() => void>();

function tick(): void {
  now = serverNow();
  for (const reader of readers) reader();
  timer = readers.size === 0 ? undefined : setTimeout(tick, 1000);
}

function subscribe(reader: () => void): () => void {
  readers.add(reader);
  if (timer === undefined) tick();
  return () => void readers.delete(reader);
}

/** Returns the current time, once a second for all parts of the page. Ages in minutes read the same value. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}
