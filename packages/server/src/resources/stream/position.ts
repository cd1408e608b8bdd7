/*
 * How far a reader has come. An event's number is no measure of that: numbers are handed out before a commit, so that one that
 * commits late would be missed. What is: a snapshot of PostgreSQL, as pg_current_snapshot() has it. Behind a snapshot is what it
 * does not see. Snapshots of one server follow each other in time, and each sees all that the ones before it see.
 */

/** `xmin:xmax:underway`: sees the transactions below xmax that were not under way. */
export interface Snapshot {
  readonly xmin: number;
  readonly xmax: number;
  /** In rising order. */
  readonly underway: readonly number[];
}

/**
 * What was told: all that `seen` sees; and, in the middle of what came between it and `upTo`, the events up to a number, of the last of
 * them only the first `parts`. `line`: of the log as it was at `seen`, the lines up to this number only.
 */
export interface Position {
  readonly seen: Snapshot;
  readonly within?: { readonly upTo: Snapshot; readonly sequence: number; readonly parts: number };
  readonly line?: number;
}

export function parseSnapshot(text: string): Snapshot {
  const [xmin = '', xmax = '', underway = ''] = text.split(':');
  return {
    xmin: Number(xmin),
    xmax: Number(xmax),
    underway: underway === '' ? [] : underway.split(',').map(Number),
  };
}

/** Whether everything that `earlier` sees is seen by `later` too. */
export function sees(later: Snapshot, earlier: Snapshot): boolean {
  if (later.xmax < earlier.xmax) return false;
  const then = new Set(earlier.underway);
  return later.underway.every((xid) => xid >= earlier.xmax || then.has(xid));
}

/*
 * As text: ids of events. `s<snapshot>`, then `-<snapshot>-<number>-<parts>` or `~<line>`. Numbers are in base 36; a snapshot is its
 * xmin, and how much further xmax and those under way are.
 */

const base = 36;
const word = (value: number): string => value.toString(base);

function encodeSnapshot({ xmin, xmax, underway }: Snapshot): string {
  return [word(xmin), word(xmax - xmin), ...underway.map((xid) => word(xid - xmin))].join('.');
}

/** One line without blanks, for the field `id` of an event. */
export function encodePosition({ seen, within, line }: Position): string {
  const start = `s${encodeSnapshot(seen)}`;
  if (line !== undefined) return `${start}~${word(line)}`;
  if (within === undefined) return start;
  return `${start}-${encodeSnapshot(within.upTo)}-${word(within.sequence)}-${word(within.parts)}`;
}

const longest = 8000;
const number = '[0-9a-z]{1,11}';
const snapshot = `${number}(?:\\.${number})+`;
const shape = new RegExp(`^s(${snapshot})(?:-(${snapshot})-(${number})-(${number})|~(${number}))?$`);

/** Undefined: it is no id of an event. */
export function decodePosition(text: string): Position | undefined {
  if (text.length > longest) return undefined;
  const [, first, second, sequence, parts, line] = shape.exec(text) ?? [];
  const seen = first === undefined ? undefined : decodeSnapshot(first);
  if (seen === undefined) return undefined;
  if (line !== undefined) return { seen, line: parseInt(line, base) };
  if (second === undefined || sequence === undefined || parts === undefined) return { seen };
  const upTo = decodeSnapshot(second);
  if (upTo === undefined || !sees(upTo, seen)) return undefined;
  return { seen, within: { upTo, sequence: parseInt(sequence, base), parts: parseInt(parts, base) } };
}

function decodeSnapshot(text: string): Snapshot | undefined {
  const [xmin = 0, further = 0, ...underway] = text.split('.').map((part) => parseInt(part, base));
  const decoded = { xmin, xmax: xmin + further, underway: underway.map((xid) => xmin + xid) };
  const isSound =
    Number.isSafeInteger(decoded.xmax) &&
    decoded.underway.every((xid, index) => xid < decoded.xmax && xid > (decoded.underway[index - 1] ?? -1));
  return isSound ? decoded : undefined;
}
