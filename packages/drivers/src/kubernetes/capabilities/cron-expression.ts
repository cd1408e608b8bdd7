/*
 * Kubernetes reads some schedules differently from Davit. It does not know 7 for Sunday, and it treats a day field with
 * steps of one as no restriction. So each field is sent as the list of its values, or as `*` for no restriction. Both
 * read these in the same way.
 */

interface Field {
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const minute: Field = { min: 0, max: 59, names: [] };
const hour: Field = { min: 0, max: 23, names: [] };
const dayOfMonth: Field = { min: 1, max: 31, names: [] };
const month: Field = { min: 1, max: 12, names: months };
const dayOfWeek: Field = { min: 0, max: 7, names: days };

/**
 * Translates a schedule of Davit (see `cronFault` of the engine) into one of Kubernetes that is due at the same times.
 * Returns `unknown` for what Kubernetes does not support: the last day of a month, the working day nearest to a day,
 * the second Friday. Pure.
 */
export function toKubernetesCron(expression: string): { readonly expression: string } | { readonly unknown: string } {
  const special = specialOf(expression);
  if (special !== null) return { unknown: special };
  const [minutes = '', hours = '', inMonth = '', ofMonths = '', inWeek = ''] = expression.trim().split(/\s+/);
  // If both day fields are restricted, a day needs to match only one of them. A field that all days match leaves no
  // restriction.
  const both = !isStar(inMonth) && !isStar(inWeek);
  const [monthDays, weekDays] = [valuesOf(inMonth, dayOfMonth), new Set([...valuesOf(inWeek, dayOfWeek)].map((day) => day % 7))];
  const isEveryDay = both && (monthDays.size === 31 || weekDays.size === 7);
  const fields = [
    listOf(valuesOf(minutes, minute), 60),
    listOf(valuesOf(hours, hour), 24),
    isEveryDay || isStar(inMonth) ? '*' : listOf(monthDays, 31),
    listOf(valuesOf(ofMonths, month), 12),
    isEveryDay || isStar(inWeek) ? '*' : listOf(weekDays, 7),
  ];
  return { expression: fields.join(' ') };
}

function specialOf(expression: string): string | null {
  const [, , inMonth = '', , inWeek = ''] = expression.trim().split(/\s+/);
  if (/l/i.test(inMonth)) return 'L (the last day)';
  if (/w/i.test(inMonth)) return 'W (the nearest working day)';
  if (inWeek.includes('#')) return '# (the n-th weekday)';
  if (/\dl|[a-z]{3}l/i.test(inWeek)) return 'L (the last weekday)';
  if (inWeek.startsWith('+')) return '+ (both day fields)';
  return null;
}

function isStar(text: string): boolean {
  return text === '*' || text === '?';
}

function valuesOf(text: string, field: Field): Set<number> {
  return new Set(text.split(',').flatMap((part) => rangeOf(part, field)));
}

/** Parses `*`, `5` or `1-5`, each with an optional step. */
function rangeOf(part: string, field: Field): number[] {
  const [range = '', step = '1'] = part.split('/');
  const [first = '', last = first] = range.split('-');
  // Sunday is both 0 and 7, but counts once.
  const most = field.max === 7 ? 6 : field.max;
  const [from, to] = isStar(range) ? [field.min, most] : [numberOf(first, field), numberOf(last, field)];
  // The range ends with Sunday: `fri-sun`.
  const end = to < from && field.max === 7 && to === 0 ? 7 : to;
  const values: number[] = [];
  for (let value = from; value <= end; value += Math.max(Number(step), 1)) values.push(value);
  return values;
}

function numberOf(text: string, { names, min: least }: Field): number {
  const name = names.indexOf(text.toLowerCase());
  return name === -1 ? Number(text) : name + least;
}

function listOf(values: ReadonlySet<number>, all: number): string {
  return values.size === all ? '*' : [...values].toSorted((a, b) => a - b).join(',');
}

/** Returns the name of a time zone as Kubernetes knows it. Kubernetes distinguishes upper and lower case. Pure. */
export function toKubernetesZone(timezone: string): string {
  const known = new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions().timeZone;
  // Some names are aliases of others. An alias in its proper spelling (`US/Eastern`, `EST5EDT`) is kept.
  const isWritten = timezone.split('/').every((part) => /^[A-Z]/.test(part) && !/^[A-Z]{4,}$/.test(part));
  return isWritten && known.toLowerCase() !== timezone.toLowerCase() ? timezone : known;
}
