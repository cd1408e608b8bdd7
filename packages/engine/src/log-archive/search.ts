import { performance } from 'node:perf_hooks';
import { AppError } from '@davit/base';
import type { Queryable } from '@davit/db';
import type { LogPage, LogSearch, SearchedLine } from '../port/logs.ts';
import { Semaphore } from '../shared/semaphore.ts';
import * as store from '../store/logs.ts';
import { entriesOf, requiredTexts } from './grams.ts';
import { levelOf } from './level.ts';
import { numberOfLine, type ArchivedLine } from './segment.ts';
import type { Hit, LineQuery, Part } from './tasks.ts';
import { LogThread, ThreadTooSlow } from './threads.ts';

const searchesAtOnce = 2;
const waitingSearches = 20;
/** Time after which a page ends with what was found. */
const defaultPageMilliseconds = 5_000;
/** Time of a thousand lines is some milliseconds, unless an expression backtracks. */
const defaultPartMilliseconds = 3_000;
/** Rows that are searched together. */
const rowsAtOnce = 5_000;
const segmentsAtOnce = 4;
const idleMilliseconds = 60_000;
const earliest = -1e14;
const latest = 8e14;

export interface LogSearchTimes {
  readonly pageMilliseconds?: number;
  readonly partMilliseconds?: number;
}

/** A part of a log, the numbers of its first and last line, and the limits of lines that were not searched before. */
interface Piece {
  readonly part: Part;
  readonly first: number;
  readonly last: number;
  readonly within: Pick<LineQuery, 'after' | 'before'>;
}

/** Searches in the logs of services: in the newest lines and in segments. */
export class LogSearcher {
  readonly #slots = new Semaphore(searchesAtOnce);
  readonly #idle: LogThread[] = [];
  readonly #pageMilliseconds: number;
  readonly #partMilliseconds: number;
  #searches = 0;

  constructor(times: LogSearchTimes = {}) {
    this.#pageMilliseconds = times.pageMilliseconds ?? defaultPageMilliseconds;
    this.#partMilliseconds = times.partMilliseconds ?? defaultPartMilliseconds;
  }

  /** See `EnginePort.searchLog`. */
  async search(db: Queryable, serviceId: string, search: LogSearch, signal: AbortSignal): Promise<LogPage | null> {
    const { expression } = search;
    if (expression !== undefined) assertExpression(expression);
    if (this.#searches >= searchesAtOnce + waitingSearches)
      throw new AppError({
        code: 'TOO_MANY_SEARCHES',
        message: `this process already has ${this.#searches} searches in logs; try again in some seconds`,
      });
    this.#searches += 1;
    try {
      return await this.#slots.use(() => this.#withThread(db, serviceId, search, signal), signal);
    } finally {
      this.#searches -= 1;
    }
  }

  async #withThread(db: Queryable, serviceId: string, search: LogSearch, signal: AbortSignal): Promise<LogPage | null> {
    const thread = this.#idle.pop() ?? new LogThread();
    try {
      const run = new Run({
        db,
        serviceId,
        thread,
        signal,
        partMilliseconds: this.#partMilliseconds,
        endsAt: performance.now() + this.#pageMilliseconds,
      });
      return await (search.line === undefined ? run.page(search) : run.around(search.line, search.limit));
    } catch (error) {
      if (!(error instanceof ThreadTooSlow)) throw error;
      throw new AppError({
        code: 'EXPRESSION_TOO_SLOW',
        message: `the expression took more than ${this.#partMilliseconds / 1000} seconds for a few thousand lines; write it without repetitions inside of repetitions`,
      });
    } finally {
      this.#keep(thread);
    }
  }

  /** Keeps a thread for the next search: starting one takes longer than most searches. */
  #keep(thread: LogThread): void {
    this.#idle.push(thread);
    const end = (): void => {
      const at = this.#idle.indexOf(thread);
      if (at === -1) return;
      this.#idle.splice(at, 1);
      thread.end();
    };
    setTimeout(end, idleMilliseconds).unref();
  }
}

function assertExpression(expression: string): void {
  try {
    RegExp(expression);
  } catch (error) {
    const message = `must be a regular expression: ${error instanceof Error ? error.message : ''}`;
    throw new AppError({
      code: 'VALIDATION_FAILED',
      message: `Validation error: expression ${message}`,
      errors: [{ path: 'expression', message }],
    });
  }
}

interface RunInput {
  readonly db: Queryable;
  readonly serviceId: string;
  readonly thread: LogThread;
  readonly signal: AbortSignal;
  readonly partMilliseconds: number;
  /** Time of `performance.now` at which the page ends. */
  readonly endsAt: number;
}

/** One search of one service. */
class Run {
  readonly #input: RunInput;

  constructor(input: RunInput) {
    this.#input = input;
  }

  async page(search: LogSearch): Promise<LogPage> {
    const query = toQuery(search);
    const { hits, next } = await this.#find(query, search.limit);
    const lines = await Promise.all(hits.map((hit) => this.#whole(hit, query.context)));
    if (query.direction === 'older') lines.reverse();
    const first = lines[0]?.number ?? null;
    const last = lines.at(-1)?.number ?? null;
    if (query.direction === 'older')
      return { lines, older: next, newer: last ?? (query.before < Infinity ? query.before - 1 : null) };
    return { lines, older: first ?? query.after + 1, newer: next ?? last ?? query.after };
  }

  /** Returns a line with the lines around it; null if the line is no longer kept. */
  async around(id: string, limit: number): Promise<LogPage | null> {
    const number = numberOfLine(this.#input.serviceId, id);
    const any = toQuery({ limit: 1 });
    const wanted = number === null ? { ...any, id } : { ...any, id, before: number + 1, after: number - 1 };
    const { hits } = await this.#find(wanted, 1);
    const hit = hits[0]?.line;
    if (hit === undefined) return null;
    const half = Math.floor(limit / 2);
    const older = await this.#find({ ...any, before: hit.number }, half);
    const newer = await this.#find({ ...any, after: hit.number, direction: 'newer' }, limit - half - 1);
    const found = [...older.hits.toReversed(), ...hits, ...newer.hits].map(({ line }) => ({
      ...toLine(line),
      before: [],
      after: [],
    }));
    return { lines: found, older: older.next, newer: found.at(-1)?.number ?? null };
  }

  /**
   * Returns hits in the direction of the search, and the number from which to continue; null at the end of the log.
   */
  async #find(query: LineQuery, limit: number): Promise<{ hits: Hit[]; next: number | null }> {
    const hits: Hit[] = [];
    if (limit <= 0) return { hits, next: query.direction === 'older' ? query.before : query.after };
    const { serviceId, thread, signal, partMilliseconds, endsAt } = this.#input;
    const pieces = this.#pieces(query, limit);
    for await (const { part, first, last, within } of isPlain(query) ? pieces : ahead(pieces)) {
      const rest = limit - hits.length;
      const question = { kind: 'search' as const, serviceId, query: { ...query, ...within }, part, limit: rest };
      const found = await thread.search(question, { signal, withinMilliseconds: partMilliseconds });
      hits.push(...found.hits);
      if (hits.length >= limit) return { hits, next: hits.at(-1)?.line.number ?? null };
      if (performance.now() > endsAt) return { hits, next: query.direction === 'older' ? first : last };
    }
    return { hits, next: null };
  }

  #pieces(query: LineQuery, limit: number): AsyncGenerator<Piece> {
    return query.direction === 'older' ? this.#olderPieces(query, limit) : this.#newerPieces(query, limit);
  }

  async *#olderPieces(query: LineQuery, limit: number): AsyncGenerator<Piece> {
    let before = query.before;
    for (;;) {
      const rows = await this.#rows(store.rowsBefore, { ...query, before }, limit);
      if (rows === null) break;
      yield rows;
      before = rows.first;
    }
    let below = before;
    for (;;) {
      const found = await this.#segments(store.segmentsBefore, { ...query, before: below });
      for (const piece of found) yield piece;
      below = found.at(-1)?.first ?? 0;
      if (found.length < segmentsAtOnce) return;
    }
  }

  async *#newerPieces(query: LineQuery, limit: number): AsyncGenerator<Piece> {
    let after = query.after;
    for (;;) {
      const found = await this.#segments(store.segmentsAfter, { ...query, after });
      for (const piece of found) yield piece;
      after = found.at(-1)?.last ?? after;
      if (found.length === segmentsAtOnce) continue;
      const rows = await this.#rows(store.rowsAfter, { ...query, after }, limit);
      // Lines may have moved into a segment since the segments were read.
      const moved = await this.#segments(store.segmentsAfter, { ...query, after });
      if (moved.length > 0) continue;
      if (rows === null) return;
      yield rows;
      after = rows.last;
    }
  }

  async #rows(statement: typeof store.rowsBefore, query: LineQuery, limit: number): Promise<Piece | null> {
    const patterns = requiredOf(query).map((text) => `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`);
    // Without conditions, each row is a hit.
    const atOnce = isPlain(query)
      ? Math.min(rowsAtOnce, limit + query.context)
      : patterns.length > 0
        ? rowsAtOnce * 5
        : rowsAtOnce;
    const within = { after: query.after, before: query.before };
    const limits = [query.after, Math.min(query.before, Number.MAX_SAFE_INTEGER), atOnce];
    const found = await this.#input.db.one(statement, [this.#input.serviceId, ...limits, patterns]);
    const { first, last } = found;
    if (first === null || last === null) return null;
    const isContextMissing = query.context > 0 && patterns.length > 0 && found.rows !== '[]';
    const { rows } = isContextMissing ? await this.#input.db.one(statement, [this.#input.serviceId, ...limits, []]) : found;
    return { part: { kind: 'rows', rows }, first, last, within };
  }

  async #segments(statement: typeof store.segmentsBefore, query: LineQuery): Promise<Piece[]> {
    const { after, before, from, to, instance, release } = query;
    const found = await this.#input.db.many(statement, [
      this.#input.serviceId,
      after,
      Math.min(before, Number.MAX_SAFE_INTEGER),
      from,
      to,
      instance,
      release,
      entriesOf(requiredOf(query)),
      segmentsAtOnce,
    ]);
    return found.map(({ first_number: first, last_number: last, frames, mask, messages, details }) => ({
      part: { kind: 'segment', frames, messages, details, mask },
      first,
      last,
      // Lines may have moved from the newest lines into a segment after they were searched there.
      within: { after, before },
    }));
  }

  /** Adds the lines around a hit that are in the neighboring parts of the log. */
  async #whole({ line, before, after }: Hit, context: number): Promise<SearchedLine> {
    const any = toQuery({ limit: 1 });
    const missingBefore = context - before.length;
    const missingAfter = context - after.length;
    const older =
      missingBefore === 0 ? [] : (await this.#find({ ...any, before: before[0]?.number ?? line.number }, missingBefore)).hits;
    const newest = after.at(-1)?.number ?? line.number;
    const newer = missingAfter === 0 ? [] : (await this.#find({ ...any, after: newest, direction: 'newer' }, missingAfter)).hits;
    return {
      ...toLine(line),
      before: [...older.toReversed().map((one) => toLine(one.line)), ...before.map(toLine)],
      after: [...after.map(toLine), ...newer.map((one) => toLine(one.line))],
    };
  }
}

/** Returns texts that occur in each hit, if the case of ASCII letters does not count. */
function requiredOf({ text, expression }: LineQuery): string[] {
  const texts = expression === null ? [text ?? ''] : requiredTexts(expression);
  // In other letters, case may count for PostgreSQL and not for an expression.
  return texts.flatMap((one) => one.match(/[ -~]+/g) ?? []);
}

/** Reads the next item while the consumer works with the one before. */
async function* ahead<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = items.next();
  for (;;) {
    const { done, value } = await next;
    if (done === true) return;
    next = items.next();
    // The consumer sees the failure when it asks for this item, if it does.
    next.catch(() => undefined);
    yield value;
  }
}

function isPlain({ text, expression, instance, release, level, id, from, to }: LineQuery): boolean {
  return [text, expression, instance, release, level, id].every((one) => one === null) && from === earliest && to === latest;
}

function toQuery(search: LogSearch): LineQuery {
  return {
    text: search.text ?? null,
    expression: search.expression ?? null,
    matchCase: search.matchCase ?? false,
    from: search.from ?? earliest,
    to: search.to ?? latest,
    instance: search.instance ?? null,
    release: search.release ?? null,
    level: search.level ?? null,
    id: null,
    after: search.after ?? 0,
    before: search.before ?? Infinity,
    direction: search.after === undefined ? 'older' : 'newer',
    context: search.context ?? 0,
  };
}

function toLine({ number, id, at, message, instance, release, stream }: ArchivedLine): SearchedLine['before'][number] {
  const time = new Date(at).toISOString();
  return { number, id, at: time, message, instance, releaseId: release, stream, level: levelOf(message) };
}
