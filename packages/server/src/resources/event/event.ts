import type { operations, Query, Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { auditLogDays, readOrganization } from '../organization/index.ts';
import { invalid } from '../shared/problems.ts';
import * as store from './store.ts';

type Events = Response<(typeof operations)['getOrganizationEvents']>;
type EventsQuery = Query<(typeof operations)['getOrganizationEvents']>;
type Targets = Response<(typeof operations)['getOrganizationEventTargets']>;
type TargetsQuery = Query<(typeof operations)['getOrganizationEventTargets']>;

const defaultPageSize = 10;
const dayMilliseconds = 86_400_000;

/**
 * Returns a page of the audit log, newest first. A token of `links` continues where this page ends, even if new events
 * arrive in between.
 */
export async function listEvents(
  deps: Needs<'database'>,
  caller: Caller,
  organizationId: string,
  query: EventsQuery,
): Promise<Events> {
  const { organization_plan: plan } = await readOrganization(deps, caller, organizationId);
  const range = rangeOf(query);
  const days = plan.audit_logs_retention_in_days;
  const { continueToken, stepBackToken } = query;
  if (continueToken !== undefined && stepBackToken !== undefined) {
    throw invalid('stepBackToken', 'and continueToken lead to different pages; send one of them');
  }
  const size = query.pageSize ?? defaultPageSize;
  const filters = [
    ...filtersOf(organizationId, days, query, range),
    query.serviceProjectId ?? null,
    query.serviceEnvironmentId ?? null,
    query.targetId ?? null,
    query.subTargetType ?? null,
  ];
  const backward = stepBackToken !== undefined;
  const from = backward
    ? sequenceOf('stepBackToken', stepBackToken)
    : continueToken === undefined
      ? null
      : sequenceOf('continueToken', continueToken);
  // Reads one row more than requested, to find out whether there is a further page.
  const found = await deps.database.many(backward ? store.eventsAfter : store.eventsBefore, [...filters, from, size + 1]);
  const rows = found.slice(0, size);
  if (backward) rows.reverse();
  const hasMore = found.length > size;
  const [newest] = rows;
  const oldest = rows.at(-1);
  const link = (name: 'continueToken' | 'stepBackToken', row: store.EventRow): string =>
    linkOf(organizationId, query, name, row.sequence);
  return {
    links: {
      ...(newest !== undefined && (backward ? hasMore : from !== null) ? { previous: link('stepBackToken', newest) } : {}),
      ...(oldest !== undefined && (backward || hasMore) ? { next: link('continueToken', oldest) } : {}),
    },
    organization_max_limit_reached: range.from !== null && range.from.getTime() < Date.now() - days * dayMilliseconds,
    events: rows.map(toEvent),
  };
}

/** Returns the targets that the log has events of, or the projects or environments of those targets. */
export async function listTargets(
  deps: Needs<'database'>,
  caller: Caller,
  organizationId: string,
  query: TargetsQuery,
): Promise<Targets> {
  const { organization_plan: plan } = await readOrganization(deps, caller, organizationId);
  const filters = filtersOf(organizationId, plan.audit_logs_retention_in_days, query, rangeOf(query));
  const location = [query.projectId ?? null, query.environmentId ?? null, query.targetLevelToFetch ?? null];
  return { targets: await deps.database.many(store.eventTargets, [...filters, ...location]) };
}

/** Removes events that are older than what any plan keeps. */
export async function trimEvents(database: Queryable): Promise<void> {
  await database.run(store.eventsTrim, [auditLogDays]);
}

interface Range {
  readonly from: Date | null;
  readonly to: Date | null;
}

function rangeOf(query: { readonly fromTimestamp?: string; readonly toTimestamp?: string }): Range {
  return { from: instantOf('fromTimestamp', query.fromTimestamp), to: instantOf('toTimestamp', query.toTimestamp) };
}

function filtersOf(organizationId: string, days: number, query: TargetsQuery, { from, to }: Range): unknown[] {
  return [
    organizationId,
    days,
    from?.toISOString() ?? null,
    to?.toISOString() ?? null,
    query.eventType ?? null,
    query.targetType ?? null,
    query.triggeredBy ?? null,
    query.origin ?? null,
  ];
}

// PostgreSQL does not accept years of five or more digits in this form.
const latest = Date.parse('9999-12-31T23:59:59Z');

function instantOf(path: string, text: string | undefined): Date | null {
  if (text === undefined || text === '') return null;
  const time = /^\d{1,12}$/.test(text) ? Number(text) * 1000 : /^\d{4}-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time) || time > latest || time < 0) {
    throw invalid(path, 'must be a time from 1970 on as ISO 8601, as in 2026-01-31T12:00:00Z, or seconds since 1970');
  }
  return new Date(time);
}

function sequenceOf(path: string, token: string): number {
  const text = Buffer.from(token, 'base64url').toString('latin1');
  const number = /^e\d{1,15}$/.test(text) ? Number(text.slice(1)) : Number.NaN;
  if (!Number.isNaN(number)) return number;
  throw invalid(path, 'is not from the links of an answer of this operation');
}

function linkOf(organizationId: string, query: EventsQuery, name: 'continueToken' | 'stepBackToken', sequence: number): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) search.set(key, String(value));
  search.delete('continueToken');
  search.delete('stepBackToken');
  search.set(name, Buffer.from(`e${sequence}`).toString('base64url'));
  return `/organization/${organizationId}/events?${search.toString()}`;
}

function toEvent(row: store.EventRow): Events['events'][number] {
  const { created_at, before, after, project_name, environment_name, ...fields } = row;
  return {
    ...fields,
    timestamp: created_at,
    change: after ?? '',
    original_change: before,
    project_name: project_name ?? '',
    environment_name: environment_name ?? '',
  };
}
