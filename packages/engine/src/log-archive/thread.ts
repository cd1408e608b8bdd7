import { parentPort, workerData } from 'node:worker_threads';
import { isAtLeast } from './level.ts';
import { threadState, type Encoded, type LineRow, type Part, type PartLines, type Question, type ThreadTask } from './tasks.ts';
import type { FrameHead } from '../store/logs.ts';
import { decodeFrame, encodeSegment, frameText, type ArchivedLine } from './segment.ts';

/*
 * Runs in the threads of `threads.ts`. Compresses lines, and searches in lines: expressions of users may take forever,
 * and decompressing takes time, so neither may happen in the thread that serves requests.
 */

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what threads.ts gives
const state = workerData as Int32Array;

/** Compresses or decompresses. The thread is not ended meanwhile; if it already is to be ended, it stops here. */
function whole<T>(action: () => T): T {
  const found = Atomics.compareExchange(state, 0, threadState.free, threadState.compresses);
  if (found === threadState.ends) Atomics.wait(state, 0, threadState.ends);
  try {
    return action();
  } finally {
    Atomics.store(state, 0, threadState.free);
  }
}

function toLines(rows: string): ArchivedLine[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the statement `logRows` returns
  return (JSON.parse(rows) as LineRow[]).map(([number, id, at, message, instance, release, stream]) => ({
    number,
    id,
    at,
    message,
    instance,
    release,
    stream,
  }));
}

function encode(serviceId: string, rows: string): Encoded | null {
  const lines = toLines(rows);
  const { segment, isFull } = whole(() => encodeSegment(serviceId, lines));
  return isFull ? segment : null;
}

/** The lines of a part of a log, which are decompressed when they are needed. */
class Lines {
  readonly #serviceId: string;
  readonly #frames: readonly FrameHead[];
  readonly #bytes: { readonly messages: readonly Uint8Array[]; readonly details: readonly Uint8Array[] };
  readonly #texts = new Map<number, string>();
  readonly #lines = new Map<number, readonly ArchivedLine[]>();

  constructor(serviceId: string, part: Part) {
    this.#serviceId = serviceId;
    if (part.kind === 'rows') {
      const lines = toLines(part.rows);
      this.#frames = [[lines.length, 0, 0, 0, Number.MAX_SAFE_INTEGER, -Infinity, Infinity]];
      this.#bytes = { messages: [], details: [] };
      this.#lines.set(0, lines);
    } else {
      this.#frames = part.frames;
      this.#bytes = {
        messages: cut(
          part.messages,
          part.frames.map(([, bytes]) => bytes),
        ),
        details: cut(
          part.details,
          part.frames.map(([, , bytes]) => bytes),
        ),
      };
    }
  }

  get frames(): readonly FrameHead[] {
    return this.#frames;
  }

  /** Returns the messages of a frame as one text; null if its lines are already there. */
  text(frame: number): string | null {
    if (this.#lines.has(frame)) return null;
    const known = this.#texts.get(frame) ?? whole(() => frameText(this.#bytes.messages[frame] ?? new Uint8Array()));
    this.#texts.set(frame, known);
    return known;
  }

  of(frame: number): readonly ArchivedLine[] {
    const known = this.#lines.get(frame);
    if (known !== undefined) return known;
    const text = this.text(frame) ?? '';
    const lines = whole(() => decodeFrame(this.#serviceId, text, this.#bytes.details[frame] ?? new Uint8Array()));
    this.#lines.set(frame, lines);
    return lines;
  }

  /** Returns the lines before and after a line. There are fewer at the beginning and at the end of the part. */
  around(frame: number, index: number, count: number): { before: ArchivedLine[]; after: ArchivedLine[] } {
    const before: ArchivedLine[] = [];
    const after: ArchivedLine[] = [];
    for (let at = frame, end = index; at >= 0 && before.length < count; at -= 1, end = this.#frames[at]?.[0] ?? 0)
      before.unshift(...this.of(at).slice(Math.max(0, end - (count - before.length)), end));
    for (let at = frame, start = index + 1; at < this.#frames.length && after.length < count; at += 1, start = 0)
      after.push(...this.of(at).slice(start, start + count - after.length));
    return { before, after };
  }
}

function cut(base64: string, sizes: readonly number[]): Uint8Array[] {
  const bytes = Buffer.from(base64, 'base64');
  let at = 0;
  return sizes.map((size) => bytes.subarray(at, (at += size)));
}

function search({ serviceId, query, part, limit }: Question): PartLines {
  const { after, before, from, to, context, direction } = query;
  const lines = new Lines(serviceId, part);
  const pattern = patternOf(query);
  const isWanted = (line: ArchivedLine): boolean =>
    line.number > after &&
    line.number < before &&
    line.at >= from &&
    line.at < to &&
    (query.instance === null || line.instance === query.instance) &&
    (query.release === null || line.release === query.release) &&
    (query.id === null || line.id === query.id) &&
    (query.level === null || isAtLeast(line.message, query.level)) &&
    (pattern === null || pattern.test(line.message));
  const hits: PartLines['hits'][number][] = [];
  const order = [...lines.frames.entries()];
  if (direction === 'older') order.reverse();
  for (const [index, [, , , first, last, begins, ends]] of order) {
    const isPossible = last > after && first < before && ends >= from && begins < to;
    if (!isPossible || (part.kind === 'segment' && (part.mask & (1 << index)) === 0)) continue;
    // One search in a thousand lines takes less time than a thousand searches.
    const text = query.text === null || pattern === null ? null : lines.text(index);
    if (text !== null && pattern?.test(text) === false) continue;
    const found = [...lines.of(index).entries()];
    if (direction === 'older') found.reverse();
    for (const [at, line] of found) {
      if (!isWanted(line)) continue;
      hits.push({ line, ...lines.around(index, at, context) });
      if (hits.length === limit) return { hits };
    }
  }
  return { hits };
}

function patternOf({ text, expression, matchCase }: Question['query']): RegExp | null {
  const flags = matchCase ? '' : 'i';
  if (expression !== null) return new RegExp(expression, flags);
  return text === null ? null : new RegExp(RegExp.escape(text), flags);
}

parentPort?.on('message', (task: ThreadTask) => {
  const answer = task.kind === 'encode' ? encode(task.serviceId, task.rows) : search(task);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port between threads has no origin
  parentPort?.postMessage(answer);
});
