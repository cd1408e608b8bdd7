import { ApiError } from '@davit/client';
import { useInfiniteQuery, useQuery, type UseInfiniteQueryResult } from '@tanstack/react-query';
import { configurationChangesOf, type AuditEvent } from '../../data/audit.ts';
import { environmentOf, serviceHistoryPagesOf } from '../../data/queries.ts';
import type { Service } from '../../words.ts';
import type { HistoryEntry } from '../explanation.tsx';
import { completeSince } from './complete.ts';

export type Moment =
  | { readonly at: string; readonly deployment: HistoryEntry; readonly isNewest: boolean }
  | { readonly at: string; readonly change: AuditEvent };

export type Shown = 'all' | 'deployments' | 'changes';

interface Line {
  readonly moments: readonly Moment[];
  readonly isRead: boolean;
  /** Why the deployments could not be read. */
  readonly error: Error | null;
  /** Whether the session may not read the audit log, and so sees no changes. */
  readonly isForbidden: boolean;
  /** Why the changes could not be read. */
  readonly changesError: Error | null;
  readonly older: {
    readonly hasOlder: boolean;
    readonly isReading: boolean;
    readonly error: Error | null;
    readonly onRead: () => void;
  };
}

/** A list that is read by pages: what of it is on the line, and how far back it was read. */
interface Source {
  readonly query: UseInfiniteQueryResult;
  readonly moments: readonly Moment[];
  readonly oldest: string | undefined;
}

/** Reads deployments and changes of a service, as far back as all of them are known. */
export function useLine(service: Service, only: Shown): Line {
  const environment = useQuery(environmentOf(service.environment.id)).data;
  const organizationId = environment?.organization.id ?? '';
  const history = useInfiniteQuery(serviceHistoryPagesOf(service));
  const changesAt = (targetId: string, isInherited: boolean) =>
    configurationChangesOf(service, { organizationId, targetId, isInherited });
  const own = useInfiniteQuery(changesAt(service.id, false));
  const ofEnvironment = useInfiniteQuery(changesAt(service.environment.id, true));
  const ofProject = useInfiniteQuery(changesAt(environment?.project.id ?? '', true));
  const changes = [own, ofEnvironment, ofProject];
  const entries = history.data ?? [];
  const sources: readonly Source[] = [
    ...(only === 'changes' ? [] : [{ query: history, ...momentsOf(entries) }]),
    ...(only === 'deployments'
      ? []
      : changes.map((query) => ({
          query,
          moments: (query.data?.changes ?? []).map((change): Moment => ({ at: change.timestamp, change })),
          oldest: query.data?.oldest,
        }))),
  ];
  const missing = changes.find(({ data, error }) => data === undefined && error !== null)?.error ?? null;
  const isForbidden = missing instanceof ApiError && missing.status === 403;
  const since = completeSince(sources.map(({ query, oldest }) => ({ hasOlder: query.hasNextPage, oldest })));
  const unfinished = sources.filter(({ query, oldest }) => query.hasNextPage && oldest === since);
  return {
    moments: sources
      .flatMap(({ moments }) => moments)
      .filter(({ at }) => at >= since)
      .toSorted((one, other) => (one.at < other.at ? 1 : -1)),
    isRead: history.data !== undefined && (missing !== null || changes.every(({ data }) => data !== undefined)),
    error: history.data === undefined ? history.error : null,
    isForbidden,
    changesError: isForbidden ? null : missing,
    older: {
      hasOlder: unfinished.length > 0,
      isReading: sources.some(({ query }) => query.isFetchingNextPage),
      error: unfinished.find(({ query }) => query.isFetchNextPageError)?.query.error ?? null,
      onRead: () => {
        for (const { query } of unfinished) void query.fetchNextPage();
      },
    },
  };
}

function momentsOf(history: readonly HistoryEntry[]): Pick<Source, 'moments' | 'oldest'> {
  const moments = history.map((deployment, index): Moment => {
    return { at: deployment.auditing_data.created_at, deployment, isNewest: index === 0 };
  });
  return { moments, oldest: moments.at(-1)?.at };
}
