/*
 * Describes how far a reader has read. An event's number does not describe this: numbers are assigned before the
 * commit, so a reader would miss an event that commits late. A snapshot of PostgreSQL does, as returned by
 * pg_current_snapshot(). The events after a snapshot are those that the snapshot does not see. Snapshots of one server
 * are ordered by time, and each sees everything that earlier ones see.
 */

/** `xmin:xmax:underway`: sees the transactions below xmax that were not in progress. */
export interface Snapshot {
  readonly xmin: number;
  readonly xmax: number;
  /** Ids of the transactions in progress, ascending. */
  readonly underway: readonly number[];
}

/**
 * Position of a stream. These events were sent:
 * - all events that `seen` sees;
 * - `within`: the events between `seen` and `upTo` up to a number, and of the last of them only the first `parts`;
 * - `line`: the lines up to this number, of the log as visible at `seen`.
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

/** Returns whether `later` sees everything that `earlier` sees. */
export function sees(later: Snapshot, earlier: Snapshot): boolean {
  if (later.xmax < earlier.xmax) return false;
  const then = new Set(earlier.underway);
  return later.underway.every((xid) => xid >= earlier.xmax || then.has(xid));
}

/*
 * Positions as text, which are the ids of events: `s<snapshot>`, then `-<snapshot>-<number>-<parts>` or `~<line>`.
 * Numbers are in base 36. A snapshot consists of its xmin, and the distances of xmax and of the transactions in
 * progress from xmin.
 */

const base = 36;
const word = (value: number): string => value.toString(base);

function encodeSnapshot({ xmin, xmax, underway }: Snapshot): string {
  return [word(xmin), word(xmax - xmin), ...underway.map((xid) => word(xid - xmin))].join('.');
}

/** Returns the position as a line without blanks, for the field `id` of an event. */
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

/** Returns the position, or undefined if the text is not an id of an event. */
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
