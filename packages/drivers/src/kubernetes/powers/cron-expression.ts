/*
 * What Kubernetes makes of a schedule is not in all cases what Davit does: it has no 7 for Sunday, and takes a day field with steps of one for
 * no restriction. So each field is sent as the list of its values, or `*` for no restriction, which both read in the same way.
 */

interface Field {
  readonly least: number;
  readonly most: number;
  readonly names: readonly string[];
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const minute: Field = { least: 0, most: 59, names: [] };
const hour: Field = { least: 0, most: 23, names: [] };
const dayOfMonth: Field = { least: 1, most: 31, names: [] };
const month: Field = { least: 1, most: 12, names: months };
const dayOfWeek: Field = { least: 0, most: 7, names: days };

/**
 * A schedule of Davit (see `cronFault` of the engine) as Kubernetes reads it, due at the same times; or what of it Kubernetes does not know: the
 * last day of a month, the working day next to a day, the second Friday. Pure.
 */
export function toKubernetesCron(expression: string): { readonly expression: string } | { readonly unknown: string } {
  const special = specialOf(expression);
  if (special !== null) return { unknown: special };
  const [minutes = '', hours = '', inMonth = '', ofMonths = '', inWeek = ''] = expression.trim().split(/\s+/);
  // Where both are restricted either is enough: one that all days fulfil leaves no restriction.
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

/** `*`, `5`, `1-5`, each perhaps with a step behind it. */
function rangeOf(part: string, field: Field): number[] {
  const [range = '', step = '1'] = part.split('/');
  const [first = '', last = first] = range.split('-');
  // 7 is Sunday, once.
  const most = field.most === 7 ? 6 : field.most;
  const [from, to] = isStar(range) ? [field.least, most] : [numberOf(first, field), numberOf(last, field)];
  // A week that ends with Sunday: `fri-sun`.
  const end = to < from && field.most === 7 && to === 0 ? 7 : to;
  const values: number[] = [];
  for (let value = from; value <= end; value += Math.max(Number(step), 1)) values.push(value);
  return values;
}

function numberOf(text: string, { names, least }: Field): number {
  const name = names.indexOf(text.toLowerCase());
  return name === -1 ? Number(text) : name + least;
}

function listOf(values: ReadonlySet<number>, all: number): string {
  return values.size === all ? '*' : [...values].toSorted((a, b) => a - b).join(',');
}

/** The name of a time zone as Kubernetes knows it, to which capitals matter. Pure. */
export function toKubernetesZone(timezone: string): string {
  const known = new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions().timeZone;
  // Some names are other ones' second names; those that are written as names are (`US/Eastern`, `EST5EDT`) stay what they are.
  const isWritten = timezone.split('/').every((part) => /^[A-Z]/.test(part) && !/^[A-Z]{4,}$/.test(part));
  return isWritten && known.toLowerCase() !== timezone.toLowerCase() ? timezone : known;
}
