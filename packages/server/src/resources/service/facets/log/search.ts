import type { operations, Query, Response } from '@davit/contract';
import type { LevelledLine, SearchedLine } from '@davit/engine/port';
import type { Caller } from '../../../../auth/caller.ts';
import type { Needs } from '../../../../deps.ts';
import { invalid, notFound } from '../../../shared/problems.ts';
import { assertVisible } from '../history/history.ts';

type Operation = (typeof operations)['searchServiceLog'];
type Page = Response<Operation>;

/** Returns a page of the log of a service. `gone` ends the search. */
export async function searchLog(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  serviceId: string,
  { query, gone }: { readonly query: Query<Operation>; readonly gone: AbortSignal },
): Promise<Page> {
  await assertVisible(deps, caller, serviceId, null);
  const { text, expression, instance, level, context, line, limit = 100 } = query;
  const search = {
    text,
    expression,
    instance,
    level,
    context,
    line,
    limit,
    matchCase: query.match_case,
    release: query.release_id,
    from: timeOf('from', query.from),
    to: timeOf('to', query.to),
    before: numberOf(query.before),
    after: numberOf(query.after),
  };
  const page = await deps.engine.searchLog(deps.database, serviceId, search, gone);
  if (page === null) throw notFound('line in the log of this service');
  return { lines: page.lines.map(toHit), older: cursorOf(page.older), newer: cursorOf(page.newer) };
}

function timeOf(path: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = Date.parse(text);
  // The format of times allows leap seconds.
  if (Number.isNaN(time)) throw invalid(path, 'must be a time between seconds 0 and 59');
  return time;
}

function numberOf(cursor: string | undefined): number | undefined {
  return cursor === undefined ? undefined : Number(cursor);
}

function cursorOf(number: number | null): string | null {
  return number === null ? null : String(number);
}

function toLine({ id, at, message, instance, releaseId, stream, level }: LevelledLine) {
  const version = releaseId === null ? {} : { version: releaseId };
  return { id, created_at: at, message, pod_name: instance, ...version, stream, level };
}

function toHit(line: SearchedLine): Page['lines'][number] {
  return { ...toLine(line), before: line.before.map(toLine), after: line.after.map(toLine) };
}
