import type { LogLevel } from '../port/logs.ts';
import type { FrameHead } from '../store/logs.ts';
import type { ArchivedLine, Segment } from './segment.ts';

/**
 * States of a thread, in memory that it shares with the thread that started it. A thread must not be ended while it
 * compresses or decompresses: Node 24 then aborts the whole process, if the thread was between the creation of a zstd
 * stream and its initialization.
 */
export const threadState = { free: 0, compresses: 1, ends: 2 } as const;

/** A line in the JSON of the statement `logRows`: number, id, time (ms), message, instance, release, stream. */
export type LineRow = readonly [number, string, number, string, string, string | null, string];

/** Lines of a log in order: rows of the newest lines, as JSON of `LineRow`s, or a segment. */
export type Part =
  | { readonly kind: 'rows'; readonly rows: string }
  | {
      readonly kind: 'segment';
      readonly frames: readonly FrameHead[];
      /** Base64. */
      readonly messages: string;
      readonly details: string;
      /** Bits of the frames that may contain a hit. */
      readonly mask: number;
    };

/** Conditions that lines must meet. Times are in milliseconds. */
export interface LineQuery {
  readonly text: string | null;
  /** A regular expression, which was compiled once. */
  readonly expression: string | null;
  readonly matchCase: boolean;
  readonly from: number;
  readonly to: number;
  readonly instance: string | null;
  readonly release: string | null;
  /** The least severe level. */
  readonly level: LogLevel | null;
  readonly id: string | null;
  /** Only lines whose numbers are greater, or smaller. */
  readonly after: number;
  readonly before: number;
  /** `older`: the newest line first. */
  readonly direction: 'older' | 'newer';
  /** Lines before and after each hit. */
  readonly context: number;
}

export interface Question {
  readonly kind: 'search';
  readonly serviceId: string;
  readonly query: LineQuery;
  readonly part: Part;
  readonly limit: number;
}

export type ThreadTask = Question | { readonly kind: 'encode'; readonly serviceId: string; readonly rows: string };

export interface Hit {
  readonly line: ArchivedLine;
  readonly before: readonly ArchivedLine[];
  readonly after: readonly ArchivedLine[];
}

/** At most `limit` hits, in the direction of the search. */
export interface PartLines {
  readonly hits: readonly Hit[];
}

export type Encoded = Segment;
