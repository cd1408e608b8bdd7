const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** Returns how long ago a time was: "now", "4 min ago", "6 days ago". */
export function ago(at: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(at)) / 1000);
  if (seconds < 45) return 'now';
  if (seconds < hour) return `${Math.max(1, Math.round(seconds / minute))} min ago`;
  if (seconds < day) return `${Math.round(seconds / hour)} h ago`;
  if (seconds < 2 * day) return 'yesterday';
  return `${Math.floor(seconds / day)} days ago`;
}

/** Returns a duration: "0.4 s", "38 s", "1:52", "2 h 5 min". */
export function duration(milliseconds: number): string {
  const seconds = milliseconds / 1000;
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

/** Returns a number of bytes: "2.1 MB". */
export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(bytes < 10_000 ? 1 : 0)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Returns a word of the API in sentence case: DEPLOYMENT_ERROR is "deployment error". */
export function phrase(word: string): string {
  return word.toLowerCase().replaceAll('_', ' ');
}

// oxlint-disable-next-line no-control-regex -- colours of terminals begin with this character
const escapes = /\u001B\[[\d;]*m/g;

// oxlint-disable-next-line no-control-regex -- the characters that a terminal acts on
const controls = /\u001B\[[\d;]*m|[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/g;

/**
 * Returns a text without what a terminal acts on, except colours and line breaks. Names, messages of commits and lines
 * of programs are written by others, who could move the cursor, hide lines or set the clipboard.
 */
export function printable(text: string): string {
  return text.replaceAll(controls, (found) => (found.length > 1 ? found : found === '\t' ? ' ' : ''));
}

/** Returns the number of columns that a text takes. */
export function width(text: string): number {
  return Array.from(text.replaceAll(escapes, '')).length;
}

/** Returns a text of exactly this width, cut at the end if it is longer. Coloured texts are not cut. */
export function fit(text: string, columns: number): string {
  const missing = columns - width(text);
  return missing >= 0 ? text + ' '.repeat(missing) : cut(text, columns);
}

/** Returns the text, with its end replaced by … if it is wider than the columns. */
export function cut(text: string, columns: number): string {
  const letters = Array.from(text);
  return letters.length <= columns ? text : `${letters.slice(0, Math.max(0, columns - 1)).join('')}…`;
}

/** Returns the lines of a paragraph, none wider than the columns unless a single word is. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}

export interface Column {
  readonly title: string;
  readonly align?: 'right';
  /** Columns with the highest number are cut first when the terminal is narrow. Default: never. */
  readonly cutFirst?: number;
}

const gap = '  ';
const narrowest = 8;

/** Returns the lines of a table, the titles first, no line wider than the columns as far as cutting allows. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[], limit: number): string[] {
  const cells = rows.map((row) => row.map((cell) => printable(cell).replaceAll('\n', ' ')));
  const all = [columns.map(({ title }) => title), ...cells];
  const widths = columns.map((_, index) => Math.max(...all.map((row) => width(row[index] ?? ''))));
  let excess = widths.reduce((sum, one) => sum + one, 0) + gap.length * (columns.length - 1) - limit;
  const cuttable = columns
    .map(({ cutFirst = 0 }, index) => ({ cutFirst, index }))
    .filter(({ cutFirst }) => cutFirst > 0)
    .toSorted((a, b) => b.cutFirst - a.cutFirst);
  for (const { index } of cuttable) {
    const saved = Math.max(0, Math.min(excess, (widths[index] ?? 0) - narrowest));
    widths[index] = (widths[index] ?? 0) - saved;
    excess -= saved;
  }
  return all.map((row) =>
    columns
      .map(({ align }, index) => {
        const fitted = fit(row[index] ?? '', widths[index] ?? 0);
        return align === 'right' ? fitted.trimEnd().padStart(fitted.length) : fitted;
      })
      .join(gap)
      .trimEnd(),
  );
}
