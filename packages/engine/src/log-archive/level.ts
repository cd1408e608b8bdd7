import type { LogLevel as Level } from '../port/logs.ts';

/** Least severe first. */
const levels: readonly Level[] = ['DEBUG', 'INFO', 'WARNING', 'ERROR'];

const words: Readonly<Record<string, Level>> = {
  trace: 'DEBUG',
  debug: 'DEBUG',
  verbose: 'DEBUG',
  info: 'INFO',
  information: 'INFO',
  notice: 'INFO',
  warn: 'WARNING',
  warning: 'WARNING',
  err: 'ERROR',
  error: 'ERROR',
  severe: 'ERROR',
  crit: 'ERROR',
  critical: 'ERROR',
  alert: 'ERROR',
  emerg: 'ERROR',
  emergency: 'ERROR',
  fatal: 'ERROR',
  panic: 'ERROR',
};
const all = Object.keys(words).join('|');
const field = /"(?:level|severity|lvl|log\.level|loglevel)"\s*:\s*(?:"([A-Za-z]+)"|(\d+))/i;
const pair = new RegExp(String.raw`(?:^|\s)(?:level|severity|lvl)="?(${all})\b`, 'i');
// A word in running text is written in small letters, as in "no error found". A level is in capitals, in brackets, or
// before a colon.
const capitals = new RegExp(String.raw`(?:^|[^A-Za-z])(${all.toUpperCase()})(?![A-Za-z])`);
const marked = new RegExp(String.raw`(?:^|\s)(?:\[(${all})\]|(${all}):)`, 'i');
const klog = /^([IWEF])\d{4} \d\d:/;
const klogLevels: Readonly<Record<string, Level>> = { I: 'INFO', W: 'WARNING', E: 'ERROR', F: 'ERROR' };
// oxlint-disable-next-line no-control-regex -- terminals' codes begin with this character
const colors = /\u001B\[[\d;]*m/g;
/** Characters at the beginning of a line in which a level is recognized. */
const beginning = 100;

/** Returns the level that a line names; null if it names none. docs/logs.md states the rule. */
export function levelOf(message: string): Level | null {
  const start = message.charAt(0);
  if (start === '{') {
    const match = field.exec(message);
    if (match !== null)
      return match[2] === undefined ? (words[(match[1] ?? '').toLowerCase()] ?? null) : ofNumber(Number(match[2]));
    return null;
  }
  const begin = message.slice(0, beginning).replaceAll(colors, '');
  const word = pair.exec(begin)?.[1] ?? capitals.exec(begin)?.[1];
  if (word !== undefined) return words[word.toLowerCase()] ?? null;
  const mark = marked.exec(begin);
  if (mark !== null) return words[(mark[1] ?? mark[2] ?? '').toLowerCase()] ?? null;
  return klogLevels[klog.exec(begin)?.[1] ?? ''] ?? null;
}

/** The numbers of pino and bunyan, and those of syslog below 10. */
function ofNumber(number: number): Level {
  if (number < 10) return number <= 3 ? 'ERROR' : number === 4 ? 'WARNING' : number <= 6 ? 'INFO' : 'DEBUG';
  return number >= 50 ? 'ERROR' : number >= 40 ? 'WARNING' : number >= 30 ? 'INFO' : 'DEBUG';
}

/** Returns whether a line is at least as severe as `least`. Lines without a level are not. */
export function isAtLeast(message: string, least: Level): boolean {
  const level = levelOf(message);
  return level !== null && levels.indexOf(level) >= levels.indexOf(least);
}
